"""What the laboratory's figures show, read from their dicts: marks, numbers, words and places; no browser."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.experiments import alias_build, gumbel, laws, play, tally
from decoding.experiments.cost_values import CostCurve, CostPoint, CostTable
from decoding.experiments.values import Fit, Law
from decoding.trace import Token
from tests import figure_steps
from visualizations.figures import (
    lab_alias_build,
    lab_convergence,
    lab_cost,
    lab_frozen,
    lab_loglog,
    lab_marks,
    lab_play,
    lab_play_direct,
    lab_race,
    lab_race_first,
    lab_tally,
    lab_topk,
    lab_words,
    style,
)
from visualizations.figures.style import View
from visualizations.text import LANGS, Text
from visualizations.text.lab import LAB

EN, ZH = Text("en"), Text("zh")
LIGHT = View(EN, "light", 560)

ZIPF, ZEROS, SPIKE = laws.preset("zipf", 6), laws.preset("zeros", 7), laws.preset("spike", 10)
MANY = laws.preset("zipf", 50)
WORDS = [" they", " it", " internationalization", "雨天", "😊", "\n", "…"]
MODEL = Law(
    "model", tuple(Token(i, text) for i, text in enumerate(WORDS)), (0.42, 0.21, 0.13, 0.08, 0.05, 0.03, 0.08), 49_146
)
ONE = Law("model", (Token(0, " the"),), (1.0,))
LAWS = {"one": ONE, "zipf": ZIPF, "zeros": ZEROS, "spike": SPIKE, "many": MANY, "model": MODEL}
UNIFORMS = [0.62, 0.8, 0.9, 0.35, 0.05, 0.97] * 10
PLAYS = {(name, sampler): play.play(sampler, law, UNIFORMS) for name, law in LAWS.items() for sampler in play.PLAYS}


def cost_curve(algorithm: str, bound: str, of: Callable[[int, int], float], sizes: list[tuple[int, int]]) -> CostCurve:
    counted = algorithm != "multinomial"
    values = [of(k, n) for k, n in sizes]
    points = tuple(
        CostPoint(algorithm, k, n, 0 if counted else None, round(v) if counted else None, n, 2e-5 + v * 1e-8, n)
        for (k, n), v in zip(sizes, values, strict=True)
    )
    return CostCurve(algorithm, points, bound, 1.0 if bound else 0.0, tuple(values) if bound else (), 1e-8)


def cost_curves(sizes: list[tuple[int, int]]) -> tuple[CostCurve, ...]:
    return (
        cost_curve("direct", "n k", lambda k, n: n * k / 2, sizes),
        cost_curve("binary", "k + n log2 k", lambda k, n: k + n * math.log2(k), sizes),
        cost_curve("alias", "k + n", lambda k, n: 2 * k + 2 * n, sizes),
        cost_curve("alias_sorted", "k log2 k + n", lambda k, n: k * math.log2(k) + n, sizes),
        cost_curve("gumbel", "n k", lambda k, n: n * k, sizes),
        cost_curve("multinomial", "", lambda k, n: k + n, sizes),
    )


SIZES = [10, 100, 1_000, 10_000, 100_000]
COST = CostTable(
    law="random",
    fixed_draws=1_000,
    fixed_items=1_000,
    against_items=cost_curves([(k, 1_000) for k in SIZES]),
    against_draws=cost_curves([(1_000, n) for n in [1, *SIZES]]),
    machine="a test",
    threads=1,
    versions={},
)
SAMPLERS = ["direct", "binary", "alias", "gumbel", "multinomial"]
TALLIES = {name: tally.sample("alias", law, 1_000, 1) for name, law in LAWS.items()}
CURVES = tally.converge(ZIPF, SAMPLERS, 10_000, 3)
BUILDS = {name: alias_build.build(law) for name, law in LAWS.items()}
FROZEN = gumbel.frozen(MODEL, 500, 5)
TOP2, TOP3 = gumbel.top_k(ZIPF, 2, 2_000, 1), gumbel.top_k(MODEL, 3, 2_000, 1)
RACE, RUNNERS = gumbel.race((1.0, 2.0, 0.5), 2_000, 4), gumbel.race((1, 2, 0.5, 0.1, 3, 0, 1), 2_000, 4)

Made = Callable[[View], dict[str, Any]]


def figures() -> Iterator[tuple[str, Made, Made]]:
    """Every picture, and its caption."""
    for (name, sampler), made in PLAYS.items():
        last = lab_play.play_length(made) - 1
        for moment in sorted({0, 1, last // 2, last}):
            args = (made, LAWS[name])
            yield (
                f"play {sampler} {name} {moment}",
                lambda view, args=args, moment=moment: lab_play.lab_play(*args, view, moment),
                lambda view, args=args, moment=moment: lab_play.lab_play_caption(*args, view, moment),
            )
    for name, build in BUILDS.items():
        for state in sorted({0, 1, len(build.states) // 2, len(build.states) - 1}):
            args = (build, state)
            yield (
                f"build {name} {state}",
                lambda view, args=args: lab_alias_build.lab_alias_build(args[0], view, args[1]),
                lambda view, args=args: lab_alias_build.lab_alias_build_caption(args[0], view, args[1]),
            )
    for name, found in TALLIES.items():
        yield (
            f"tally {name}",
            lambda view, found=found: lab_tally.lab_tally(found, view),
            lambda view, found=found: lab_tally.lab_tally_caption(found, view),
        )
    for against, what in itertools.product(("k", "n"), ("operations", "seconds")):
        args = (against, what)
        yield (
            f"cost {against} {what}",
            lambda view, args=args: lab_cost.lab_cost(COST, view, *args),
            lambda view, args=args: lab_cost.lab_cost_caption(COST, view, *args),
        )
    yield from _others()


def _others() -> Iterator[tuple[str, Made, Made]]:
    yield (
        "convergence",
        lambda view: lab_convergence.lab_convergence(CURVES, view),
        lambda view: lab_convergence.lab_convergence_caption(CURVES, view),
    )
    yield (
        "frozen",
        lambda view: lab_frozen.lab_frozen(FROZEN, view),
        lambda view: lab_frozen.lab_frozen_caption(FROZEN, view),
    )
    for name, topk in {"2": TOP2, "3": TOP3}.items():
        for show in ("orders", "items"):
            args = (topk, show)
            yield (
                f"topk {name} {show}",
                lambda view, args=args: lab_topk.lab_topk(args[0], view, args[1]),
                lambda view, args=args: lab_topk.lab_topk_caption(args[0], view, args[1]),
            )
    for name, race in {"three": RACE, "seven": RUNNERS}.items():
        yield (
            f"race {name}",
            lambda view, race=race: lab_race.lab_race(race, view),
            lambda view, race=race: lab_race.lab_race_caption(race, view),
        )
        for what in ("first", "best"):
            args = (race, what)
            yield (
                f"race {what} {name}",
                lambda view, args=args: lab_race_first.lab_race_first(args[0], view, args[1]),
                lambda view, args=args: lab_race_first.lab_race_first_caption(args[0], view, args[1]),
            )


FIGURES = {name: (figure, caption) for name, figure, caption in figures()}
EACH = pytest.mark.parametrize("name", FIGURES)


def views(*widths: int) -> Iterator[View]:
    """Every language at these widths."""
    return (View(Text(lang), "light", width) for lang, width in itertools.product(LANGS, widths))


def strings(value: Any) -> Iterator[str]:
    """Every string in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from strings(each)


