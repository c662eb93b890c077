"""Two clocks: what is counted, in which order, and what is not. Time passes only where a test lets it."""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

import pytest
import torch

from decoding import codec
from decoding.errors import UserError
from decoding.models import toy
from decoding.sampling import Uniforms, sample
from decoding.settings import SampleSettings
from decoding.speculative.counts import counts
from decoding.speculative.drafters import drafter_of
from decoding.speculative.loop import speculate
from decoding.speculative.race import WARM_STEPS, Racers, Timed, racing, result
from decoding.speculative.values import Race
from decoding.speculative_settings import speculative_settings
from tests.speculative_clock import Ticking, Time, draft_seconds, draft_table, racers, target_seconds, target_table
from tests.speculative_toys import draft_toy, target_toy

DRAFTERS = ("toy", "ngram", "random", "oracle")
EACH_DRAFTER = pytest.mark.parametrize("drafter", DRAFTERS)


def raced(field: Racers, repeats: int = 1) -> Race:
    return result(racing(field, repeats))


def rounds_of(field: Racers) -> list[Any]:
    """The rounds that the race is about, by the loop alone."""
    settings, uniforms = field.settings, Uniforms(field.seed)
    drafter = drafter_of(field.model, field.draft, settings, uniforms)
    return list(speculate(field.model, drafter, field.prompt, settings, uniforms))


# --- what is counted -------------------------------------------------------------------------------


@EACH_DRAFTER
def test_seconds_are_those_of_the_forwards_made(drafter: str) -> None:
    """A forward of the target takes 9 + n seconds here and one of the draft 1.75 + n/4: all of it is found again."""
    clock = Time()
    field = racers(clock, drafter=drafter)
    found, steps = raced(field), rounds_of(field)
    start = len(field.prompt)
    tokens = len(found.plain.written)
    assert found.plain.written == tuple(range(1, tokens + 1))
    each = [target_seconds(start)] + [target_seconds(1)] * (tokens - 1)
    assert found.plain.seconds == pytest.approx(list(accumulate(each)))
    assert found.plain.target == pytest.approx(sum(each)) and found.plain.draft == 0
    reading = [start + len(steps[0].nodes), *(1 + len(step.nodes) for step in steps[1:])]
    checked = sum(target_seconds(count) for count in reading)
    assert found.speculative.target == pytest.approx(checked)
    assert found.speculative.written == tuple(accumulate(len(step.emitted) for step in steps))
    assert found.speculative.total == pytest.approx(found.speculative.target + found.speculative.draft)
    assert found.speculative.rest == pytest.approx(0) and found.plain.rest == pytest.approx(0)
    assert found.counts == counts(steps) and found.gamma == 3 and found.drafter == drafter


def test_forwards_of_the_draft_are_told_apart() -> None:
    clock = Time()
    field = racers(clock)
    draft: Any = field.draft
    found = raced(field)
    warm = draft.seen  # two rounds before, then the race itself
    passes = found.counts.draft_passes
    each = [draft_seconds(count) for count in warm[-passes:]]
    assert found.speculative.draft == pytest.approx(sum(each)) and found.speculative.first_draft == each[0]
    assert found.draft == draft.info and found.draft_cost is not None
    assert found.draft_cost == pytest.approx(sum(each[1:]) / (passes - 1) / target_seconds(1))


@EACH_DRAFTER
def test_the_costs_do_not_depend_on_how_long_the_prompt_is(drafter: str) -> None:
    """The first forward reads it, so it is left out of c and of the check, though not of the seconds."""
    fields = [racers(Time(), drafter=drafter) for _ in "ab"]
    words = [fields[0].model.encode("a b " * count) for count in (1, 15)]
    short, long = (raced(replace(field, prompt=prompt)) for field, prompt in zip(fields, words, strict=True))
    for found in (short, long):
        rounds, drafts = found.counts.target_passes, found.counts.draft_passes
        assert found.plain_forward == pytest.approx(target_seconds(1))
        check = (found.speculative.target - found.speculative.first_target) / (rounds - 1)
        assert found.check_cost == pytest.approx(check / target_seconds(1)) and 1 <= found.check_cost <= 1.3
        assert (found.draft_cost is None) == (not drafts)
        if drafter == "toy":
            assert found.draft_cost is not None and 0.2 <= found.draft_cost <= 0.25
    read = [target_seconds(len(prompt)) for prompt in words]
    assert [found.plain.first_target for found in (short, long)] == read and read[1] > read[0] + 20
    assert long.plain.total - short.plain.total == pytest.approx(read[1] - read[0])


def test_a_race_of_one_forward_has_no_other_to_go_by() -> None:
    found = raced(racers(Time(), tokens=1, drafter="ngram"))
    assert found.counts.target_passes == 1 and found.plain_forward == found.plain.target > 0
    assert found.check_cost == pytest.approx(found.speculative.target / found.plain.target)


def test_an_oracle_drafts_with_the_target_and_ngrams_with_nobody() -> None:
    oracle, ngram = (raced(racers(Time(), drafter=name)) for name in ("oracle", "ngram"))
    assert oracle.draft is not None and oracle.draft.name == "toy:target" and oracle.speculative.draft > 0
    assert oracle.counts.draft_passes > 0 and oracle.draft_cost == pytest.approx(1, rel=0.2)
    assert ngram.draft is None and ngram.speculative.draft == 0 and ngram.draft_cost is None


def test_the_speedup_is_by_token() -> None:
    found = raced(racers(Time()))
    plain = found.plain.total / found.plain.written[-1]
    assert found.speedup == pytest.approx(plain / (found.speculative.total / found.speculative.written[-1]))
    assert found.speedups == pytest.approx([found.speedup])


