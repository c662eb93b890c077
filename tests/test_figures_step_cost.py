"""The picture of what a step costs: points, floor, the two parts, words that overlap nothing, numbers that are so."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.trace import ModelInfo
from decoding.values import ForwardTime, ForwardTimes
from visualizations.figures import step_cost, style
from visualizations.figures.style import SMALL, View, text_px
from visualizations.text import LANGS, Text

EN, ZH = Text("en"), Text("zh")
INFO = ModelInfo("smollm2", 49_152, 8_192, "cpu", "float32", (2,), "onnx")
COUNTS = (1, 2, 3, 5, 8, 16, 32)


def made(milliseconds: tuple[float, ...], weight_bytes: int, bandwidth: float) -> ForwardTimes:
    tokens = tuple(ForwardTime(*pair) for pair in zip(COUNTS, milliseconds, strict=False))
    return ForwardTimes(INFO, "a test", 2, 100, weight_bytes, bandwidth, tokens, tokens[:1])


TIMES = {
    "flat, then a slope": made((24.0, 27.0, 30.0, 29.0, 39.0, 48.0, 90.0), 538_000_000, 28e9),
    "a slope": made((8.8, 8.9, 11.0, 16.0, 23.0, 35.0, 88.0), 92_000_000, 28e9),
    "restless": made((64.0, 111.0, 139.0, 118.0, 109.0, 153.0, 243.0), 538_000_000, 10e9),
    "flat": made((1.1, 1.1, 1.11, 1.1, 1.12, 1.1, 1.1), 2_600_000_000, 4e12),
    "steep": made((10.0, 20.0, 30.0, 50.0, 80.0, 160.0, 320.0), 1_000_000, 1e9),
    "quicker with more": made((60.0, 58.0, 50.0, 55.0, 66.0, 90.0, 140.0), 538_000_000, 11e9),
    "tiny": made((0.02, 0.021, 0.02, 0.03, 0.05), 90_000, 5e9),
    "starting only": made((15.0, 15.1, 15.0, 15.2, 15.1, 15.3, 15.2), 269_000_000, 3.9e12),
    "at the floor": made((51.0, 53.5, 53.9, 58.9, 66.7, 73.8, 120.7), 510_000_000, 1e10),
}
EACH = pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), theme, width) for lang in LANGS for theme in ("light", "dark") for width in (330, 700, 1040)],
    ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}",
)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def curve(figure: dict[str, Any]) -> dict[str, Any]:
    (found,) = [trace for trace in figure["data"] if trace["mode"] == "lines+markers"]
    return found


def boxes(figure: dict[str, Any], width: int) -> dict[str, tuple[float, float, float, float]]:
    """The room of each label in px from the lower left of the plot area: left, bottom, right, top."""
    frame = figure["layout"]
    wide = width - frame["margin"]["l"] - frame["margin"]["r"]
    tall = frame["height"] - frame["margin"]["b"]
    found = {}
    for trace in figure["data"]:
        if trace["mode"] == "text":
            for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
                at = x / frame["xaxis"]["range"][1] * wide, y / frame["yaxis"]["range"][1] * tall
                room = text_px(text) * 0.9  # an upper estimate
                left = at[0] - room if trace["textposition"] == "middle left" else at[0]
                found[text] = (left, at[1] - SMALL / 2, left + room, at[1] + SMALL / 2)
    return found


@EACH
@EACH_VIEW
def test_plotly_accepts_it_and_it_is_quiet_and_legible(times: ForwardTimes, view: View) -> None:
    figure = step_cost.step_cost(times, view)
    go.Figure(figure)
    assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))
    assert all(trace["textfont"]["size"] >= 12 for trace in figure["data"] if trace["mode"] == "text")
    assert all(figure["layout"][axis]["tickfont"]["size"] >= 12 for axis in ("xaxis", "yaxis"))
    others = set(style.COLORS["light" if view.theme == "dark" else "dark"].values()) - set(
        style.COLORS[view.theme].values()
    )
    assert not others & set(strings(figure))


@EACH
@EACH_VIEW
def test_no_label_lies_over_another_over_a_point_or_outside(times: ForwardTimes, view: View) -> None:
    figure = step_cost.step_cost(times, view)
    found, frame = boxes(figure, view.width), figure["layout"]
    wide = view.width - frame["margin"]["l"] - frame["margin"]["r"]
    tall = frame["height"] - frame["margin"]["b"]
    for (one, a), (other, b) in itertools.combinations(found.items(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], f"{one} over {other}"
    for text, (left, bottom, right, top) in found.items():
        assert left >= -frame["margin"]["l"] and right <= wide + frame["margin"]["r"] and top <= tall and bottom >= 0, (
            text
        )
    traced = curve(figure)
    for x, y in zip(traced["x"], traced["y"], strict=True):
        at = x / frame["xaxis"]["range"][1] * wide, y / frame["yaxis"]["range"][1] * tall
        for text, (left, bottom, right, top) in found.items():
            assert not (left < at[0] < right and bottom - 3 < at[1] < top + 3), f"{text} over the point of {x}"


@EACH
def test_the_points_and_the_floor_are_what_was_measured(times: ForwardTimes) -> None:
    figure = step_cost.step_cost(times, View(EN, "light", 1040))
    traced = curve(figure)
    assert dict(zip(traced["x"], traced["y"], strict=True)) == {t.count: t.milliseconds for t in times.tokens}
    (floor,) = [trace for trace in figure["data"] if trace["mode"] == "lines" and trace["line"]["dash"] != "solid"]
    assert floor["y"][:2] == [times.floor, times.floor]
    assert figure["layout"]["yaxis"]["range"][0] == 0
    ticks = figure["layout"]["yaxis"]["tickvals"]
    assert 2 <= len(ticks) <= 9 and len(set(figure["layout"]["yaxis"]["ticktext"])) == len(ticks)


@EACH
def test_both_parts_meet_at_the_ridge(times: ForwardTimes) -> None:
    last = times.tokens[-1].count
    figure = step_cost.step_cost(times, View(EN, "light", 1040))
    found = boxes(figure, 1040)
    hairs = [trace["x"][0] for trace in figure["data"] if trace["mode"] == "lines" and trace["x"][0] == times.ridge]
    assert (times.ridge < last) == bool(hairs) == any(text.startswith("compute-bound") for text in found)
    waits = "memory-bound" if 2 * times.floor >= times.of_tokens(1) else "shared"
    assert any(text.startswith(waits) for text in found)


def test_a_model_that_only_waits_has_one_part() -> None:
    said = step_cost.step_cost_caption(TIMES["flat"], View(EN))["text"]
    assert "Up to 32 tokens, arithmetic takes less than half of the time." in said
    assert "From the first token on" in step_cost.step_cost_caption(TIMES["steep"], View(EN))["text"]


@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
@EACH
def test_the_caption_has_the_values(times: ForwardTimes, text: Text) -> None:
    said = step_cost.step_cost_caption(times, View(text))
    one, five = times.of_tokens(1), times.of_tokens(5)
    assert step_cost.ms(one) in said["title"] and step_cost.ms(five) in said["title"]
    values = [step_cost.size(times.weight_bytes), f"{times.bandwidth / 1e9:.1f}", f"{five / one:.2f}"]
    for value in [*values, step_cost.ms(times.floor)]:
        assert value in said["text"], value


def test_the_caption_in_full() -> None:
    said = step_cost.step_cost_caption(TIMES["flat, then a slope"], View(EN))
    assert said == {
        "title": "What one step costs: 24.0 ms for 1 token, 29.0 ms for 5 at once",
        "text": "A step is one pass of the model; T(n) is its time over n new tokens. T(5) is 1.21 times T(1), not 5 "
        "times: most of the time goes into reading the weights, 538 MB, and one reading serves all 5. The machine "
        "reads at most 28.0 GB/s from memory, so no pass is quicker than 19.2 ms, the dashed floor. From about 9 "
        "tokens on, arithmetic takes most of the time: each further token adds 2.6 ms.",
    }


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("flat, then a slope", "cost.reading"),
        ("at the floor", "cost.reading"),
        ("starting only", "cost.shared"),
        ("a slope", "cost.both"),
        ("steep", "cost.arithmetic"),
    ],
)
@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
def test_what_the_ratio_means(name: str, key: str, text: Text) -> None:
    times = TIMES[name]
    said, values = step_cost.step_cost_caption(times, View(text))["text"], step_cost.numbers(times)
    values["ratio"] = step_cost.ratio(times.of_tokens(5) / times.of_tokens(1))
    keys = ("cost.reading", "cost.shared", "cost.both", "cost.arithmetic")
    meanings = {each: text(each, count=5, **values) in said for each in keys}
    assert [each for each, there in meanings.items() if there] == [key]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (7, "7 B"),
        (1_500, "1.5 kB"),
        (92_000_000, "92 MB"),
        (5_040_000, "5.0 MB"),
        (538_000_000, "538 MB"),
        (2_600_000_000, "2.6 GB"),
    ],
)
def test_bytes_in_words(count: int, words: str) -> None:
    assert step_cost.size(count) == words