def labels(figure: dict[str, Any]) -> list[str]:
    """Every text drawn by a text trace, and every note of the layout."""
    drawn = [text for trace in figure["data"] if trace.get("mode") == "text" for text in trace["text"]]
    return drawn + [note["text"] for note in figure["layout"].get("annotations", ())]


def bare(text: str) -> str:
    """A label without its marks."""
    return html.unescape(re.sub(r"</?[bs]>", "", text)).replace("\u00a0", " ")


Box = tuple[float, float, float, float, str]


def boxes(figure: dict[str, Any], width: int) -> list[Box]:
    """Where every drawn text is, px from the top left corner: left, top, right, bottom, text."""
    found = []
    for trace in figure["data"]:
        if trace.get("mode") != "text":
            continue
        size, mono = trace["textfont"]["size"], "monospace" in trace["textfont"]["family"]
        x_at, y_at = (place(figure, trace, letter, width) for letter in "xy")
        for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
            wide = style.cells(bare(text)) * size * (0.602 if mono else 0.55)
            shift = {"right": 0.0, "center": 0.5, "left": 1.0}[trace["textposition"].split()[1]]
            left, middle = x_at(x) - shift * wide, y_at(y)
            found.append((left, middle - size / 2, left + wide, middle + size / 2, text))
    return found