def test_between_steps_time_is_the_callers() -> None:
    """Somebody who draws each step, and takes long to, changes nothing."""
    clock, slow = Time(), Time()
    expected = raced(racers(clock), repeats=2)
    running = racing(racers(slow), repeats=2)
    told = []
    while True:
        try:
            told.append(next(running))
        except StopIteration as end:
            assert end.value == expected
            break
        slow.now += 1000
    assert told == sorted(told) and told[0] == 0 and told[-1] == 1 and len(set(told)) > 20


def test_what_is_no_forward_is_the_rest() -> None:
    class Restless(Time):
        """Every look at the clock takes a thousandth of a second."""

        def __call__(self) -> float:
            self.now += 0.001
            return self.now

    found = raced(racers(Restless()))
    for run in (found.plain, found.speculative):
        assert 0 < run.rest < 0.1 and run.total == pytest.approx(run.target + run.draft + run.rest)


# --- turns -----------------------------------------------------------------------------------------


def test_both_are_warmed_then_whole_runs_alternate() -> None:
    clock = Time()
    field = racers(clock, tokens=6, drafter="ngram")
    model: Any = field.model
    order: list[str] = []

    class Noted(Racers):
        """Writes down who runs."""

        def plain(self, exactly: int | None = None) -> Any:
            order.append("plain")
            return Racers.plain(self, exactly)

        def speculative(self) -> Any:
            order.append("speculative")
            return Racers.speculative(self)

    noted = Noted(field.model, None, field.prompt, field.settings, field.seed, clock)
    running = racing(noted, 3)
    assert list(islice(running, 2 * WARM_STEPS)) == [0.0] * (2 * WARM_STEPS)
    assert order == ["plain", "speculative"] and len(model.seen) == 2 * WARM_STEPS
    result(running)
    assert order[2:] == ["speculative", "plain", "plain", "speculative", "speculative", "plain"]
    order.clear()
    result(racing(noted, 1, warm=False))
    assert order == ["speculative", "plain"]


def test_the_run_in_the_middle_is_told_and_the_others_totals() -> None:
    """The machine gets slower with every forward: the first repeat is the quickest."""
    clock = Time()
    field = racers(clock, drafter="ngram")
    target: Any = Ticking(target_table(), clock, lambda count: 10 + 0.01 * len(target.seen))
    found = raced(replace(field, model=target), repeats=3)
    for run in (found.plain, found.speculative):
        assert len(run.totals) == 3 and run.total == statistics.median(run.totals) and len(set(run.totals)) == 3
        assert run.total == pytest.approx(run.target + run.draft)
    assert found.speedups == pytest.approx(
        [
            plain / other * found.speculative.written[-1] / found.plain.written[-1]
            for plain, other in zip(found.plain.totals, found.speculative.totals, strict=True)
        ]
    )


def test_a_race_that_is_closed_ends_at_once() -> None:
    clock = Time()
    field = racers(clock)
    model: Any = field.model
    running = racing(field, 3)
    next(running)
    seen = len(model.seen)
    running.close()
    assert len(model.seen) == seen and next(running, None) is None


# --- what is compared ------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["toy", "random", "oracle"])
def test_both_write_as_many_tokens_wherever_either_would_end(drafter: str) -> None:
    """Left alone, plain decoding ends sooner or later than speculation does."""
    target, draft = target_toy(), draft_toy()
    settings = speculative_settings(drafter=drafter, gamma=3, max_new_tokens=24)
    longer = set()
    for seed in range(24):
        field = Racers(target, draft if settings.needs_model else None, target.encode(""), settings, seed)
        *_, alone = field.plain()
        race = raced(field, repeats=2)
        assert race.plain.written[-1] == race.speculative.written[-1] == len(race.plain.written)
        longer.add(alone - race.speculative.written[-1])
    assert min(longer) < 0 < max(longer), "or nothing was tested"


@EACH_DRAFTER
def test_plain_decoding_is_the_same_law_with_the_same_seed(drafter: str) -> None:
    field = racers(Time(), drafter=drafter, temperature=0.7, top_k=2, verifier="exact")
    settings = SampleSettings(field.settings.processors, "direct", 24, field.settings.top)
    alone = [step.token.id for step in sample(field.model, field.prompt, settings, Uniforms(field.seed))]
    run = field.plain()
    for _ in run:
        pass
    assert run.ids == alone
    assert raced(field).same_text, "exact match writes what the target draws alone"


@EACH_DRAFTER
def test_at_temperature_0_both_write_the_same(drafter: str) -> None:
    assert raced(racers(Time(), drafter=drafter, temperature=0)).same_text


def test_texts_may_differ_where_both_draw() -> None:
    assert not all(raced(racers(Time(), seed=seed)).same_text for seed in range(4))


def test_a_draft_that_is_missing_or_of_another_vocabulary_is_refused() -> None:
    field = racers(Time())
    with pytest.raises(UserError, match="needs a draft model"):
        raced(replace(field, draft=None))
    with pytest.raises(UserError) as caught:
        raced(replace(field, draft=toy.load("toy:lecture")))
    assert caught.value.code.startswith("draft_vocabulary")


def test_a_race_can_be_saved_and_read() -> None:
    found = raced(racers(Time()), repeats=2)
    assert codec.loads(codec.dumps(found), Race) == found


def test_a_timed_model_is_the_model() -> None:
    clock = Time()
    model = draft_table()
    timed = Timed(Ticking(model, clock, draft_seconds), clock)  # type: ignore[arg-type]
    assert timed.info == model.info and timed.end_ids == model.end_ids
    tokens = torch.tensor([model.encode("a b")])
    output = timed.forward(tokens, timed.new_cache(), logits_to_keep=1)
    assert output.logits.shape[:2] == (1, 1) and timed.seconds == draft_seconds(tokens.shape[1])
