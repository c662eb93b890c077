"""What the pictures of speculative decoding show, read from their values: chips, bars, numbers, words; no browser."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.speculative.counts import counts
from decoding.trace import SpeculativeStep, Token
from tests import speculative_steps as made
from visualizations.figures import spec_chips, spec_coin, spec_progress, spec_sheet, spec_verdict
from visualizations.figures.spec_chips import chips
from visualizations.figures.style import View
from visualizations.text import LANGS, Text

EN = Text("en")
CARD = View(EN, "light", 396)
VIEWS = tuple(
    View(Text(lang), theme, width)
    for lang, theme, width in (("en", "light", 396), ("zh", "dark", 334), ("zh", "light", 700))
)
EACH_VIEW = pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}")
RUNS = {**made.ROUNDS, "random": made.random(4), "awkward": made.random(2, gamma=8, words=made.AWKWARD)}
EACH_RUN = pytest.mark.parametrize("steps", RUNS.values(), ids=RUNS)
Steps = tuple[SpeculativeStep, ...]


def every_chip(steps: Steps) -> Iterator[tuple[SpeculativeStep, int]]:
    return ((step, index) for step in steps for index in range(len(chips(step))))


def labels(figure: dict[str, Any]) -> list[str]:
    """All words of a figure as a reader sees them."""
    said = [text for trace in figure["data"] for text in trace.get("text") or () if trace.get("mode") == "text"]
    return [html.unescape(re.sub("</?[bs]>", "", text)) for text in said]


def solid(figure: dict[str, Any], color: str, view: View = CARD) -> list[float]:
    """Lengths of the solid bars of a role, px."""
    wanted = view.color(color)
    bars = [t for t in figure["data"] if t["type"] == "bar" and t["marker"].get("color") == wanted]
    return [length for trace in bars for length in trace["x"]]


def fates(step: SpeculativeStep) -> list[str]:
    return [chip.fate for chip in chips(step)]


# --- the chips of a round --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (made.ALL, ["accepted"] * 4 + ["bonus"]),
        (made.RECOVERED, ["accepted", "rejected", "redrawn", "unread", "unread"]),
        (made.ENDED, ["accepted", "accepted", "unread"]),
        (made.NO_ROOM, ["accepted"]),
        (made.NOTHING, ["plain"]),
        (made.CERTAIN_NO, ["rejected", "redrawn", "unread"]),
        (made.EXACT_NO, ["accepted", "rejected", "redrawn", "unread"]),
    ],
)
def test_the_chips_of_a_round(step: SpeculativeStep, expected: list[str]) -> None:
    assert fates(step) == expected


@EACH_RUN
def test_a_row_holds_every_draft_and_what_was_added_once(steps: Steps) -> None:
    for step in steps:
        found = chips(step)
        assert sorted(chip.node.id for chip in found if chip.node) == [node.id for node in step.nodes]
        assert [chip.added for chip in found if chip.added] == ([step.added] if step.added else [])
        kept = [chip.token for chip in found if chip.fate in ("accepted", "redrawn", "bonus", "plain")]
        assert tuple(kept) == step.emitted


@pytest.mark.parametrize(
    ("step", "fate"),
    [(made.RECOVERED, "rejected"), (made.ALL, "bonus"), (made.NOTHING, "plain"), (made.ENDED, "accepted")],
)
def test_the_verdict_shown_at_first_is_the_most_telling(step: SpeculativeStep, fate: str) -> None:
    assert fates(step)[spec_chips.telling(step)] == fate


@pytest.mark.parametrize("lang", LANGS)
@EACH_RUN
def test_every_chip_has_a_mark_a_word_and_a_sentence(steps: Steps, lang: Any) -> None:
    view = View(Text(lang))
    value = spec_chips.rounds(steps, view, (0, 0))
    json.dumps(value)
    assert len(value["rows"]) == len(steps) and value["chosen"] == [0, 0] and value["label"]
    for row, step in zip(value["rows"], steps, strict=True):
        for chip, fate in zip(row["chips"], fates(step), strict=True):
            assert (chip["fate"], chip["mark"]) == (fate, spec_chips.MARKS[fate])  # type: ignore[index]
            assert chip["text"] and chip["word"] in chip["label"]
    marks = {fate: (mark, view.text(f"spec.fate.{fate}")) for fate, mark in spec_chips.MARKS.items()}
    assert len(set(marks.values())) == len(marks), "no two fates look alike without colour"


def test_the_rows_are_told_in_words() -> None:
    rows = spec_chips.rounds((made.ALL, made.RECOVERED, made.ENDED, made.NOTHING, made.NO_ROOM), CARD, (0, 0))["rows"]
    assert [row["note"] for row in rows] == [
        "4 of 4 accepted, 5 tokens",
        "1 of 4 accepted, 2 tokens",
        "2 of 3 accepted, 2 tokens; the text ends",
        "nothing drafted, 1 token",
        "1 of 1 accepted, 1 token; no room for more",
    ]
    assert rows[1]["chips"][1]["label"] == "Round 2, draft 2: “␣fun”, rejected. Show why."
    assert rows[1]["chips"][2]["label"] == "Round 2, by the target: “␣budget”, redrawn. Show why."


def test_the_title_counts_what_the_sketch_counts() -> None:
    assert spec_chips.rounds_caption(made.SKETCH, CARD, "lossless")["title"] == "11 tokens in 3 rounds"
    assert spec_chips.rounds_caption((made.NO_ROOM,), CARD, "lossless")["title"] == "1 token in 1 round"


@pytest.mark.parametrize(("name", "lossy"), [("sketch", False), ("exact", False), ("top-k", True), ("typical", True)])
def test_a_lossy_rule_is_called_so_wherever_it_judged(name: str, lossy: bool) -> None:
    steps = made.ROUNDS[name]
    assert spec_chips.rule_of(steps) == steps[0].verdicts[0].rule
    assert ("Lossy:" in spec_chips.rounds_caption(steps, CARD, spec_chips.rule_of(steps))["text"]) == lossy
    for step, index in every_chip(steps):
        if fates(step)[index] in ("accepted", "rejected", "redrawn"):
            assert ("Lossy:" in spec_verdict.verdict_caption(step, index, CARD)["text"]) == lossy


# --- the text by its writers -----------------------------------------------------------------------


def test_the_text_is_marked_by_who_wrote_it() -> None:
    value = spec_chips.written(made.SKETCH, CARD, "It is")
    assert [piece["by"] for piece in value["pieces"]].count("accepted") == 8
    assert "".join(p["before"] + p["text"] for p in value["pieces"]) == "".join(
        token.text for step in made.SKETCH for token in step.emitted
    )
    assert [(key["by"], key["words"][-1]) for key in value["key"]] == [
        ("accepted", "8"),
        ("redrawn", "2"),
        ("bonus", "1"),
    ]
    assert spec_chips.written_caption(made.SKETCH, CARD)["title"].startswith("The draft wrote 72.7")


def test_words_of_a_table_stand_apart() -> None:
    pieces = spec_chips.written((made.NOTHING, made.NOTHING), CARD, "", " ")["pieces"]
    assert [piece["before"] for piece in pieces] == [" ", "  "], "each brings a space of its own here"
    words = [replace(made.NOTHING, emitted=(Token(1, "singing"),))] * 2
    assert [piece["before"] for piece in spec_chips.written(words, CARD, "", " ")["pieces"]] == ["", " "]
    assert [piece["before"] for piece in spec_chips.written(words, CARD, "I", " ")["pieces"]] == [" ", " "]


def test_tokens_that_make_one_character_are_one_piece() -> None:
    half, other = Token(1, "⟨F0 9F⟩", b"\xf0\x9f"), Token(2, "⟨98 8A⟩", b"\x98\x8a")
    step = replace(made.ALL, emitted=(*made.ALL.emitted[:3], half, other))
    pieces = spec_chips.written((step,), CARD)["pieces"]
    assert (pieces[-1]["text"], pieces[-1]["by"]) == ("😊", "bonus")
    broken = replace(made.ALL, emitted=(*made.ALL.emitted[:4], half))
    assert spec_chips.written((broken,), CARD)["pieces"][-1]["text"] == "⟨F0 9F⟩"


# --- the verdict -----------------------------------------------------------------------------------


def said(step: SpeculativeStep, fate: str) -> str:
    """The sentences on the first chip of this fate."""
    return spec_verdict.verdict_caption(step, fates(step).index(fate), CARD)["text"].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("step", "fate", "words"),
    [
        (made.RECOVERED, "rejected", ["q = 0.31", "p = 0.09", "min(1, p/q) = 0.29", "u = 0.64", "gets “␣budget”"]),
        (made.RECOVERED, "accepted", ["min(1, p/q) = 0.80", "u = 0.30, below it"]),
        (made.ALL, "accepted", ["p = 0.80", "q = 0.50", "always accepted"]),
        (made.CERTAIN_NO, "rejected", ["p = 0.", "cannot be accepted"]),
        (made.RECOVERED, "redrawn", ["“␣fun” was rejected", "probability 1 there", "u = 0.52"]),
        (made.ALL, "bonus", ["4 of 4", "probability 0.41", "u = 0.33"]),
        (made.NOTHING, "plain", ["Nothing was drafted", "probability 0.60"]),
        (made.RECOVERED, "unread", ["after “␣fun”, which was rejected", "q = 0.40"]),
        (made.ENDED, "unread", ["The text ended before it"]),
        (made.EXACT_NO, "rejected", ["drew a token of its own here, “␣you”", "p = 0.30", "Its own “␣you” stays"]),
        (made.EXACT_NO, "accepted", ["it is the same", "p = 0.55"]),
        (made.EXACT_NO, "redrawn", ["before it looked at “␣can”", "probability was 0.55", "u = 0.20"]),
        (made.TOP_K_NO, "rejected", ["rank 3", "ranks up to 2 only", "from its own law, and gets “␣budget”"]),
        (made.TOP_K_MANY, "accepted", ["rank 3", "ranks up to 40."]),
        (made.TOP_K_ZERO, "rejected", ["p = 0", "never accepted"]),
        (made.TYPICAL_NO, "rejected", ["p = 0.09", "more than 0.10"]),
        (made.TYPICAL_ALL, "accepted", ["p = 0.40", "more than 0.10"]),
    ],
)
def test_each_rule_has_its_sentence_with_its_numbers(step: SpeculativeStep, fate: str, words: list[str]) -> None:
    text = said(step, fate)
    assert all(word in text for word in words), text


def test_only_the_lossless_rule_draws_again_from_the_residual() -> None:
    for step in (made.RECOVERED, made.EXACT_NO, made.TOP_K_NO, made.TYPICAL_NO):
        figure = spec_verdict.verdict(step, fates(step).index("rejected"), CARD)
        assert figure is not None
        assert any("norm(max(0, p − q))" in words for words in labels(figure)) == (step is made.RECOVERED)


def test_p_and_q_have_one_scale_with_the_residual() -> None:
    figure = spec_verdict.verdict(made.RECOVERED, 1, CARD)
    assert figure is not None
    unit = spec_sheet.Sheet(CARD).bar
    assert solid(figure, "kept")[:3] == pytest.approx([0.09 * unit, 0.61 * unit, 0.3 * unit])
    assert solid(figure, "draft") == pytest.approx([0.31 * unit, 0.2 * unit, 0.49 * unit])
    assert solid(figure, "redrawn") == pytest.approx([unit]), "only “budget” has p > q"
    assert {"target p 0.09", "draft q 0.31", "p 0.61", "q 0.49", "u = 0.64", "▸ ␣fun"} <= set(labels(figure))


@EACH_RUN
def test_the_pairs_hold_all_of_both_laws(steps: Steps) -> None:
    for step, index in every_chip(steps):
        chip = chips(step)[index]
        if chip.verdict is None:
            continue
        instead = step.added.token if step.added and chip.fate == "rejected" else None
        found = spec_verdict.pairs(chip.verdict, chip.token, instead)
        assert found[0].token == chip.token
        assert instead is None or instead in [pair.token for pair in found]
        assert (found[0].target_prob, found[0].draft_prob) == pytest.approx(
            (chip.verdict.target_prob, chip.verdict.draft_prob)
        )
        assert sum(pair.target_prob for pair in found) == pytest.approx(1, abs=1e-4)
        assert sum(pair.draft_prob for pair in found) == pytest.approx(1, abs=1e-4)
        assert len(found) <= spec_verdict.MOST_PAIRS + 1
        if chip.verdict.drawn:
            assert chip.verdict.drawn in [pair.token for pair in found]


@pytest.mark.parametrize("rule", ["lossless", "exact", "top_k", "typical"])
def test_what_came_instead_has_bars_of_its_own(rule: made.Rule) -> None:
    """In both charts, though six tokens are likelier in either law."""
    p = {" fun": 0.04, **{f" w{i}": 0.15 for i in range(6)}, " rare": 0.06}
    q = {" fun": 0.22, **{f" w{i}": 0.12 for i in range(6)}, " rare": 0.06 - 1e-3}
    place = made.Place(" fun", p, q | {" w0": 0.121}, u=0.9, drawn=" rare")
    step = made.step([place], p, " rare", rule, limit={"typical": 0.1}.get(rule, 2))
    assert fates(step)[0] == "rejected"
    figure = spec_verdict.verdict(step, 0, CARD)
    assert figure is not None
    assert sum(words.removeprefix("▸ ") == "␣rare" for words in labels(figure)) == 2


@pytest.mark.parametrize(
    ("step", "index", "accepts", "pin"),
    [
        (made.RECOVERED, 1, [(0, 0.09 / 0.31)], 0.64),
        (made.RECOVERED, 0, [(0, 0.8)], 0.3),
        (made.ALL, 0, [(0, 1)], 0.99),
        (made.CERTAIN_NO, 0, [], 0.0),
        (made.EXACT_NO, 1, [(0.55, 0.85)], 0.2),
        (made.EXACT_NO, 0, [(0, 0.55)], None),
        (made.TOP_K_NO, 1, [(0, 1 / 3), (1 / 3, 2 / 3)], 5 / 6),
        (made.TOP_K_NO, 0, [(0, 1 / 3), (1 / 3, 2 / 3)], 1 / 6),
        (made.TOP_K_MANY, 0, [(0, 0.75)], 2.5 * 0.75 / 40),
        (made.TYPICAL_NO, 1, [(0.1, 1)], 0.09),
    ],
)
def test_the_bar_accepts_where_the_rule_does(
    step: SpeculativeStep, index: int, accepts: Sequence[tuple[float, float]], pin: float | None
) -> None:
    sheet = spec_sheet.Sheet(CARD)
    judged = step.verdicts[index]
    own = step.added.uniform if step.added and not judged.accepted else None
    spec_coin.bar(sheet, judged, own)
    wide = CARD.width - 2
    boxes = [t for t in sheet.data if t["type"] == "bar"]
    found = [((a - 1) / wide, (a + x) / wide) for t in boxes for a, x in zip(t["base"], t["x"], strict=True)]
    assert [low for low, _ in found] == pytest.approx([low for low, _ in accepts], abs=1e-6)
    assert [high for _, high in found] == pytest.approx([high for _, high in accepts], abs=2 / wide)
    lines = [t["x"][0] for t in sheet.data if t.get("mode") == "lines" and t["line"]["width"] == 2.5]
    assert [(x - 1) / wide for x in lines] == ([] if pin is None else [pytest.approx(pin)])
    if pin is not None:
        assert any(low <= pin < high for low, high in accepts) == judged.accepted


@EACH_VIEW
@EACH_RUN
def test_the_words_of_the_bar_do_not_touch(steps: Steps, view: View) -> None:
    for step, index in every_chip(steps):
        if (judged := chips(step)[index].verdict) is None:
            continue
        sheet = spec_sheet.Sheet(view)
        spec_coin.bar(sheet, judged)
        below = [
            (x, text)
            for t in sheet.data
            if t.get("mode") == "text"
            for x, y, text in zip(t["x"], t["y"], t["text"], strict=True)
            if y == spec_coin.BELOW
        ]
        spans = sorted(
            (x - 7.4 * len(html.unescape(text)) / 2, x + 7.4 * len(html.unescape(text)) / 2) for x, text in below
        )
        assert all(first[1] <= second[0] + 1 for first, second in itertools.pairwise(spans))
        assert all(low >= -1 and high <= view.width + 1 for low, high in spans)


@EACH_VIEW
@EACH_RUN
def test_every_picture_is_one_that_plotly_takes(steps: Steps, view: View) -> None:
    for step, index in every_chip(steps):
        figure = spec_verdict.verdict(step, index, view)
        assert (figure is None) == (fates(step)[index] == "unread")
        if figure is not None:
            go.Figure({k: figure[k] for k in ("data", "layout")})
            orjson.dumps(figure)
            words = [text for trace in figure["data"] if trace.get("mode") == "text" for text in trace["text"]]
            assert all(words) and not any("<img" in word or "$x$" in word or "{{" in word for word in words)
            assert min(t["textfont"]["size"] for t in figure["data"] if t.get("mode") == "text") >= 12
        title, text = spec_verdict.verdict_caption(step, index, view).values()
        assert title and text and "{" not in (title + text).replace("{{7*7}}", "")


def test_the_token_drawn_is_always_listed() -> None:
    law = made.law({**{f"w{i}": 0.0999 for i in range(10)}, " rare": 0.001})
    shown, left = spec_sheet.listed(law, made.token(" rare").id, 5)
    assert len(shown) == 5 and shown[-1].token.text == " rare" and left == 6


@pytest.mark.parametrize(
    ("prob", "told"),
    [
        *((0.0, "0"), (1e-9, "1.0×10⁻⁹"), (0.0016, "0.0016"), (0.09, "0.09"), (0.0996, "0.10"), (0.314, "0.31")),
        *((0.9951, "0.995"), (0.99999, "> 0.999"), (1.0, "1")),
    ],
)
def test_a_chance_is_never_rounded_to_certainty(prob: float, told: str) -> None:
    assert spec_sheet.chance(prob) == told


# --- the progress ----------------------------------------------------------------------------------


def test_the_line_counts_tokens_after_each_pass() -> None:
    figure = spec_progress.progress(made.SKETCH, CARD, 3)
    plain, drafted = (t for t in figure["data"] if t.get("mode") == "lines")
    assert drafted["y"][:4] == [0, 5, 7, 11] and drafted["x"][:4] == [0, 1, 2, 3]
    assert plain["y"][:2] == [0, 3] and {"11 with drafts", "3 without drafts"} <= set(labels(figure))
    caption = spec_progress.progress_caption(made.SKETCH, CARD)
    assert caption["title"] == "3.67 tokens per target pass"
    assert "take 11 passes of the target: 8 more" in caption["text"]


@EACH_VIEW
@EACH_RUN
def test_the_two_ends_of_the_lines_have_room(steps: Steps, view: View) -> None:
    figure = spec_progress.progress(steps, view, len(steps) + 3)
    go.Figure({k: figure[k] for k in ("data", "layout")})
    first, second = (t for t in figure["data"] if t.get("mode") == "text" and t["x"][0] > 0)
    low, high = figure["layout"]["yaxis"]["range"]
    inner = spec_progress.HEIGHT - spec_progress.TOP - spec_progress.BOTTOM
    assert abs(first["y"][0] - second["y"][0]) * inner / (high - low) >= 12
    assert figure["layout"]["xaxis"]["range"][1] > len(steps) + 3


@pytest.mark.parametrize("most", [1, 3, 11, 60, 400, 4000])
def test_ticks_are_few_and_round(most: int) -> None:
    assert 1 < len(spec_progress.places(most)) <= 6


# --- the counts ------------------------------------------------------------------------------------


def test_the_counts_of_the_sketch() -> None:
    found = counts(made.SKETCH)
    assert (found.emitted, found.target_passes, found.draft_passes) == (11, 3, 12)
    assert (found.drafted, found.judged, found.accepted) == (12, 10, 8)
    assert (found.tau, found.accepted_share, found.acceptance) == pytest.approx((11 / 3, 8 / 12, 0.8))


def test_nothing_drafted_has_no_share() -> None:
    none = counts((made.NOTHING,))
    assert (none.tau, none.accepted_share, none.acceptance) == (1.0, None, None)
    assert counts(()).tau == 0