def place(figure: dict[str, Any], trace: dict[str, Any], letter: str, width: int) -> Callable[[float], float]:
    """From a trace's x (or y) to px."""
    layout = figure["layout"]
    axis = layout[{"x": "xaxis", "y": "yaxis"}[letter] + trace.get(f"{letter}axis", letter)[1:]]
    margin, (low, high) = layout["margin"], axis["range"]
    first, last = ("l", "r") if letter == "x" else ("b", "t")
    whole = (width if letter == "x" else layout["height"]) - margin[first] - margin[last]
    start, end = (margin[first] + whole * d for d in axis.get("domain", [0, 1]))

    def at(value: float) -> float:
        px = start + (end - start) * (value - low) / (high - low)
        return px if letter == "x" else layout["height"] - px

    return at


# --- every figure ----------------------------------------------------------------------------------


@EACH
def test_plotly_accepts_it_and_it_is_plain_json(name: str) -> None:
    for view in (View(EN, "dark", 340), View(ZH, "light", 900)):
        figure = FIGURES[name][0](view)
        assert set(figure) == {"data", "layout"}
        go.Figure(figure)
        assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))
        assert all(axis["fixedrange"] for key, axis in figure["layout"].items() if key[1:5] == "axis")


@EACH
def test_no_text_is_small_or_lies_on_another_or_leaves_the_figure(name: str) -> None:
    for view in views(340, 450, 560, 900):
        figure = FIGURES[name][0](view)
        found = boxes(figure, view.width)
        for left, top, right, bottom, text in found:
            assert left >= -1 and right <= view.width + 1, (view.width, text, left, right)
            assert top >= -2 and bottom <= figure["layout"]["height"] + 2, (view.width, text)
        for one, two in itertools.combinations(found, 2):
            across = min(one[2], two[2]) - max(one[0], two[0])
            down = min(one[3], two[3]) - max(one[1], two[1])
            assert across <= 1 or down <= 1, (view.width, one, two)
    sizes = re.findall(r'"(?:text|tick)?font": {[^}]*"size": (\d+)', json.dumps(figure))
    assert sizes and min(map(int, sizes)) >= 12


@EACH
def test_both_languages_are_complete(name: str) -> None:
    make, say = FIGURES[name]
    english, chinese = make(View(EN, "light", 560)), make(View(ZH, "light", 560))
    assert len(english["data"]) == len(chinese["data"])
    words = [
        label
        for label in labels(chinese)
        if re.search(r"[a-z]{4}", re.sub(r"they|inter\w*|logit|torch\S+|Gumbel", "", label))
    ]
    assert not words, words
    for view in (LIGHT, View(ZH, "light", 560)):
        caption = say(view)
        assert caption["title"] and len(caption["text"]) > 20
        assert not re.search(r"[{}]|<b>|&lt;|None|nan|inf\b", caption["title"] + caption["text"])
    assert re.search(r"[\u4e00-\u9fff]", caption["text"]) and "。 " not in caption["text"]


@EACH
def test_it_takes_its_colours_from_the_theme(name: str) -> None:
    used = set(strings(FIGURES[name][0](View(EN, "dark", 560))))
    light_only = set(style.COLORS["light"].values()) - set(style.COLORS["dark"].values())
    assert not used & light_only


@pytest.mark.parametrize("text", figure_steps.NASTY)
def test_item_names_are_literal_everywhere(text: str) -> None:
    law = Law("typed", tuple(Token(i, text) for i in range(4)), (0.4, 0.3, 0.2, 0.1))
    view = View(EN, "light", 900)
    made = []
    for sampler in play.PLAYS:
        one = play.play(sampler, law, UNIFORMS)
        made += [lab_play.lab_play(one, law, view, moment) for moment in range(lab_play.play_length(one))]
        assert style.visible(text)[:20] in lab_play.lab_play_caption(one, law, view, 99)["text"]
    build = alias_build.build(law)
    made += [lab_alias_build.lab_alias_build(build, view, state) for state in range(len(build.states))]
    made.append(lab_tally.lab_tally(tally.sample("direct", law, 100, 1), view))
    made.append(lab_frozen.lab_frozen(gumbel.frozen(law, 100, 1), view))
    topk = gumbel.top_k(law, 2, 100, 1)
    made += [lab_topk.lab_topk(topk, view, show) for show in ("orders", "items")]
    three = Law("typed", law.items[:3], RACE.wins.law.probs)
    race = replace(RACE, wins=replace(RACE.wins, law=three))
    made += [lab_race.lab_race(race, view), lab_race_first.lab_race_first(race, view)]
    marks = ["<b>", "</b>", "<br>", "<extra></extra>", "%{hovertext}"]
    for found in (s for figure in made for s in strings(figure)):
        for mark in marks:
            found = found.replace(mark, "")
        assert not set("<>${}") & set(found), found
    names = [bare(label) for label in labels(made[-1])]
    assert style.short(style.visible(text), 15) in names


