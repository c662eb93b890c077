"""The picture of drafters side by side: bars, numbers, rule and words are those of the races."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.errors import UserError
from decoding.speculative.race import result
from decoding.speculative.sweep import CANNOT_HAVE, aligning
from decoding.speculative.values import Alignment, LeftOut, Race
from decoding.trace import DRAFTERS, ModelInfo
from tests.label_boxes import boxes, faults, words
from tests.speculative_clock import Time, racers
from visualizations.figures import spec_align, spec_align_words
from visualizations.figures.style import View
from visualizations.text import LANGS, STRINGS, Text

EN, ZH = Text("en"), Text("zh")
INFO = ModelInfo("smollm2", 49_152, 8_192, "cpu", "float32", (2,), "onnx")
WIDTHS = (240, 334, 396, 619, 620, 700, 1040, 2000)


def aligned(drafters: Any = DRAFTERS, **options: Any) -> Alignment:
    """Races by a clock that only forwards move."""
    field = racers(Time(), **options)
    return result(aligning(field, lambda settings: field.draft if settings.needs_model else None, drafters))


def of_model(found: Alignment) -> Alignment:
    """The same numbers as those of a neural model."""
    return replace(found, model=INFO)


def quickened(found: Alignment, by: float) -> Alignment:
    """With the speculative seconds of the first race so many times less."""
    first, *rest = found.races
    seconds = tuple(second / by for second in first.speculative.seconds)
    return replace(found, races=(replace(first, speculative=replace(first.speculative, seconds=seconds)), *rest))


LEFT = (LeftOut("trained", "no_draft", "smollm2"), LeftOut("early", "draft_unsupported", "smollm2"))
FOUND = {
    "slower": of_model(aligned()),
    "quicker": quickened(of_model(aligned()), 3.1),
    "table": aligned(("toy:lecture-draft", "ngram", "random", "oracle")),
    "left out": replace(of_model(aligned(("ngram", "random", "oracle"))), left_out=LEFT),
    "another model": of_model(aligned(("organisation/a-model-with-quite-a-long-name-1.7B", *DRAFTERS))),
    "nothing judged": of_model(aligned(("ngram",), tokens=1)),
}
EACH = pytest.mark.parametrize("found", FOUND.values(), ids=FOUND)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), "light" if width % 4 else "dark", width) for lang in LANGS for width in WIDTHS],
    ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}",
)


@EACH
@EACH_VIEW
def test_labels_lie_over_nothing(found: Alignment, view: View) -> None:
    figure = spec_align.alignment(found, view)
    go.Figure({k: figure[k] for k in ("data", "layout")})
    assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))
    assert faults(figure, view.width) == []
    assert all(trace["textfont"]["size"] >= 12 for trace in figure["data"] if trace.get("mode") == "text")


def bars(figure: dict[str, Any]) -> dict[tuple[float, float], float]:
    """Where each bar begins and lies -> its length."""
    found = {}
    for trace in figure["data"]:
        if trace["type"] == "bar":
            found |= {(trace["base"], y): x for x, y in zip(trace["x"], trace["y"], strict=True)}
    return found


@pytest.mark.parametrize("width", [334, 1040])
@pytest.mark.parametrize("name", ["slower", "quicker", "another model"])
def test_bars_have_one_scale_each_and_the_rule_is_at_one(name: str, width: int) -> None:
    found = FOUND[name]
    figure = spec_align.alignment(found, View(EN, "light", width))
    races = spec_align_words.ordered(found)
    lengths = [x for _, x in sorted(bars(figure).items(), key=lambda item: item[0][1] + item[0][0] / 1e4)]
    alphas, speeds = lengths[::2], lengths[1::2]
    unit = alphas[0] / (races[0].counts.acceptance or 1)
    assert alphas == pytest.approx([unit * (race.counts.acceptance or 0) for race in races])
    scale = speeds[0] / races[0].speedup
    assert speeds == pytest.approx([scale * race.speedup for race in races])
    left = max(base for base, _ in bars(figure))
    rules = {t["x"][0] for t in figure["data"] if t.get("mode") == "lines" and t["line"]["color"] == "#1d1f24"}
    assert len(rules) == 1 and rules.pop() == pytest.approx(left + scale)


@EACH
@pytest.mark.parametrize("width", [334, 1040])
def test_the_numbers_are_those_of_the_races(found: Alignment, width: int) -> None:
    said = words(spec_align.alignment(found, View(EN, "light", width)))
    timed = not found.model.is_table
    for race in found.races:
        alpha = race.counts.acceptance
        assert ("none" if alpha is None else f"{alpha:.2f}") in said
        assert any(f"{race.counts.tau:.2f}" in each for each in said)
        assert (f"{spec_align_words.told(race.speedup)} ×" in said) == timed
        if timed and race.draft_cost is not None:
            assert any(f"{race.draft_cost:.2f}" in each for each in said)


def test_slower_and_faster_differ_without_colour() -> None:
    figure = spec_align.alignment(FOUND["quicker"], View(EN, "light", 1040))
    hatched = [t for t in figure["data"] if t["type"] == "bar" and "pattern" in t["marker"]]
    slower = [race for race in FOUND["quicker"].races if race.speedup <= 1]
    assert sum(len(trace["x"]) for trace in hatched) == len(slower) > 0
    assert "trained draft" in words(figure)
    bold = [text for t in figure["data"] if t.get("mode") == "text" for text in t["text"] if text.startswith("<b>")]
    assert bold == ["<b>trained draft</b>"]


def test_more_accepted_stands_higher() -> None:
    found = FOUND["slower"]
    order = [race.drafter for race in spec_align_words.ordered(found)]
    assert order[0] == "oracle" and sorted(order) == sorted(DRAFTERS)
    names = {text: box for text, box in boxes(spec_align.alignment(found, View(EN, "light", 1040)))}
    tops = [names[EN(f"align.name_{drafter}")][1] for drafter in order]
    assert tops == sorted(tops)


def said(found: Alignment, text: Text = EN) -> dict[str, str]:
    caption: Any = spec_align_words.alignment_caption(found, View(text))
    return dict(caption)


def test_the_title_names_the_quickest_that_gains_or_says_that_none_does() -> None:
    quick = FOUND["quicker"].races[0]
    assert said(FOUND["quicker"])["title"] == (
        f"Quickest here: trained draft, {quick.speedup:.2f} times plain decoding"
    )
    none = said(quickened(of_model(aligned(("oracle",))), 1.0))
    assert none["title"].startswith("No drafter gains here; the quickest, oracle, runs at 0.")


def test_the_extremes_are_told_with_their_numbers() -> None:
    found = FOUND["slower"]
    text = said(found)["text"]
    of: dict[str, Race] = {race.drafter: race for race in found.races}
    assert f"α = {of['oracle'].counts.acceptance:.2f}, but c = {of['oracle'].draft_cost:.2f}" in text
    assert f"but α = {of['random'].counts.acceptance:.2f}" in text


def test_those_left_out_are_told_with_the_reason() -> None:
    text = said(FOUND["left out"])["text"]
    assert "Left out: trained draft (no draft was trained for smollm2)." in text
    assert "Left out: early layers (no draft can be made of the layers of smollm2)." in text


def test_every_reason_has_words() -> None:
    for code in CANNOT_HAVE:
        assert f"align.why_{code}" in STRINGS
        assert UserError(code, name="x", target="y").code == code


@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
def test_a_table_has_no_times(text: Text) -> None:
    caption = said(FOUND["table"], text)
    assert "×" not in "".join(words(spec_align.alignment(FOUND["table"], View(text, "light", 1040))))
    assert "toy:target" in caption["text"] and text("align.lesson_table") in caption["text"]


def test_nothing_judged_is_none() -> None:
    assert "none" in words(spec_align.alignment(FOUND["nothing judged"], View(EN, "light", 1040)))
