"""The picture of the two clocks: how far both are at a moment, what a token cost, words that overlap nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.speculative.cost import predicted, round_cost
from decoding.speculative.counts import Counts
from decoding.speculative.values import Clocked, Judged, Race
from decoding.trace import ModelInfo
from tests.label_boxes import Box, boxes, faults, words
from visualizations.figures import spec_race, style
from visualizations.figures.spec_race_words import digits, race_caption, times
from visualizations.figures.step_cost import ms
from visualizations.figures.style import View
from visualizations.text import LANGS, Text

EN = Text("en")
INFO = ModelInfo("a draft", 49_152, 8_192, "cpu", "int8", (2,), "onnx")


def clocked(steps: int, tokens: int, total: float, target: float, draft: float = 0.0, repeats: int = 1) -> Clocked:
    """Steps of equal length, tokens spread over them; each repeat takes a tenth longer. The prompt takes no time."""
    written = tuple(round(tokens * (i + 1) / steps) for i in range(steps))
    seconds = tuple(total * (i + 1) / steps for i in range(steps))
    totals = tuple(total * (1 + i / 10) for i in range(repeats))
    return Clocked(written, seconds, target, draft, target / steps, draft / (4 * steps), totals)


def made(plain: Clocked, drafts: Clocked, draft: bool = True, same: bool = False) -> Race:
    rounds, tokens = len(drafts.written), drafts.written[-1]
    accepted = tokens - rounds
    passes = 4 * rounds if draft else 0
    counts = Counts(tokens, rounds, passes, 4 * rounds, min(4 * rounds, accepted + rounds), accepted)
    places = (Judged(rounds, accepted // 2), Judged(max(accepted // 2, 1), accepted // 4))
    return Race("trained" if draft else "ngram", 4, INFO if draft else None, plain, drafts, counts, places, same)


RACES = {
    "faster": made(clocked(40, 40, 1.9, 1.8), clocked(20, 40, 1.5, 1.1, 0.3)),
    "slower": made(
        replace(clocked(40, 40, 1.9, 1.8), totals=(1.9, 1.8, 2.0)), clocked(24, 40, 2.6, 1.6, 0.8, 3), same=True
    ),
    "much slower": made(clocked(40, 40, 1.9, 1.8), clocked(40, 40, 9.0, 3.6, 5.2)),
    "equal": made(clocked(40, 40, 2.0, 1.8), clocked(20, 40, 2.0, 1.5), draft=False),
    "nothing else": made(clocked(8, 8, 1.0, 1.0), clocked(4, 8, 0.5, 0.4, 0.1)),
    "long": made(clocked(256, 256, 123.4, 110), clocked(91, 256, 98.7, 60, 21)),
    "very slow": made(clocked(256, 256, 2561, 2500), clocked(91, 255, 1098.7, 800, 251)),
    "quick": made(clocked(64, 64, 0.21, 0.12), clocked(21, 64, 0.11, 0.07, 0.01), same=True),
    "one token": made(clocked(1, 1, 0.05, 0.04), clocked(1, 1, 0.06, 0.04, 0.01)),
    "thin parts": made(clocked(40, 40, 2.0, 1.999), clocked(20, 40, 2.0, 1.99, 0.005)),
}
EACH = pytest.mark.parametrize("race", RACES.values(), ids=RACES)
WIDTHS = (240, 334, 480, 719, 720, 1040, 2000)
THEMES: dict[Any, Any] = {"en": "light", "zh": "dark"}
VIEWS = tuple(View(Text(lang), THEMES[lang], width) for lang in LANGS for width in WIDTHS)
EACH_VIEW = pytest.mark.parametrize("view", VIEWS, ids=lambda v: f"{v.text.lang}-{v.width}")
WIDE, NARROW = View(EN, "light", 1040), View(EN, "light", 334)


def moments(race: Race) -> list[int]:
    """The first, one in the middle, the last, and one beyond."""
    last = len(race.speculative.seconds) - 1
    return sorted({0, last // 2, last, last + 7})


def bars(figure: dict[str, Any]) -> list[Box]:
    """Solid and striped bars."""
    found = [trace for trace in figure["data"] if trace["type"] == "bar"]
    return [(t["base"], t["y"][0] - t["width"] / 2, t["base"] + t["x"][0], t["y"][0] + t["width"] / 2) for t in found]


def strokes(figure: dict[str, Any]) -> list[Box]:
    """The box around every line."""
    found = []
    for trace in figure["data"]:
        if trace.get("mode") == "lines":
            xs, ys = ([v for v in trace[axis] if v is not None] for axis in "xy")
            found.append((min(xs), min(ys), max(xs), max(ys)))
    return found


@EACH
@EACH_VIEW
def test_no_label_lies_over_anything_or_outside(race: Race, view: View) -> None:
    for at in moments(race):
        figure = spec_race.race(race, at, view)
        assert not faults(figure, view.width)
        for text, (left, top, right, bottom) in boxes(figure):
            for mark in [*bars(figure), *strokes(figure)]:
                beside = mark[2] <= left or right <= mark[0] or mark[3] <= top or bottom <= mark[1]
                assert beside, f"{text} over a bar or a line"


@EACH
@EACH_VIEW
def test_plotly_accepts_it_and_it_is_quiet_and_legible(race: Race, view: View) -> None:
    figure = spec_race.race(race, 1, view)
    go.Figure(figure)
    assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))
    assert all(trace["textfont"]["size"] >= 12 for trace in figure["data"] if trace.get("mode") == "text")
    other = style.COLORS["light" if view.theme == "dark" else "dark"]
    used = json.dumps(figure)
    assert not [color for color in set(other.values()) - set(style.COLORS[view.theme].values()) if color in used]


@EACH
def test_both_clocks_stand_at_the_same_moment(race: Race) -> None:
    """Solid lanes are as long as the time so far, and their heads say the tokens written by then."""
    drafts, plain = race.speculative, race.plain
    end = max(plain.total, drafts.total)
    for at in moments(race):
        now = drafts.seconds[min(at, len(drafts.seconds) - 1)]
        figure = spec_race.race(race, at, NARROW)
        lanes = bars(figure)[:2]
        for lane, run in zip(lanes, (plain, drafts), strict=True):
            assert lane[2] - lane[0] == pytest.approx(min(now, run.total) / end * 333)
        heads = [EN("race.tokens", tokens=run.written_by(now)) for run in (plain, drafts)]
        assert [text for text in words(figure) if re.fullmatch(r"[\d,]+ tokens?", text)] == heads


def test_tokens_by_a_moment() -> None:
    run = Clocked((1, 3, 4), (0.5, 1.0, 2.5), 2.0, 0.0, 0.5, 0.0, (2.5,))
    assert [run.written_by(s) for s in (0, 0.49, 0.5, 0.99, 1.0, 2.4999, 2.5, 9)] == [0, 0, 1, 1, 3, 3, 4, 4]
    assert run.durations == (0.5, 0.5, 1.5)


def test_what_is_still_to_come_is_dashed() -> None:
    race = RACES["faster"]
    dashes = [
        [trace["line"]["color"] for trace in spec_race.race(race, at, WIDE)["data"] if "dash" in trace.get("line", {})
         and trace["line"]["dash"] != "solid"]
        for at in (3, 19)
    ]  # fmt: skip
    assert dashes == [[WIDE.color("soft"), WIDE.color("kept")], [WIDE.color("soft")]]


@EACH
def test_a_tokens_time_is_cut_into_what_it_went_into(race: Race) -> None:
    """Lengths are milliseconds on one scale, whatever the moment; each part has its amount beside its mark."""
    figure = spec_race.race(race, 0, NARROW)
    longest = max(race.plain.per_token, race.speculative.per_token)
    expected, labels = [], []
    for run in (race.plain, race.speculative):
        tokens, parts = run.written[-1], {"target": run.target, "draft": run.draft, "others": run.rest}
        expected += [parts[name] / tokens / longest * 333 for name in ("target", "draft") if parts[name] > 0]
        labels += [EN(f"race.part.{name}", ms=ms(1000 * s / tokens)) for name, s in parts.items() if s > 0]
    assert [box[2] - box[0] for box in bars(figure)[2:]] == pytest.approx(expected)
    assert [text[2:] for text in words(figure) if text[0] in "■▨□"] == labels
    hollow = [t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["width"] == 1.2]
    assert len(hollow) == sum(run.rest > 0 for run in (race.plain, race.speculative))


def test_the_drafts_part_is_striped() -> None:
    found = [t["marker"].get("pattern") for t in spec_race.race(RACES["faster"], 0, WIDE)["data"] if t["type"] == "bar"]
    assert [bool(each) for each in found] == [False, False, False, False, True]


@pytest.mark.parametrize("end", [0.0004, 0.06, 0.999, 1.0, 4.7, 123.4, 2561])
def test_ticks_are_round_and_few(end: float) -> None:
    ticks, places = spec_race.seconds_ticks(end)
    assert 3 <= len(ticks) <= 6 and ticks[0] == 0 and ticks[-1] <= end
    assert [float(f"{tick:.{places}f}") for tick in ticks] == ticks


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
@EACH
def test_the_title_is_the_finding(race: Race, lang: Any) -> None:
    title = race_caption(race, 0, View(Text(lang)))["title"]
    assert (times(race.speedup) in title) != (times(race.speedup) == "1.00")


@pytest.mark.parametrize("lang", LANGS)
@EACH
def test_the_sentences_have_the_values(race: Race, lang: Any) -> None:
    for at in moments(race):
        text = race_caption(race, at, View(Text(lang)))["text"]
        index = min(at, len(race.speculative.seconds) - 1)
        now = race.speculative.seconds[index]
        values = [f"{now:.{digits(race)}f}", times(predicted(race)), times(race.counts.tau), times(round_cost(race))]
        over = index + 1 == len(race.speculative.seconds)
        plain = f"{race.plain.total:.{digits(race)}f}" if over else f"{race.plain.written_by(now):,}"
        for value in [*values, f"{race.speculative.written[index]:,}", plain]:
            assert value in text, value


def test_the_caption_in_full() -> None:
    race = RACES["slower"]
    assert race_caption(race, 4, View(EN)) == {
        "title": "Drafts did not pay here: 0.73 times the speed of plain decoding, by the clock",
        "text": "After round 5, at 0.54 s: 8 tokens with drafts, 11 without. The cost model counts only passes "
        "after the prompt: 1.67 tokens a round for 2.22 plain steps (4.0 drafts at c = 0.19, a check at 1.48) give "
        "0.75 times. "
        "Both wrote the same text. Raced 3 times: 0.63 to 0.73 times as fast; the middle run of each is shown.",
    }


@pytest.mark.parametrize("name", ["faster", "equal", "slower"])
@pytest.mark.parametrize("lang", LANGS)
def test_the_end_tells_how_long_both_took_for_as_much(name: str, lang: Any) -> None:
    race, text = RACES[name], Text(lang)
    took = {"drafts": f"{race.speculative.total:.2f}", "plain": f"{race.plain.total:.2f}"}
    assert breaking(text("race.end", tokens=40, **took)) in breaking(race_caption(race, 99, View(text))["text"])


def breaking(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_repeats_that_disagree_say_so() -> None:
    race = RACES["slower"]
    mixed = replace(
        race, plain=replace(race.plain, totals=(1.9, 2.0, 2.9)), speculative=clocked(24, 40, 2.6, 1.6, 0.8, 3)
    )
    assert min(mixed.speedups) < 1 and max(mixed.speedups) < 1
    assert EN("race.unsure") not in race_caption(mixed, 0, View(EN))["text"]
    mixed = replace(mixed, speculative=replace(mixed.speculative, totals=(2.6, 2.7, 2.8)))
    assert max(mixed.speedups) > 1 and EN("race.unsure") in race_caption(mixed, 0, View(EN))["text"]


def test_without_a_draft_model_there_is_no_c() -> None:
    said = race_caption(RACES["equal"], 0, View(EN))["text"]
    assert "no model drafts" in said and "c =" not in said


# --- the cost model --------------------------------------------------------------------------------


def test_what_the_costs_of_a_race_predict() -> None:
    """10 rounds of 3 drafts: of the first 5 of 10 accepted, of the second 2 of 5, of the third 2 of 2."""
    plain, drafts = clocked(20, 20, 20.5, 20.0), replace(clocked(10, 19, 20.0, 14.0, 4.5), first_draft=0.15)
    places = (Judged(10, 5), Judged(5, 2), Judged(2, 2))
    race = Race("trained", 3, INFO, plain, drafts, Counts(19, 10, 30, 30, 17, 9), places, False)
    assert race.draft_cost == pytest.approx(0.15) and race.check_cost == pytest.approx(1.4)
    assert round_cost(race) == pytest.approx(3 * 0.15 + 1.4)
    assert predicted(race) == pytest.approx(1.9 / 1.85)
    assert race.speedup < predicted(race), "the clock also counts what is no pass"


def test_rounds_that_draft_nothing_count_as_such() -> None:
    plain, drafts = clocked(29, 29, 29.0, 29.0), clocked(20, 29, 20.0, 20.0)
    places = (Judged(10, 5), Judged(5, 2), Judged(2, 2))
    race = Race("ngram", 3, None, plain, drafts, Counts(29, 20, 0, 30, 17, 9), places, True)
    assert predicted(race) == pytest.approx(1.45) and round_cost(race) == pytest.approx(1)