@pytest.mark.parametrize("key", LAB)
def test_words_hold_no_marks(key: str) -> None:
    assert not set("<>&$") & set("".join(LAB[key]).replace("<br>", ""))


def test_many_tokens_are_one_item_in_words() -> None:
    assert lab_marks.plain(MODEL, 6, LIGHT) == "49,146 others" == lab_marks.said(MODEL, 6, LIGHT)
    assert lab_marks.item(MODEL, 6, 4, LIGHT) == "⋯" and lab_marks.item(MODEL, 2, 8, LIGHT) == "␣intern…"
    assert lab_marks.said(MODEL, 0, LIGHT) == "“␣they”" and lab_marks.columns(ZIPF, 9, LIGHT) == 1


# --- one slow draw ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "sampler"), PLAYS)
def test_all_moments_of_a_draw_have_one_height_and_the_last_shows_the_item(name: str, sampler: str) -> None:
    made, law = PLAYS[name, sampler], LAWS[name]
    count = lab_play.play_length(made)
    shown = [lab_play.lab_play(made, law, LIGHT, moment) for moment in range(count)]
    assert len({figure["layout"]["height"] for figure in shown}) == 1
    assert len({len(figure["data"]) for figure in shown}) == 1
    assert lab_play.lab_play(made, law, LIGHT, 999) == shown[-1] and lab_play.lab_play(made, law, LIGHT, -3) == shown[0]
    drawn = lab_marks.said(law, made.chosen, LIGHT)
    last = lab_play.lab_play_caption(made, law, LIGHT, count - 1)
    assert drawn in last["text"]
    if count == 1:
        assert last["title"] == "Binary search · no step is needed"
        return
    assert last["title"].endswith(f"step {count - 1} of {count - 1}")
    assert "before the first" in lab_play.lab_play_caption(made, law, LIGHT, 0)["title"]
    assert any("▸" in label for label in labels(shown[-1]))


def test_another_draw_of_the_same_law_is_as_high() -> None:
    for sampler in play.PLAYS:
        heights = {
            lab_play.lab_play(play.play(sampler, ZIPF, [u] * 10), ZIPF, LIGHT, 1)["layout"]["height"]
            for u in (0.01, 0.5, 0.99)
        }
        assert len(heights) == 1


def bar_boxes(figure: dict[str, Any], color: str) -> list[tuple[float, float, float, float]]:
    """The solid blocks of one colour: x0, y0, x1, y1."""
    found = []
    for trace in figure["data"]:
        if trace["type"] == "bar" and trace["marker"]["color"] == color:
            widths = trace["width"]
            for x, y, base, width in zip(trace["x"], trace["y"], trace["base"], widths, strict=True):
                found.append((base, y - width / 2, base + x, y + width / 2))
    return found


def test_a_scan_marks_what_was_looked_at_and_names_each_sum() -> None:
    made = play.play("direct", ZIPF, [0.5])
    assert made.chosen == 1 and [step.passed for step in made.steps] == [False, True]
    first, last = (lab_play.lab_play(made, ZIPF, LIGHT, moment) for moment in (1, 2))
    assert "<b>0.41 ≤ u →</b>" in map(html.unescape, labels(first)) and "–" in labels(first)
    assert "<b>0.61" not in " ".join(labels(first))
    (chosen,) = bar_boxes(last, LIGHT.color("kept"))
    pin = next(t for t in last["data"] if t.get("mode") == "lines" and t["line"]["width"] == 2 and len(t["x"]) == 3)
    assert chosen[0] <= pin["x"][0] <= chosen[2]


def play_at(name: str, sampler: str, moment: int) -> dict[str, Any]:
    return lab_play.lab_play(PLAYS[name, sampler], LAWS[name], LIGHT, moment)


def test_a_sum_near_u_is_written_out_until_it_differs() -> None:
    made = play.play("direct", ZIPF, [ZIPF.probs[0] + 1e-4])
    said = lab_play.lab_play_caption(made, ZIPF, LIGHT, 1)["text"]
    assert "0.4082" in said and "0.4083" in said


def test_the_window_of_a_long_scan_follows_it() -> None:
    for count, moment in itertools.product((3, 12, 13, 50), range(51)):
        if moment > count:
            continue
        before, shown, after = lab_play_direct.window(count, moment)
        assert before + len(shown) + after == count and shown.start == before
        assert len(shown) + bool(before) + bool(after) == min(count, lab_play_direct.MOST)
        assert not moment or moment - 1 in shown


