"""The picture of a sweep over gamma: points, line, rule, bars and words are those of the values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.speculative import cost
from decoding.speculative.race import result
from decoding.speculative.sweep import sweeping
from decoding.speculative.values import GammaSweep
from decoding.trace import ModelInfo
from decoding.values import ForwardTime, ForwardTimes
from tests.label_boxes import faults, words
from tests.speculative_clock import Ticking, Time, draft_seconds, draft_table, racers, target_seconds, target_table
from visualizations.figures import spec_sweep, spec_sweep_words
from visualizations.figures.style import View
from visualizations.text import LANGS, Text

EN, ZH = Text("en"), Text("zh")
INFO = ModelInfo("smollm2", 49_152, 8_192, "cpu", "float32", (2,), "onnx")
WIDTHS = (240, 334, 396, 639, 640, 700, 1040, 2000)


def times(seconds: Any, counts: int = 18) -> ForwardTimes:
    found = tuple(ForwardTime(count, 1000 * seconds(count)) for count in range(1, counts))
    return ForwardTimes(INFO, "a test", 2, 100, 538_000_000, 1e10, found, found[:1])


def slow_seconds(count: int) -> float:
    return 10.0 * count


def quick_seconds(count: int) -> float:
    return 0.1


def swept(target: Any = target_seconds, draft: Any = draft_seconds, gammas: Any = range(1, 17), **options: Any) -> Any:
    """A sweep by a clock that only forwards move; without times where `target` is None."""
    field: Any = racers(Time(), **options)
    if target is not None:
        field = replace(field, model=Ticking(target_table(), field.clock, target))
    if field.draft is not None:
        field = replace(field, draft=Ticking(draft_table(), field.clock, draft))
    found = result(sweeping(field, None if target is None else times(target), gammas=gammas))
    return found if target is None else replace(found, model=INFO)


SWEEPS = {
    "gains": swept(draft=quick_seconds),
    "drafts": swept(),
    "arithmetic": swept(slow_seconds),
    "free": swept(drafter="ngram", draft=None),
    "random": swept(drafter="random", draft=None),
    "table": swept(None),
    "few": swept(gammas=(2, 9)),
    "one": swept(gammas=(4,)),
    "nothing judged": swept(drafter="ngram", draft=None, tokens=1),
}
EACH = pytest.mark.parametrize("found", SWEEPS.values(), ids=SWEEPS)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), "light" if width % 4 else "dark", width) for lang in LANGS for width in WIDTHS],
    ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}",
)


def markers(figure: dict[str, Any]) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace.get("mode") == "markers"]


def linear(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Slope and start of a scale, from its values and px."""
    (a, x), (b, y) = min(points), max(points)
    slope = (y - x) / (b - a)
    return slope, x - slope * a


@EACH
@EACH_VIEW
def test_labels_lie_over_nothing(found: GammaSweep, view: View) -> None:
    figure = spec_sweep.sweep(found, view)
    go.Figure({k: figure[k] for k in ("data", "layout")})
    assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))
    assert faults(figure, view.width) == []
    assert all(trace["textfont"]["size"] >= 12 for trace in figure["data"] if trace.get("mode") == "text")


@pytest.mark.parametrize("name", ["gains", "drafts", "arithmetic", "free", "few"])
@pytest.mark.parametrize("width", [334, 1040])
def test_points_line_and_rule_are_on_one_scale(name: str, width: int) -> None:
    found = SWEEPS[name]
    figure = spec_sweep.sweep(found, View(EN, "light", width))
    points, taus = markers(figure)
    slope, start = linear(list(zip([r.speedup for r in found.races], points["y"], strict=True)))
    assert slope < 0, "quicker is higher"
    assert points["y"] == pytest.approx([start + slope * race.speedup for race in found.races])
    (line,) = [t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["dash"] != "solid"]
    told = [r.counts.tau / sum(cost.timed_round(r, found.target_times)) for r in found.races]
    assert line["y"][:-1] == pytest.approx([start + slope * value for value in told])
    (rule,) = [t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["color"] == View(EN).color("ink")]
    assert rule["y"][:2] == pytest.approx([start + slope] * 2)
    slope, start = linear(list(zip([r.counts.tau for r in found.races], taus["y"], strict=True)))
    assert taus["y"] == pytest.approx([start + slope * race.counts.tau for race in found.races])
    assert points["x"] == taus["x"] == sorted(points["x"])


