"""The runs that a server keeps: bounded, private by their ids, never mixed up, whatever many threads do at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from decoding import api
from decoding.errors import UserError
from decoding.settings import SampleSettings, settings_from
from decoding.trace import Trace
from visualizations import lab as lab_module
from visualizations.lab import KEPT_LOGITS, Lab
from visualizations.models import Models
from visualizations.runs import FAMILY_LIMIT, Run, Runs

TOY = "toy:lecture"
THREADS = 8


@pytest.fixture(scope="module")
def model() -> Any:
    return api.load(TOY)


@pytest.fixture
def lab() -> Lab:
    return Lab(Models((TOY,)))


def asked(seed: int = 0, **options: Any) -> tuple[SampleSettings, int]:
    return api.sample_settings(temperature=2, **options), seed


def make(lab: Lab, model: Any, seed: int = 0, **options: Any) -> Run:
    """A finished run through the lab, as a page makes one."""
    settings, seed = asked(seed, **options)
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    for _ in lab.run(model, run, settings):
        pass
    return run


def whole(model: Any, seed: int = 0, **options: Any) -> Trace:
    """The same run without a lab."""
    settings, seed = asked(seed, **options)
    return api.decode(model, "", settings, seed)


def forgotten(runs: Runs, id: Any) -> bool:
    try:
        return runs.get(id).id != id
    except UserError as error:
        assert error.code == "run_forgotten"
        return True


# --- what is kept ----------------------------------------------------------------------------------


def test_a_run_is_kept_step_by_step(lab: Lab, model: Any) -> None:
    run, trace = make(lab, model, 3), whole(model, 3)
    assert run.trace() == trace
    assert [run.step(i) for i in range(len(trace.steps))] == list(trace.steps)
    assert run.drawn == [(step.token, step.prob, step.model_prob) for step in trace.steps]
    assert run.token_ids() == list(trace.finish.token_ids) and run.token_ids(2) == run.token_ids()[:2]
    assert lab.runs.get(run.id) is run


def test_ids_cannot_be_guessed(lab: Lab, model: Any) -> None:
    header = api.prepare(model, "", api.greedy_settings())
    ids = [lab.runs.new(header).id for _ in range(200)]
    assert len(set(ids)) == 200 and min(map(len, ids)) >= 16
    assert len({id[:6] for id in ids}) == 200  # not a counter; 200 of 64^6 alike by chance: odds 3e-7


@pytest.mark.parametrize("id", [None, 3, "", "x", "../../etc", b"x"])
def test_an_unknown_id_is_told(lab: Lab, id: Any) -> None:
    assert forgotten(lab.runs, id)


def test_a_run_takes_kilobytes(lab: Lab, model: Any) -> None:
    run = make(lab, model)
    assert run.size == 2000 + sum(map(len, run.packed)) < 20_000


# --- bounded memory --------------------------------------------------------------------------------


def filled(run: Run, size: int) -> Run:
    """The run, made to count as `size` bytes."""
    run.packed.append(b"x" * (size - run.size))
    return run


@pytest.fixture
def header(model: Any) -> Any:
    return api.prepare(model, "", api.greedy_settings())


def test_the_store_forgets_what_was_looked_at_longest_ago(header: Any) -> None:
    runs = Runs(limit=50_000)
    kept = [filled(runs.new(header), 10_000) for _ in range(5)]
    runs.get(kept[0].id)
    newer = filled(runs.new(header), 10_000)
    runs.trim()
    assert [run.id for run in (*kept, newer) if forgotten(runs, run.id)] == [kept[1].id]
    assert runs.latest() == [kept[0], *kept[2:], newer]  # oldest first, whatever was looked at


def test_the_store_stays_within_its_limit(header: Any) -> None:
    runs = Runs(limit=60_000)
    for _ in range(300):
        filled(runs.new(header), 7_000)
        runs.trim()
        assert sum(run.size for run in runs.latest()) <= 60_000
    assert len(runs.latest()) == 8


def test_one_run_larger_than_the_limit_stays_alone(header: Any) -> None:
    runs = Runs(limit=1000)
    first, last = runs.new(header), runs.new(header)
    assert runs.latest() == [last] and forgotten(runs, first.id)


def test_a_run_forgotten_in_the_making_still_ends(lab: Lab, model: Any) -> None:
    """Its page holds it; the store has let it go."""
    lab.runs = Runs(limit=1)
    settings, seed = asked()
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    steps = lab.run(model, run, settings)
    next(steps)
    other = lab.runs.new(run.header)
    list(steps)
    assert forgotten(lab.runs, run.id) and not forgotten(lab.runs, other.id)
    assert run.trace() == whole(model)


def test_pinned_runs_are_never_forgotten(model: Any, header: Any) -> None:
    runs = Runs(limit=20_000)
    trace = whole(model)
    lesson = runs.pin("a-lesson", trace)
    for _ in range(50):
        filled(runs.new(header), 9_000)
        runs.trim()
    assert runs.get("a-lesson") is lesson and lesson.trace() == trace
    assert lesson not in runs.latest() and len(runs.latest()) <= 2


# --- families --------------------------------------------------------------------------------------


def test_a_branch_shares_the_steps_before_it(lab: Lab, model: Any) -> None:
    parent = make(lab, model, 5)
    for at in range(len(parent.packed)):
        settings = settings_from(parent.header.settings, forced={at: 2})
        header = api.prepare(model, "", settings, parent.header.seed)
        branch = lab.runs.branch(parent, at, header)
        assert branch.branched_at == at and branch.packed == parent.packed[:at]
        list(lab.run(model, branch, settings))
        assert branch.trace() == api.decode(model, "", settings, parent.header.seed)
    assert parent.trace() == whole(model, 5)


def test_a_family_is_told_oldest_first_and_has_a_limit(lab: Lab, model: Any, header: Any) -> None:
    first, stranger = lab.runs.new(header), lab.runs.new(header)
    branches = [lab.runs.branch(first, 0, header) for _ in range(3)]
    deeper = lab.runs.branch(branches[1], 0, header)
    family = [first, *branches, deeper]
    lab.runs.get(branches[0].id)
    assert all(lab.runs.family(run) == family for run in family)
    assert lab.runs.family(stranger) == [stranger]
    more = [lab.runs.branch(first, 0, header) for _ in range(FAMILY_LIMIT)]
    assert lab.runs.family(first) == [first, *more[1:]]  # the first run stays; of its branches, the latest


def test_nobody_sees_what_another_branched_from_a_lesson(lab: Lab, model: Any, header: Any) -> None:
    lesson = lab.runs.pin("seen by all", whole(model))
    mine, theirs = (lab.runs.branch(lesson, 1, header) for _ in range(2))
    assert lab.runs.family(mine) == [lesson, mine] and lab.runs.family(theirs) == [lesson, theirs]
    deeper = lab.runs.branch(mine, 1, header)
    assert lab.runs.family(deeper) == [lesson, mine, deeper] and lab.runs.family(lesson) == [lesson]


def test_ones_own_branches_of_a_lesson_are_one_family(lab: Lab, model: Any, header: Any) -> None:
    lesson, other = lab.runs.pin("seen by all", whole(model)), lab.runs.pin("another", whole(model, 1))
    mine, theirs = (lab.runs.branch(lesson, 1, header) for _ in range(2))
    elsewhere = lab.runs.branch(other, 1, header)
    known = [mine.id, elsewhere.id, "forgotten"]
    second = lab.runs.branch(lesson, 2, header, known)
    assert lab.runs.family(second) == [lesson, mine, second] == lab.runs.family(lesson, known)
    assert lab.runs.family(theirs) == [lesson, theirs] and lab.runs.family(lesson) == [lesson]


def branched(lab: Lab, model: Any, parent: Run, at: int, token: int) -> Run:
    """A finished branch of `parent` that takes `token` at step `at`."""
    settings = settings_from(parent.header.settings, forced={at: token})
    branch = lab.runs.branch(parent, at, api.prepare(model, "", settings, parent.header.seed), [parent.id])
    list(lab.run(model, branch, settings))
    return branch


def test_the_same_branch_is_found_again(lab: Lab, model: Any) -> None:
    parent = make(lab, model, 5)
    own, *others = dict.fromkeys([parent.token_ids()[0], *model.encode("He She They")[1:]])
    branch = branched(lab, model, parent, 0, others[0])
    assert lab.runs.find(parent, 0, others[0]) is branch is lab.runs.find(branch, 0, others[0])
    assert lab.runs.find(branch, 0, own) is parent, "choosing the first run's own token leads back to it"
    assert lab.runs.find(parent, 0, others[1]) is None and lab.runs.find(parent, 1, others[0]) is None
    deeper = branched(lab, model, branch, 1, others[1])
    assert lab.runs.find(parent, 0, others[0]) is branch, "not the one whose later tokens were chosen too"
    assert lab.runs.find(branch, 1, others[1]) is deeper and lab.runs.find(parent, 1, others[1]) is None
    assert lab.runs.find(make(lab, model, 6), 0, others[0]) is None, "another family's branches are its own"


def test_a_branch_of_a_lesson_is_found_by_the_one_who_made_it(lab: Lab, model: Any) -> None:
    lesson = lab.runs.pin("seen by all", whole(model, 5))
    token = next(id for id in model.encode("He She")[1:] if id != lesson.token_ids()[0])
    branch = branched(lab, model, lesson, 0, token)
    assert lab.runs.find(lesson, 0, token, [branch.id]) is branch and lab.runs.find(lesson, 0, token) is None


def test_a_forgotten_relative_is_left_out(header: Any) -> None:
    runs = Runs(limit=25_000)
    first = filled(runs.new(header), 10_000)
    second = filled(runs.branch(first, 0, header), 10_000)
    third = filled(runs.branch(second, 0, header), 10_000)
    runs.trim()
    assert runs.family(third) == [second, third] == runs.family(first)


# --- lessons ---------------------------------------------------------------------------------------

LESSONS = sorted(path.parent.name for path in lab_module.LESSONS.glob("*/trace.json"))


@pytest.mark.parametrize("slug", LESSONS)
def test_recorded_lessons_open(lab: Lab, slug: str) -> None:
    run = lab.lesson(slug)
    assert run is lab.runs.get(slug) and run.finish is not None and run.packed
    assert run.trace() == api.open(lab_module.LESSONS / slug / "trace.json")


def test_a_lesson_brings_its_words_and_logits(
    lab: Lab, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_module, "LESSONS", tmp_path)
    (tmp_path / "small").mkdir()
    (tmp_path / "full").mkdir()
    trace = whole(model)
    for slug in ("small", "full"):
        api.save(trace, tmp_path / slug / "trace.json")
    assert lab.lesson("small").tokenization is None and lab.lesson("small") is lab.lesson("small")
    assert lab.kept_logits(lab.runs.get("small"), 0) is None
    numpy.save(tmp_path / "full" / "logits.npy", numpy.arange(24.0))
    run = lab.lesson("full")
    assert torch.equal(lab.logits(run, 0, model), torch.arange(24.0, dtype=torch.float64))  # the file, not the model
    assert not torch.equal(lab.logits(run, 1, model), torch.arange(24.0, dtype=torch.float64))


# --- running ---------------------------------------------------------------------------------------


def test_closing_a_run_cancels_it(lab: Lab, model: Any) -> None:
    """Case 15: what was made is kept, and says that it was cancelled."""
    settings, seed = asked(1)
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    steps = lab.run(model, run, settings)
    next(steps)
    assert lab.running == 1
    steps.close()  # type: ignore[attr-defined]
    assert lab.running == 0 and len(run.packed) == 1
    assert run.finish is not None and run.finish.reason == "cancelled"
    assert run.trace().steps == whole(model, 1).steps[:1]


def test_a_run_closed_after_its_last_step_is_whole(lab: Lab, model: Any) -> None:
    settings, seed = asked(1, max_new_tokens=2)
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    steps = lab.run(model, run, settings)
    next(steps), next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert run.trace() == whole(model, 1, max_new_tokens=2) and run.finish is not None


def test_a_cancelled_run_goes_on_where_it_stopped(lab: Lab, model: Any) -> None:
    settings, seed = asked(1)
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    next(lab.run(model, run, settings))
    list(lab.run(model, run, settings))
    assert run.trace() == whole(model, 1)


def test_a_broken_model_leaves_a_run_that_can_be_shown(lab: Lab, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, calls = type(model).forward, []

    def forward(self: Any, *args: Any, **options: Any) -> Any:
        output = sound(self, *args, **options)
        calls.append(1)
        if len(calls) == 2:
            output.logits[:] = torch.nan
        return output

    monkeypatch.setattr(type(model), "forward", forward)
    settings, seed = asked()
    run = lab.runs.new(api.prepare(model, "", settings, seed))
    with pytest.raises(UserError, match="step 2"):
        list(lab.run(model, run, settings))
    assert lab.running == 0 and len(run.trace().steps) == 1
    assert run.finish is not None and run.finish.reason == "cancelled"


def test_full_logits_are_made_again_or_kept_and_few_of_them(lab: Lab, model: Any) -> None:
    run = make(lab, model, 2)
    for index in range(len(run.packed)):
        logits = lab.logits(run, index, model)
        assert lab.kept_logits(run, index) is logits is lab.logits(run, index, model)
        listed = {c.token.id: c.logit for c in run.step(index).stages[0].result.top if c.kept}
        assert {id: logits[id].item() for id in listed} == listed
    for index in range(3 * KEPT_LOGITS):
        lab.keep_logits(run, 1000 + index, torch.zeros(1))
    assert len(lab._logits) == KEPT_LOGITS
    assert lab.kept_logits(run, 0) is None and lab.kept_logits(run, 999 + 3 * KEPT_LOGITS) is not None


# --- loading ---------------------------------------------------------------------------------------


def test_a_model_loads_once_with_news_meanwhile(lab: Lab) -> None:
    assert not lab.models.is_loaded(TOY)
    assert {news.fraction for news in lab.load(TOY)} == {None}
    assert lab.models.is_loaded(TOY) and list(lab.load(TOY)) == []


def test_only_what_is_offered_is_loaded(lab: Lab) -> None:
    with pytest.raises(UserError, match=TOY):
        list(lab.load("someone/else"))
    with pytest.raises(UserError):
        lab.models.get("toy:none")


def test_what_goes_wrong_while_loading_reaches_the_page(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, progress: Callable[[str, float], None], **options: str) -> Any:
        progress("converting", 0.5)
        raise UserError("cache_failed", path="/x", reason="full")

    monkeypatch.setattr("decoding.models.load", load)
    told = []
    with pytest.raises(UserError, match="full"):
        for news in lab.load(TOY):
            told.append(news.fraction)
    assert told[0] is None and 0.5 in told
    assert not lab.models.is_loaded(TOY)


def test_one_who_waits_for_a_model_hears_the_last_news_again_and_can_leave(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, gone = threading.Event(), threading.Event()

    def load(name: str, progress: Callable[[str, float], None], **options: str) -> Any:
        progress("converting", 0.5)
        go.wait()
        gone.set()
        return api.load

    monkeypatch.setattr("decoding.models.load", load)
    monkeypatch.setattr(lab_module, "BEAT", 0.001)
    news = lab.load(TOY)
    heard = [next(item for item in news if item.fraction == 0.5), next(news), next(news)]
    assert {item.fraction for item in heard} == {0.5} and not lab.models.is_loaded(TOY)
    news.close()  # type: ignore[attr-defined]
    go.set()
    assert gone.wait(60)


# --- many at once ----------------------------------------------------------------------------------


def together(work: Callable[[int], Any]) -> list[Any]:
    """`work(0)`, `work(1)`, ... in as many threads that start at once; what one raises is raised here."""
    gate = threading.Barrier(THREADS)

    def start(number: int) -> Any:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def test_many_ask_for_a_model_and_one_load_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from decoding import models

    loads, load = [], models.load

    def slow(name: str, **options: Any) -> Any:
        loads.append(name)
        threading.Event().wait(0.05)
        return load(name, **options)

    monkeypatch.setattr(models, "load", slow)
    shared = Models((TOY,))
    assert len({id(found) for found in together(lambda number: shared.get(TOY))}) == 1 and loads == [TOY]


def test_runs_made_at_once_do_not_mix(lab: Lab, model: Any) -> None:
    """Each thread makes runs of its own seeds; every step is that of the run made alone."""
    expected = {seed: whole(model, seed) for seed in range(3 * THREADS)}

    def work(number: int) -> list[tuple[int, Trace]]:
        return [(seed, make(lab, model, seed).trace()) for seed in range(number, 3 * THREADS, THREADS)]

    for made in together(work):
        for seed, trace in made:
            assert trace == expected[seed]
    assert lab.running == 0 and len(lab.runs.latest()) == 3 * THREADS


def test_a_store_under_fire_stays_whole_and_bounded(header: Any, model: Any) -> None:
    """New runs, branches, looks, families and steps from all sides on a small store."""
    runs = Runs(limit=40_000)
    (step, *_) = whole(model).steps
    lesson = runs.pin("lesson", whole(model))

    def work(number: int) -> None:
        for count in range(60):
            run = runs.new(header)
            run.append(step)
            child = runs.branch(run if count % 2 else lesson, 1, header)
            for _ in range(3):
                child.append(step)
            for seen in runs.latest():
                forgotten(runs, seen.id)
            assert run in runs.family(run) or forgotten(runs, run.id)
            assert child.step(0) == (step if count % 2 else lesson.step(0))

    together(work)
    runs.trim()
    assert 0 < sum(run.size for run in runs.latest()) <= 40_000
    assert runs.get("lesson") is lesson and lesson.trace() == whole(model)


def test_streams_that_are_left_halfway_are_counted_out(lab: Lab, model: Any) -> None:
    def work(number: int) -> None:
        for seed in range(5):
            settings, seed_ = asked(seed)
            run = lab.runs.new(api.prepare(model, "", settings, seed_))
            steps: Iterator[None] = lab.run(model, run, settings)
            for _ in range(number % 3):
                next(steps, None)
            steps.close()  # type: ignore[attr-defined]

    together(work)
    assert lab.running == 0