def test_a_search_halves_and_says_which_way_it_went() -> None:
    made = play.play("binary", ZIPF, [0.62])
    probes = made.draw.probes
    for moment in range(1, len(probes) + 1):
        figure = lab_play.lab_play(made, ZIPF, LIGHT, moment)
        rows = [html.unescape(label) for label in labels(figure) if "u ←" in label or "u →" in label]
        assert len(rows) == moment
        assert ("←" in rows[-1]) == probes[moment - 1].went_left
    assert "left" in lab_play.lab_play_caption(made, ZIPF, LIGHT, 1)["text"]
    (column,) = bar_boxes(lab_play.lab_play(made, ZIPF, LIGHT, 99), LIGHT.color("kept"))
    assert math.isclose((column[3] - column[1]) / 130, made.sums[made.chosen])


def test_the_parts_of_an_alias_table_add_up_to_the_law() -> None:
    for name in ("zipf", "zeros", "spike", "model"):
        made, law = PLAYS[name, "alias"], LAWS[name]
        figure = lab_play.lab_play(made, law, LIGHT, 0)
        own, other = (t for t in figure["data"] if t["type"] == "bar" and len(t["x"]) > 1)
        mass = [width / 140 / len(law.items) for width in own["width"]]
        column = {round(base): i for i, base in enumerate(own["base"])}
        for base, width in zip(other["base"], other["width"], strict=True):
            mass[made.others[column[round(base)]]] += width / 140 / len(law.items)
        assert mass == pytest.approx(law.probs, abs=1e-9)


def test_alias_goes_from_column_to_coin_to_item() -> None:
    shown = [lab_play.lab_play(PLAYS["zipf", "alias"], ZIPF, LIGHT, moment) for moment in range(4)]
    has = [[any(word in label for label in labels(figure)) for word in ("u = ", "coin", "▸")] for figure in shown]
    assert has == [[False, False, False], [True, False, False], [True, True, False], [True, True, True]]


def test_scores_appear_one_by_one_and_the_leader_is_marked() -> None:
    made = PLAYS["zipf", "gumbel"]
    for moment in range(7):
        figure = lab_play.lab_play(made, ZIPF, LIGHT, moment)
        done = [
            label for label in labels(figure) if "=" in bare(label) and "noise" not in label and "logit" not in label
        ]
        assert len(done) == moment
        marked = [bare(label) for label in labels(figure) if label.startswith("▸")]
        leader = made.steps[moment - 1].leader if moment else None
        assert marked == ([f"▸ {ZIPF.items[leader].text}"] if leader is not None else [])


def test_an_item_of_probability_zero_never_scores() -> None:
    assert labels(play_at("zeros", "gumbel", 99)).count("never") == 3
    said = lab_play.lab_play_caption(PLAYS["zeros", "gumbel"], ZEROS, LIGHT, 1)["text"]
    assert said.startswith("“A” has probability 0")


# --- many draws ------------------------------------------------------------------------------------


def test_bars_are_shares_and_marks_are_the_law() -> None:
    found = TALLIES["model"]
    figure = lab_tally.lab_tally(found, LIGHT)
    solid = next(t for t in figure["data"] if t["type"] == "bar" and "customdata" in t)
    hatched = next(t for t in figure["data"] if t["type"] == "bar" and "pattern" in t["marker"])
    assert solid["x"] + hatched["x"] == [count / 1_000 for count in found.counts]
    marks = next(t for t in figure["data"] if t.get("mode") == "lines" and "customdata" in t)
    assert marks["x"][::3] == list(found.law.probs)
    assert any(str(found.counts[0]) in label for label in labels(figure))


def test_tallies_share_a_scale_that_holds_them_all() -> None:
    few, many = tally.sample("direct", ZIPF, 10, 1), tally.sample("direct", ZIPF, 10_000, 1)
    scale = lab_tally.tally_scale(few, many)
    assert scale >= max(max(few.counts) / 10, max(ZIPF.probs)) and scale <= 1
    shown = [lab_tally.lab_tally(each, LIGHT, scale)["layout"] for each in (few, many)]
    assert shown[0]["xaxis"] == shown[1]["xaxis"] and shown[0]["height"] == shown[1]["height"]


@pytest.mark.parametrize(
    ("p_value", "words"),
    [
        *((0.43, "in 43 of 100 runs"), (0.0061, "in 61 of 10,000 runs"), (0.0004, "in 4 of 10,000 runs")),
        *((1.0, "in nearly every run"), (0.0, "in fewer than 1 of 10,000 runs"), (0.5049, "in 50 of 100 runs")),
    ],
)
def test_a_p_value_in_plain_words(p_value: float, words: str) -> None:
    assert lab_words.in_runs(p_value, LIGHT) == words