@EACH
def test_the_best_gamma_is_marked_by_shape_and_named(found: GammaSweep) -> None:
    figure = spec_sweep.sweep(found, View(EN, "light", 1040))
    top = spec_sweep_words.best(found)
    timed = found.target_times is not None
    value = (lambda race: race.speedup) if timed else (lambda race: race.counts.tau)
    assert value(top) == max(map(value, found.races))
    for trace in markers(figure):
        marked = [race.gamma for race, s in zip(found.races, trace["marker"]["symbol"], strict=True) if s == "diamond"]
        assert marked == [top.gamma]
    assert len(markers(figure)) == 1 + timed
    said = words(figure)
    assert f"γ = {top.gamma}: τ = {top.counts.tau:.2f}" in said
    assert (f"γ = {top.gamma}: {top.speedup:.2f} ×" in said) == timed
    assert ("as fast as plain decoding" in said) == ("measured" in said) == timed


@EACH
@pytest.mark.parametrize("width", [240, 1040])
def test_bars_are_the_shares_of_those_judged(found: GammaSweep, width: int) -> None:
    figure = spec_sweep.sweep(found, View(EN, "light", width))
    bars = [trace for trace in figure["data"] if trace["type"] == "bar"]
    if not found.places:
        assert bars == []
        return
    (trace,) = bars
    shares = [place.accepted / place.judged for place in found.places]
    unit = max(trace["x"]) / max(shares) if max(shares) else 0
    assert trace["x"] == pytest.approx([share * unit for share in shares])
    assert trace["base"] + unit <= width
    said = words(figure)
    for place, share in zip(found.places, shares, strict=True):
        assert f"{share:.2f} of {place.judged:,}" in said


def said(found: GammaSweep, text: Text = EN) -> dict[str, Any]:
    caption: Any = spec_sweep_words.sweep_caption(found, View(text))
    return {key: value.replace("\u00a0", " ") for key, value in caption.items()}


def test_a_gain_is_told_with_its_gamma_and_its_price() -> None:
    found = SWEEPS["gains"]
    top = spec_sweep_words.best(found)
    caption = said(found)
    assert top.speedup > 1
    assert caption["title"] == f"γ = {top.gamma} is quickest here: {top.speedup:.2f} times plain decoding"
    check = target_seconds(top.gamma + 1) / target_seconds(1)
    drafting = top.gamma * 0.1 / target_seconds(1)
    told = [f"= {check:.2f}", f"{check + drafting:.2f} plain steps", f"{top.counts.tau:.2f} tokens a round"]
    for part in (*told, f"c = {0.1 / target_seconds(1):.2f}"):
        assert part in caption["text"], part


def test_no_gain_is_told_with_what_checking_costs() -> None:
    """As on an engine whose pass over five tokens takes five steps."""
    found = SWEEPS["arithmetic"]
    top, four = spec_sweep_words.best(found), found.races[3]
    caption = said(found)
    assert top.speedup < 1
    assert caption["title"].startswith(f"No γ gains here: the best, γ = {top.gamma}, runs at {top.speedup:.2f} times")
    drafts = four.counts.draft_passes / four.counts.target_passes
    drafting = drafts * four.draft_cost
    assert (
        "T(5)/T(1) = 5.00" in caption["text"] and f"{drafts:.1f} drafts at c = {four.draft_cost:.2f}" in caption["text"]
    )
    assert f"{four.counts.tau:.2f} tokens a round for {5 + drafting:.2f} plain steps" in caption["text"]
    assert EN("sweep.not_paid") in caption["text"] and EN("sweep.not_forward") not in caption["text"]


def test_a_round_that_pays_by_its_passes_and_still_loses_says_so() -> None:
    found = SWEEPS["gains"]
    slower = [
        replace(race, speculative=replace(race.speculative, seconds=tuple(9 * s for s in race.speculative.seconds)))
        for race in found.races
    ]
    caption = said(replace(found, races=tuple(slower)))
    assert caption["title"].startswith("No γ gains here") and EN("sweep.not_forward") in caption["text"]


def test_drafts_without_a_model_cost_next_to_nothing() -> None:
    assert "cost next to nothing" in said(SWEEPS["free"])["text"]


@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
def test_a_table_has_tokens_and_no_times(text: Text) -> None:
    caption = said(SWEEPS["table"], text)
    top = spec_sweep_words.best(SWEEPS["table"])
    assert f"{top.counts.tau:.2f}" in caption["title"] and "toy:target" in caption["text"]
    assert "T(1)" not in caption["text"]


def test_nothing_judged_is_said() -> None:
    assert said(SWEEPS["nothing judged"])["title"] == EN("sweep.nothing")