def test_a_test_says_fair_or_not_or_nothing() -> None:
    said = [
        " ".join(lab_words.fit_sentences(fit, LIGHT))
        for fit in (Fit(5.9, 6, 0.43, 0), Fit(99.0, 6, 1e-9, 3), Fit(None, 3, 0.0, 0), Fit(0.0, 0, 1.0, 4))
    ]
    assert said[0].startswith("A fair sampler looks at least this far off in 43 of 100 runs")
    assert "hardly one" in said[1] and "3 items" in said[1]
    assert "probability 0" in said[2] and "too few" in said[3]


def test_a_tally_caption_has_count_test_and_distance() -> None:
    found = tally.sample("gumbel", ZIPF, 1_000, 2)
    caption = lab_tally.lab_tally_caption(found, LIGHT)
    assert caption["title"] == "Gumbel-max · 1,000 draws"
    first, *_ = caption["text"].split(". ")
    assert first.startswith(f"“A” came {found.counts[0]} times in 1,000 draws; 408 are expected")
    assert style.percent(found.total_variation).replace(" ", "\u00a0") in caption["text"]


@pytest.mark.parametrize("width", [340, 560, 900])
def test_curves_differ_by_dash_and_marker_and_end_beside_their_names(width: int) -> None:
    view = View(EN, "light", width)
    figure = lab_convergence.lab_convergence(CURVES, view)
    curves = [t for t in figure["data"] if "name" in t]
    assert len(curves) == 6 and len({t["line"]["dash"] for t in curves[1:]}) == 5
    assert len({t["marker"]["symbol"] for t in curves[1:]}) == 5
    expected, direct, binary = curves[:3]
    assert expected["y"] == list(CURVES.expected) and direct["y"] == binary["y"]
    assert any("/√n" in label for label in labels(figure))
    assert (
        "Direct scan, Binary search and torch.multinomial turn"
        in lab_convergence.lab_convergence_caption(CURVES, view)["text"]
    )


def test_a_distance_of_zero_leaves_a_gap() -> None:
    curves = replace(CURVES, curves=(replace(CURVES.curves[0], total_variation=(0.0,) * len(CURVES.draws)),))
    figure = lab_convergence.lab_convergence(curves, LIGHT)
    go.Figure(figure)
    assert set(figure["data"][1]["y"]) == {None}


def test_one_item_alone_breaks_nothing() -> None:
    for make in (
        lambda view: lab_convergence.lab_convergence(tally.converge(ONE, SAMPLERS, 100, 1), view),
        lambda view: lab_convergence.lab_convergence_caption(tally.converge(ONE, SAMPLERS, 100, 1), view),
        lambda view: lab_frozen.lab_frozen(gumbel.frozen(ONE, 10, 1), view),
        lambda view: lab_topk.lab_topk(gumbel.top_k(ONE, 1, 10, 1), view),
        lambda view: lab_race.lab_race(gumbel.race((1.0, 0.0, 0.0), 100, 1), view),
        lambda view: lab_race_first.lab_race_first(gumbel.race((1.0, 0.0, 0.0), 100, 1), view),
        lambda view: lab_race_first.lab_race_first_caption(gumbel.race((1.0, 0.0, 0.0), 100, 1), view),
    ):
        assert make(LIGHT)


def test_decades_in_words() -> None:
    assert [lab_loglog.decade(p) for p in (0, 3, 5, 6, 12)] == ["1", "1,000", "100,000", "10⁶", "10¹²"]
    assert [lab_convergence.percent_decade(p) for p in (0, -1, -2, -3)] == ["100 %", "10 %", "1 %", "0.1 %"]
    assert [lab_cost.seconds_decade(p) for p in (1, 0, -1, -5, -7)] == ["10 s", "1 s", "100 ms", "10 µs", "100 ns"]
    assert [lab_cost.seconds(s) for s in (1.234, 0.0456, 7.89e-4)] == ["1.23 s", "45.6 ms", "789 µs"]


# --- cost ------------------------------------------------------------------------------------------


def test_the_strip_says_what_to_use_for_one_draw_and_for_many() -> None:
    best = lab_cost.cheapest(list(COST.against_draws), "operations")
    assert best == ["direct", "binary", "binary", "alias", "alias", "alias"]
    found = lab_cost.stretches(best, [1, *SIZES], (0.9, 110_000))
    assert [name for name, _, _ in found] == ["direct", "binary", "alias"]
    assert found[0][1:] == (0.9, math.sqrt(10)) and found[-1][2] == 110_000
    assert all(a[2] == b[1] for a, b in itertools.pairwise(found))
    for width in (340, 560, 900):
        figure = lab_cost.lab_cost(COST, View(EN, "light", width))
        notes = [note["text"] for note in figure["layout"]["annotations"]]
        assert {"Direct scan", "Binary search", "Alias table"} <= set(notes)
        above = [note for note in figure["layout"]["annotations"] if note["xanchor"] == "left" and note["yshift"] > 50]
        ends = [(note["x"] * (width - lab_loglog.LEFT), style.text_px(note["text"])) for note in above]
        assert all(x + wide <= after for (x, wide), (after, _) in itertools.pairwise(ends))
        assert all(x + wide <= width - lab_loglog.LEFT for x, wide in ends)
    said = lab_cost.lab_cost_caption(COST, LIGHT)["text"]
    assert said.startswith("Direct scan is cheapest for 1 draw from 1,000 items: 500 operations.")
    assert "Alias table is cheapest for 100,000 draws" in said and "495 times" in said


def test_every_curve_has_its_bound_and_its_line() -> None:
    for against, what in itertools.product(("k", "n"), ("operations", "seconds")):
        figure = lab_cost.lab_cost(COST, LIGHT, against, what)
        bounds = [label for label in labels(figure) if label.startswith("O(")]
        assert sorted(bounds) == ["O(k + n log k)", "O(k + n)", "O(k log k + n)", "O(n k)", "O(n k)"]
        theory = [t for t in figure["data"] if t.get("name", "").startswith("O(")]
        assert len(theory) == 5 and {t["line"]["width"] for t in theory} == {1.2}
        named = {t["name"] for t in figure["data"] if "name" in t and t["mode"] == "lines+markers"}
        assert ("torch.multinomial" in named) == (what == "seconds")
    alias = next(t for t in figure["data"] if t.get("name") == "Alias table")
    assert alias["y"] == [p.seconds for p in COST.against_draws[2].points]
    assert alias["hovertext"][0].startswith("Alias table<br>k = 1,000, n = 1<br>")


# --- the table being built -------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_all_states_of_a_table_have_one_height_and_mass_is_kept(name: str) -> None:
    build, law = BUILDS[name], LAWS[name]
    shown = [lab_alias_build.lab_alias_build(build, LIGHT, state) for state in range(len(build.states))]
    assert len({(f["layout"]["height"], len(f["data"])) for f in shown}) == 1
    assert lab_alias_build.lab_alias_build(build, LIGHT, 999) == shown[-1]
    if max(build.states[0].mass) > lab_alias_build.MOST:
        return
    for figure in shown:
        solid = [t for t in figure["data"] if t["type"] == "bar"][:3]  # own, given, given just now
        area = sum(sum(t["width"]) for t in solid) / lab_alias_build.UNIT
        assert math.isclose(area, len(law.items), abs_tol=1e-6)


def test_a_move_says_who_gives_how_much_to_whom() -> None:
    build = BUILDS["zipf"]
    for state, move in enumerate(build.moves, start=1):
        figure = lab_alias_build.lab_alias_build(build, LIGHT, state)
        needy, donor = (ZIPF.items[i].text for i in (move.needy, move.donor))
        assert f"{donor} gives {move.taken:.2f} to {needy}" in labels(figure)
        (fresh,) = bar_boxes(figure, LIGHT.color("kept"))
        assert math.isclose((fresh[3] - fresh[1]) / lab_alias_build.UNIT, move.taken)
        caption = lab_alias_build.lab_alias_build_caption(build, LIGHT, state)["text"]
        assert caption.startswith(f"“{needy}” fills its column only up to {move.threshold:.2f}")
    assert "1.000000" not in caption
    last = lab_alias_build.lab_alias_build_caption(build, LIGHT, 99)["text"]
    assert f"{len(build.moves)} moves" in last and "O(k)" in last


def test_the_stacks_show_their_top_and_count_what_has_no_room() -> None:
    build = BUILDS["many"]
    words = lab_alias_build.stack_words(build, build.states[0].small, LIGHT, 30)
    names = [bare(part) for part in words.split(" · ")]
    assert names[-1] == f"{MANY.items[build.states[0].small[-1]].text} ◂" and words.endswith("</b>")
    assert int(names[0].removeprefix("⋯ ")) + len(names) - 1 == len(build.states[0].small)
    assert style.cells(bare(words)) <= 30
    assert lab_alias_build.stack_words(build, (), LIGHT, 30) == "–"


# --- Gumbel-max ------------------------------------------------------------------------------------


def test_frozen_noise_gives_one_item_for_ever() -> None:
    for view in (LIGHT, View(EN, "light", 340)):
        found = [bare(label) for label in labels(lab_frozen.lab_frozen(FROZEN, view))]
        assert found.count("100 %") == 1 and found.count("0 %") >= len(MODEL.items) - 1
        assert "✓ fresh noise" in found and "✕ frozen noise" in found
    said = lab_frozen.lab_frozen_caption(FROZEN, LIGHT)["text"]
    assert lab_marks.said(MODEL, FROZEN.winner, LIGHT) in said and "all 500 draws" in said


def test_orders_and_their_rest_are_all_draws() -> None:
    figure = lab_topk.lab_topk(TOP2, LIGHT, top_n=5)
    found = [bare(label) for label in labels(figure)]
    assert "A → B" in found and f"{len(TOP2.orders) - 5} other orders" in found
    rest = 1 - sum(order.count for order in TOP2.orders[:5]) / TOP2.draws
    assert style.percent(rest) in found
    bars = next(t for t in figure["data"] if t["type"] == "bar" and "customdata" in t)
    assert bars["x"] == [order.count / TOP2.draws for order in TOP2.orders[:5]]
    assert figure["layout"]["meta"]["x_max"] < rest  # the rest is cut short: the orders are what is compared


def test_inclusion_is_counted_over_exact() -> None:
    figure = lab_topk.lab_topk(TOP2, LIGHT, "items")
    bars = next(t for t in figure["data"] if t["type"] == "bar" and "customdata" in t)
    marks = next(t for t in figure["data"] if t.get("mode") == "lines" and "customdata" in t)
    assert bars["x"] == [count / TOP2.draws for count in TOP2.included]
    assert marks["x"][::3] == list(TOP2.inclusion)


def test_the_first_to_arrive_is_marked_and_the_weightless_never_comes() -> None:
    figure = lab_race.lab_race(RUNNERS, LIGHT)
    found = labels(figure)
    winner = RUNNERS.example[RUNNERS.winner]
    assert f"<b>{winner.time:.3f}</b>" in found and found.count("never") == 1
    assert f"▸ <b>{RUNNERS.wins.law.items[RUNNERS.winner].text}</b>" in found
    dots = [t for t in figure["data"] if t.get("mode") == "markers"]
    kept = next(t for t in dots if t["marker"]["color"] == LIGHT.color("kept"))
    others = next(t for t in dots if t["marker"]["color"] == LIGHT.color("soft"))
    assert len(kept["x"]) == 1 and kept["x"][0] <= min(others["x"]) and len(others["x"]) == 5
    said = lab_race.lab_race_caption(RACE, LIGHT)["text"]
    assert "of 3.5" in said and "arrived first" in said


def test_late_arrivals_do_not_squeeze_the_others() -> None:
    assert lab_race.horizon([0.1, 0.2, 50.0]) == pytest.approx(0.6 * 1.04)
    assert lab_race.horizon([0.1, None]) == pytest.approx(0.1 * 1.04)


@pytest.mark.parametrize("what", ["first", "best"])
def test_the_histogram_and_its_law_share_a_scale(what: str) -> None:
    figure = lab_race_first.lab_race_first(RACE, LIGHT, what)
    bins = RACE.first_times if what == "first" else RACE.best_scores
    bars = next(t for t in figure["data"] if t["type"] == "bar")
    steps = next(t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["width"] == 2)
    floor = lab_race_first.HEAD + lab_race_first.TALL
    exact = [floor - y for y in steps["y"][::2][: len(bins.exact)]]
    unit = exact[3] / bins.exact[3]
    assert exact == pytest.approx([unit * p for p in bins.exact])
    assert bars["width"] == pytest.approx([unit * count / RACE.wins.draws for count in bins.counts])


def test_each_winner_has_the_same_mean_time() -> None:
    figure = lab_race_first.lab_race_first(RUNNERS, LIGHT)
    diamonds = next(t for t in figure["data"] if t.get("mode") == "markers")
    assert len(diamonds["x"]) == sum(mean is not None for mean in RUNNERS.mean_times)
    assert f"mean 1/W = {1 / RUNNERS.total:.3f}" in labels(figure)
    said = lab_race_first.lab_race_first_caption(RUNNERS, LIGHT)["text"]
    assert said.startswith("Whoever won")


@pytest.mark.parametrize(("low", "high"), [(0, 1.7), (0, 0.03), (-2, 6), (-0.75, 7.25), (0, 60)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    found = lab_race_first.ticks(low, high)
    assert 2 <= len(found) <= 8 and all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
