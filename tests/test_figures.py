"""What the figures show, read from their dicts: marks, labels, numbers, words and places; no browser."""

from __future__ import annotations

import itertools
import json
import math
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.processor_base import NOTES
from decoding.processors import REGISTRY
from decoding.trace import SampleStep
from decoding.values import Histogram
from tests import figure_steps as made
from visualizations.figures import (
    bars,
    draw,
    draw_cumulative,
    entropy,
    heatmap,
    histogram,
    logits,
    rows,
    stages,
    style,
    temperature,
)
from visualizations.figures.style import View
from visualizations.text import LANGS, Text
from visualizations.text.figures import FIGURES

EN, ZH = Text("en"), Text("zh")
LIGHT = View(EN, "light", 560)

RAINY, LECTURE, NASTY = made.rainy(), made.lecture(), made.nasty()
PIPELINE = [("temperature", 1.3), ("top_k", 50), ("top_p", 0.95)]
SHORT = RAINY.step([("temperature", 0.9), ("top_p", 0.9)])
DEEP = RAINY.step(PIPELINE, made.direct(0.995))
PLAIN = RAINY.step()
TYPICAL = NASTY.step([("typical_p", 0.5), ("top_k", 5)], made.forced(0))
DRAWS = {
    "argmax": RAINY.step([], made.argmax),
    "direct": SHORT,
    "direct, far": RAINY.step([("temperature", 1.2)], made.direct(0.93)),
    "binary": RAINY.step([("temperature", 1.2)], made.binary(0.93)),
    "binary, few": LECTURE.step([], made.binary(0.5)),
    "alias": LECTURE.step([], made.alias(0.5, 0.6)),
    "alias, many": RAINY.step([], made.alias(0.5, 0.03)),
    "gumbel": RAINY.step([], made.gumbel(1)),
    "forced": RAINY.step(PIPELINE, made.forced(40_000)),
}
EFFECTS = {"rainy": made.effects(RAINY), "lecture": made.effects(LECTURE, 6)}
DRAWN = made.histogram(RAINY)

Made = Callable[[View], dict[str, Any]]


def figures() -> Iterator[tuple[str, Made]]:
    """Every picture over every kind of step."""
    for name, step in {"short": SHORT, "deep": DEEP, "plain": PLAIN, "nasty": TYPICAL}.items():
        yield f"bars {name}", lambda view, step=step: bars.bars(step, view)
        yield f"stages {name}", lambda view, step=step: stages.stages(step, view)
        yield f"logits {name}", lambda view, step=step: logits.logits_softmax(step, view)
    for name, step in DRAWS.items():
        yield f"draw {name}", lambda view, step=step: draw.draw(step, view)
    for name, found in EFFECTS.items():
        yield f"temperature {name}", lambda view, found=found: temperature.temperature_curves(found, view, 0.7)
        yield f"entropy {name}", lambda view, found=found: entropy.entropy_curve(found, view, 0.7)
        yield f"heatmap {name}", lambda view, found=found: heatmap.kept_heatmap(found, view, 0.7, 0.9)
    yield "histogram", lambda view: histogram.histogram(DRAWN, view)
    yield "law", lambda view: bars.law_bars(SHORT.stages[2].result, view, before=SHORT.stages[1].result, rule="top-p")


FIGURES_MADE = dict(figures())
EACH_FIGURE = pytest.mark.parametrize("make", FIGURES_MADE.values(), ids=FIGURES_MADE)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), theme, width) for lang in LANGS for theme in ("light", "dark") for width in (340, 900)],
    ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}",
)


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
    """Every text drawn by a text trace."""
    return [text for trace in figure["data"] if trace.get("mode") == "text" for text in trace["text"]]


def kept_bars(figure: dict[str, Any]) -> dict[int, float]:
    """Token id -> length of its solid bar."""
    trace = next(t for t in figure["data"] if t["type"] == "bar" and "customdata" in t)
    return dict(zip(trace["customdata"], trace["x"], strict=True))


def rest_bar(figure: dict[str, Any]) -> float:
    """Length of the hatched bar."""
    return sum(sum(t["x"]) for t in figure["data"] if t["type"] == "bar" and "pattern" in t["marker"])


# --- every figure --------------------------------------------------------------------------------


@EACH_FIGURE
@EACH_VIEW
def test_plotly_accepts_it_and_it_is_plain_json(make: Made, view: View) -> None:
    figure = make(view)
    assert set(figure) == {"data", "layout"}
    go.Figure(figure)
    assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))


@EACH_FIGURE
@EACH_VIEW
def test_it_is_quiet_and_legible(make: Made, view: View) -> None:
    layout = make(view)["layout"]
    assert layout["paper_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["dragmode"] is False and layout["showlegend"] is False
    assert all(axis["fixedrange"] for name, axis in layout.items() if name[1:5] == "axis")
    assert layout["height"] > 0 and "width" not in layout
    sizes = [found["size"] for found in fonts(make(view))]
    assert sizes and min(sizes) >= 12


def fonts(value: Any) -> Iterator[dict[str, Any]]:
    """Every font in a figure."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key.endswith("font"):
                yield each
            yield from fonts(each)
    elif isinstance(value, list):
        for each in value:
            yield from fonts(each)


@EACH_FIGURE
def test_both_languages_are_complete(make: Made) -> None:
    english, chinese = (make(View(text, "light", 560)) for text in (EN, ZH))
    assert len(english["data"]) == len(chinese["data"])
    own = {s for s in strings(english["data"]) if any(word in s for word in ("cut by", "others", " kept", "drawn "))}
    assert not own & set(strings(chinese["data"]))


@EACH_FIGURE
def test_it_takes_its_colours_from_the_theme(make: Made) -> None:
    used = set(strings(make(View(EN, "dark", 560))))
    light_only = set(style.COLORS["light"].values()) - set(style.COLORS["dark"].values())
    assert not used & light_only


@pytest.mark.parametrize("key", FIGURES)
def test_words_name_the_same_values_in_both_languages(key: str) -> None:
    english, chinese = FIGURES[key]
    fields = [{f[1] for f in string.Formatter().parse(words) if f[1]} for words in (english, chinese)]
    assert fields[0] == fields[1]
    assert not set("<>&$") & set(english.replace("<br>", "") + chinese.replace("<br>", ""))


def test_the_hover_text_of_a_stage_has_its_values_in_order() -> None:
    for words in FIGURES["hover.stage"]:
        assert words.index("{name}") < words.index("{prob}") < words.index("{logit}")


# --- token text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", made.NASTY)
def test_token_text_is_literal_everywhere(text: str) -> None:
    law = made.Law(NASTY.logits, [text] * len(made.NASTY))
    step = law.step([("top_k", 4)])
    view = View(EN, "light", 1100)
    shown = [bars.bars(step, view), stages.stages(step, view), logits.logits_softmax(step, view)]
    shown += [draw.draw(law.step([], sampler), view) for sampler in (made.direct(0.4), made.alias(0.9, 0.97))]
    shown += [draw.draw(law.step([], sampler), view) for sampler in (made.gumbel(), made.argmax, made.binary(0.6))]
    shown += [temperature.temperature_curves(made.effects(law), view, 1.0)]
    shown += [histogram.histogram(made.histogram(law), view)]
    plain = {"<b>", "</b>", "<s>", "</s>", "<br>", "<extra></extra>", "<extra>", "</extra>", "%{hovertext}", "%{y:.2%}"}
    plain |= {"%{x:.2f}"}
    for found in (s for figure in shown for s in strings(figure)):
        rest = found
        for mark in sorted(plain, key=len, reverse=True):
            rest = rest.replace(mark, "")
        assert not set("<>${}") & set(rest), found


def test_every_character_with_a_meaning_becomes_an_entity() -> None:
    assert style.literal("a<b>&amp;$x${{7*7}}") == ("a&lt;b&gt;&amp;amp;&#36;x&#36;&#123;&#123;7*7&#125;&#125;")


def test_labels_show_spaces_and_are_cut_by_columns() -> None:
    assert style.token_label(" they") == "␣they"
    assert style.token_label(" internationalization", 8) == "␣intern…"
    assert style.short("我很好我很好", 6) == "我很…" and style.cells("我很…") == 5
    assert style.cells("e\u0301") == 1
    assert style.token_label("") == "⟨⟩"


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prob", "words"),
    [
        *((0.762, "76.2 %"), (0.0095, "0.95 %"), (0.00004, "< 0.01 %"), (0.0, "0 %"), (1.0, "100 %")),
        *((0.99999, "> 99.9 %"), (0.9994, "99.9 %"), (1e-300, "< 0.01 %"), (0.01, "1.0 %")),
    ],
)
def test_percentages(prob: float, words: str) -> None:
    assert style.percent(prob) == words


def test_numbers_in_words() -> None:
    assert style.number(49152) == "49,152"
    assert [style.signed(v) for v in (0.826, -1.2, 0.001, -0.001)] == ["+0.83", "−1.20", "0.00", "0.00"]
    assert [style.decimal(v) for v in (0.826, -1.2, -0.001)] == ["0.83", "−1.20", "0.00"]
    assert style.apart(0.76, 0.7612) == 3 and style.apart(0.5, 0.2, 0.8) == 2 and style.apart(0.5, 0.5) == 6


@pytest.mark.parametrize("wanted", [[0, 0, 0, 0], [5, 50, 51, 52, 99], [], [1], [99, 99, 100], [0, 8, 16, 24, 32]])
def test_labels_are_spread_apart_and_stay_inside(wanted: list[float]) -> None:
    places = style.spread([float(w) for w in wanted], 12, 0, 100)
    assert len(places) == len(wanted)
    assert all(b - a >= 12 - 1e-9 for a, b in itertools.pairwise(places))
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in places)


def test_labels_far_apart_stay_where_they_want_to_be() -> None:
    assert style.spread([10, 40, 80], 12, 0, 100) == [10, 40, 80]


# --- bars ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [SHORT, DEEP, PLAIN, TYPICAL], ids=["short", "deep", "plain", "typical"])
@pytest.mark.parametrize("top_n", [3, 8, 50])
def test_bars_and_tail_are_the_whole_law(step: Any, top_n: int) -> None:
    for stage in range(len(step.stages)):
        figure = bars.bars(step, LIGHT, stage, top_n)
        assert math.isclose(sum(kept_bars(figure).values()) + rest_bar(figure), 1, abs_tol=1e-9)


def test_bars_show_what_was_removed_by_which_rule() -> None:
    figure = bars.bars(SHORT, LIGHT, top_n=9)
    law = SHORT.stages[2].result
    assert kept_bars(figure) == {c.token.id: c.prob for c in law.top if c.kept}
    assert labels(figure)[:5] == ["▸ <b>␣they</b>", "␣it", "␣you", "␣everyone", "<s>␣we</s>"]
    assert [text for text in labels(figure) if "✕" in text] == ["✕ cut by top-p 0.90"] * 5 + ["✕ all cut"]
    before = {c.token.id: c.prob for c in SHORT.stages[1].result.top}
    hollow = next(t for t in figure["data"] if t.get("mode") == "lines")
    assert hollow["line"]["dash"] != "solid"
    assert hollow["x"][1] == before[4]  # the first removed one stands at what it had just before
    assert "(7.5 %)" in labels(figure)  # and so do the others


def test_an_earlier_rule_keeps_the_blame() -> None:
    figure = bars.bars(RAINY.step([("top_k", 4), ("temperature", 2.0), ("top_p", 0.9)]), LIGHT, top_n=6)
    said = [text for text in labels(figure) if "✕" in text]
    assert said == ["✕ cut by top-p 0.90", "✕ cut by top-k 4", "✕ cut by top-k 4", "✕ all cut"]


def test_before_a_rule_nothing_is_cut_by_it() -> None:
    assert not [text for text in labels(bars.bars(SHORT, LIGHT, stage=1)) if "✕" in text]


def test_the_drawn_token_is_always_listed() -> None:
    far = DRAWS["direct, far"]
    figure = bars.bars(far, LIGHT, top_n=5)
    assert far.token.id in kept_bars(figure)
    assert f"▸ <b>{style.token_label(far.token.text)}</b>" in labels(figure)
    assert "&lt; 0.01 %" in labels(figure)
    forced = bars.bars(DRAWS["forced"], LIGHT, top_n=5)
    assert "▸ <b><s>␣word40000</s></b>" in labels(forced)


def test_the_whole_row_answers_a_click_with_its_token() -> None:
    figure = bars.bars(SHORT, LIGHT, top_n=4)
    target = figure["data"][0]
    assert target["customdata"] == [[0], [1], [2], [3], [None]]
    assert target["x"] == figure["layout"]["xaxis"]["range"]
    assert target["y"] == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5]
    said = target["hovertext"][0][0]
    assert all(part in said for part in ("␣they", "id 0", "20 74 68 65 79", "model: 62.2 %", "top-p 0.90: 83.6 %"))


def test_rows_have_one_height_and_scale_whatever_they_hold() -> None:
    few, many = bars.bars(SHORT, LIGHT, top_n=4), bars.bars(DEEP, LIGHT, top_n=9)
    assert few["layout"]["height"] == rows.height(5) and many["layout"]["height"] == rows.height(11)
    assert few["layout"]["xaxis"] == many["layout"]["xaxis"]


def test_the_longest_label_fits_its_column() -> None:
    for width in (300, 340, 560, 1100):
        view = View(EN, "light", width)
        at = rows.columns(view, 1.0)
        assert style.text_px("▸ " + "m" * rows.label_limit(view), 13, mono=True) <= at.label
        assert at.label + at.amount + at.bar <= width + 1


def test_the_caption_says_what_happened_first() -> None:
    english, chinese = (bars.bars_caption(SHORT, View(text)) for text in (EN, ZH))
    assert english["title"] == "Step 4 · after temperature 0.90 and top-p 0.90"
    assert english["text"].replace("\u00a0", " ") == (
        "“␣they” was drawn with probability 83.6 %; the model alone gave it 62.2 %. 4 of 49,152 tokens are kept; "
        "before the cut they held 90.0 % of the probability. Entropy, how open the choice is: 0.84 bits. "
        "In brackets: what a cut token had before the cut."
    )
    assert chinese["title"] == "第 4 步 · 经过温度 0.90 和 top-p 0.90"
    assert "49,152 个词元中保留 4 个" in chinese["text"]
    assert "your choice" in bars.bars_caption(DRAWS["forced"], LIGHT)["text"]


@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
def test_every_rule_and_every_note_of_the_core_has_words(text: Text) -> None:
    for name in REGISTRY:
        assert "7" in text(f"rule.{name}", value=7)
    for note in NOTES:
        assert text(f"note.{note}") and "top-k" in text(f"note.{note}.long", rule="top-k")


def test_the_caption_knows_how_the_token_came_about() -> None:
    assert bars.bars_caption(DRAWS["argmax"], LIGHT)["text"].startswith("“␣they” was picked;")
    assert bars.bars_caption(RAINY.step([("top_k", 5)], made.forced(1)), LIGHT)["text"].startswith("You chose “␣it”;")


def test_an_unknown_rule_is_called_by_its_own_name() -> None:
    stage = replace(SHORT.stages[2], name="new_rule", params={"x": 3})
    figure = bars.bars(replace(SHORT, stages=(*SHORT.stages[:2], stage)), LIGHT, top_n=5)
    assert "✕ cut by new_rule 3" in labels(figure)


# --- stages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [300, 340, 560, 660, 900, 1100])
@pytest.mark.parametrize("count", [0, 1, 3, 11])
def test_stages_have_one_row_each_and_fit(width: int, count: int) -> None:
    step = RAINY.step([("temperature", 1.1), ("top_k", 40), ("top_p", 0.95)] * 4, made.direct(0.99))
    step = replace(step, stages=step.stages[: count + 1])
    figure = stages.stages(step, View(EN, "light", width))
    target = figure["data"][0]
    assert len(target["customdata"]) == count + 1
    columns = [b - a for a, b in itertools.pairwise(target["x"])]
    assert min(columns) >= 50 and target["x"][-1] <= width + 1e-6
    assert step.token.id in target["customdata"][0]


def test_each_stage_of_the_matrix_sums_to_one() -> None:
    step, view = SHORT, View(EN, "light", 900)
    figure = stages.stages(step, view)
    solid = [t for t in figure["data"] if t["type"] == "bar"]
    most = max(c.prob for s in step.stages for c in s.result.top)
    sums: dict[float, float] = {}
    for trace in solid:
        for ground, tall in zip(trace["base"], trace["y"], strict=True):
            sums[ground] = sums.get(ground, 0) - tall / stages.BAR * most
    assert len(sums) == 3
    assert all(math.isclose(total, 1, abs_tol=1e-9) for total in sums.values())


def test_the_others_show_what_they_held_where_all_of_them_were_cut() -> None:
    step = RAINY.step([("temperature", 0.9), ("top_k", 2), ("top_p", 0.99)])
    figure = stages.stages(step, View(EN, "light", 900))
    shown = [id for id in figure["data"][0]["customdata"][0] if id is not None]
    held = 1 - sum(c.prob for c in step.stages[1].result.top if c.token.id in shown)
    words = style.percent_label(held).replace(" ", "\u202f")
    assert labels(figure).count(f"✕ {words}") == 1, "at top-k; at top-p they are gone already"
    most = max(held, *(c.prob for s in step.stages for c in s.result.top))
    tall = [b - a for a, b in zip(trace_of(figure)["y"][0::6], trace_of(figure)["y"][2::6], strict=True)]
    assert any(math.isclose(each, stages.BAR * held / most, rel_tol=1e-9) for each in tall)


def trace_of(figure: dict[str, Any]) -> dict[str, Any]:
    """The hollow bars."""
    return next(t for t in figure["data"] if t.get("line", {}).get("dash") == "3px,2px")


@pytest.mark.parametrize("text", [EN, ZH])
@pytest.mark.parametrize("width", [640, 720, 900])
def test_the_names_of_the_rules_end_before_the_first_column(text: Text, width: int) -> None:
    rules = [("repetition_penalty", 1.3), ("frequency_penalty", 0.5), ("no_repeat_ngram_size", 3)]
    step = RAINY.step([("temperature", 1.1)])
    named = [replace(step.stages[1], name=name, params={name: value}) for name, value in rules]
    figure = stages.stages(replace(step, stages=(step.stages[0], *named)), View(text, "light", width))
    left = figure["data"][0]["x"][0]
    names = [
        t for t in figure["data"] if t.get("mode") == "text" and any("<b>" in s for s in t["text"]) and t["x"][0] == 0
    ]
    for name in names[0]["text"]:
        assert style.text_px(name.replace("<b>", "").replace("</b>", ""), style.BODY) < left


def test_stages_say_kept_mass_entropy_and_notes() -> None:
    step = RAINY.step([("top_k", 50)], notes=("tie_broken",))
    said = " ".join(labels(stages.stages(step, View(EN, "light", 900))))
    for words in ("<b>model</b>", "<b>top-k 50</b>", "tie broken", "50 kept", "49,152 kept", "entropy 4.23 bits"):
        assert words in said
    assert f"holding {style.percent(step.stages[1].kept_mass)}" in said
    caption = stages.stages_caption(step, LIGHT)["text"]
    assert "top-k 50: tokens at the border had equal logits" in caption


# --- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWS)
def test_each_draw_has_a_compact_picture_and_a_caption(name: str) -> None:
    step = DRAWS[name]
    for view in (View(EN, "light", 340), View(ZH, "dark", 450)):
        assert draw.draw(step, view)["layout"]["height"] <= 370
        caption = draw.draw_caption(step, view)
        assert style.quoted(step.token.text) in caption["text"]


@pytest.mark.parametrize("name", ["direct", "direct, far", "binary", "binary, few"])
def test_the_cumulative_bar_covers_everything_once(name: str) -> None:
    step = DRAWS[name]
    found = draw_cumulative.segments(step, step.draw.low, step.draw.high)
    assert found[0].low == 0 and math.isclose(found[-1].high, 1, abs_tol=1e-9)
    assert all(math.isclose(a.high, b.low, abs_tol=1e-9) for a, b in itertools.pairwise(found))
    (chosen,) = (s for s in found if s.chosen)
    assert chosen.low <= step.draw.uniform < chosen.high
    assert chosen.candidate is not None and chosen.candidate.token == step.token


def test_the_pin_stands_at_u_on_the_bar() -> None:
    figure = draw.draw(SHORT, LIGHT)
    bar = figure["data"][0]["x"]
    pin = next(t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["width"] == 2)
    assert math.isclose(pin["x"][0], 0.41 * bar[-1])
    assert "u = 0.41" in labels(figure)


def test_a_number_near_a_border_is_written_out_until_it_differs() -> None:
    edge = SHORT.stages[2].result.top[0].prob
    step = RAINY.step([("temperature", 0.9), ("top_p", 0.9)], made.direct(edge - 1e-4))
    said = next(text for text in labels(draw.draw(step, LIGHT)) if text.startswith("u = "))
    assert said == f"u = {edge - 1e-4:.4f}" or len(said) > len("u = 0.83")


def test_bisection_has_a_row_for_each_probe() -> None:
    step = DRAWS["binary"]
    arrows = [text for text in labels(draw.draw(step, LIGHT)) if text.endswith(("←", "→"))]
    assert len(arrows) == len(step.draw.probes) == 16
    assert [text[-1] == "←" for text in arrows] == [probe.went_left for probe in step.draw.probes]


def test_the_alias_table_is_full_and_its_drawn_part_is_marked() -> None:
    step = DRAWS["alias"]
    figure = draw.draw(step, LIGHT)
    own, other, drawn = (t for t in figure["data"] if t["type"] == "bar")
    assert all(math.isclose(-a - b, 150) for a, b in zip(own["y"], other["y"], strict=True))
    assert drawn["x"] == [own["x"][3]] and drawn["y"] == [other["y"][3]]
    assert any(text.startswith("<b>▸ above 0.48") for text in labels(figure))


def test_gumbel_scores_add_up_on_the_screen() -> None:
    step = DRAWS["gumbel"]
    said = [text for text in labels(draw.draw(step, LIGHT)) if "=" in text and text[0] in " 0123456789−"]
    for text, score in zip(said, step.draw.scores, strict=False):
        first, rest = text.split(maxsplit=1)
        noise, total = rest.replace("−", "-").split("=")
        assert math.isclose(float(first) + float(noise), float(total), abs_tol=0.011)
        assert math.isclose(float(total), score.score, abs_tol=0.006)
    assert "Without noise “␣they” would have won." in draw.draw_caption(step, LIGHT)["text"]


def test_greedy_says_by_how_much_and_needs_no_softmax() -> None:
    caption = draw.draw_caption(DRAWS["argmax"], LIGHT)["text"]
    assert "“␣they” has the largest logit, 17.40, ahead of “␣it” by 1.80 nats." in caption
    assert "needs no softmax" in caption
    assert any(text.split() == ["15.60", "−1.80"] for text in labels(draw.draw(DRAWS["argmax"], LIGHT)))


# --- logits --------------------------------------------------------------------------------------


def test_logits_stand_beside_their_probabilities() -> None:
    figure = logits.logits_softmax(PLAIN, LIGHT, top_n=10)
    assert math.isclose(sum(kept_bars(figure).values()) + rest_bar(figure), 1, abs_tol=1e-9)
    dots = next(t for t in figure["data"] if t.get("mode") == "markers")
    assert dots["customdata"] == [c.logit for c in PLAIN.stages[0].result.top[:10]]
    assert all(x < 0 for x in dots["x"])  # left of the bars
    assert "17.40" in labels(figure) and "softmax →" in labels(figure)
    assert "e^1.80 = 6.0 times" in logits.logits_caption(PLAIN, LIGHT)["text"]


def test_negative_logits_lie_left_of_their_zero() -> None:
    figure = logits.logits_softmax(LECTURE.step(), LIGHT)
    dots = next(t for t in figure["data"] if t.get("mode") == "markers")
    assert dots["x"] == sorted(dots["x"], reverse=True)
    assert "−4.61" in labels(figure)


# --- temperature and top-p -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda t, view, found: temperature.temperature_curves(found, view, t),
        lambda t, view, found: entropy.entropy_curve(found, view, t),
        lambda t, view, found: heatmap.kept_heatmap(found, view, t, 1 - t / 4),
    ],
    ids=["temperature", "entropy", "heatmap"],
)
def test_moving_the_cursor_leaves_the_data(make: Callable[..., dict[str, Any]]) -> None:
    here, there = (make(t, LIGHT, EFFECTS["rainy"]) for t in (0.5, 1.7))
    assert here["data"] == there["data"] and here["layout"] != there["layout"]
    assert here["layout"]["meta"] == there["layout"]["meta"]
    moved = {key for key in here["layout"] if here["layout"][key] != there["layout"][key]}
    assert moved == {"shapes"}
    others = [make(0.5, LIGHT, EFFECTS["lecture"]), make(0.5, View(EN, "dark", 560), EFFECTS["rainy"])]
    assert len({figure["layout"]["meta"]["key"] for figure in (here, *others)}) == 3


@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("width", [340, 560, 900])
def test_the_names_of_the_lines_never_overlap(name: str, width: int) -> None:
    figure = temperature.temperature_curves(EFFECTS[name], View(EN, "light", width), 1.0)
    names = next(t for t in figure["data"] if t.get("mode") == "text")
    px = [y / temperature.TOP * (temperature.HEIGHT - 24 - 44) for y in names["y"]]
    assert all(a - b >= temperature.GAP - 1e-6 for a, b in itertools.pairwise(px))
    assert min(px) >= 0
    left, right = figure["layout"]["xaxis2"]["range"]
    widest = max(style.text_px(text, 12, mono=True) for text in names["text"] if "&" not in text)
    assert left <= names["x"][0] and names["x"][0] + widest <= right


def test_lines_differ_by_more_than_colour() -> None:
    figure = temperature.temperature_curves(EFFECTS["rainy"], LIGHT, 1.0)
    lines = [t["line"]["dash"] for t in figure["data"] if "name" in t]
    assert len(lines) == 8 and all(a != b for a, b in itertools.pairwise(lines))


@pytest.mark.parametrize("t", [0, 0.05, 0.35, 0.7, 1, 1.3, 2, 2.95, 3])
@pytest.mark.parametrize("width", [300, 340, 560])
def test_the_words_at_the_cursor_stay_inside_and_off_its_line(t: float, width: int) -> None:
    for name, found in EFFECTS.items():
        figure = entropy.entropy_curve(found, View(EN, "light", width), t)
        cursor, most = figure["layout"]["shapes"][-2:]
        said = cursor["label"]["text"]
        assert said.startswith(f"T = {t:.2f}<b> · ") and said.endswith(" bits</b>"), name
        wide = width - 46 - entropy.RIGHT
        room = style.text_px(said.replace("<b>", "").replace("</b>", ""), 12, mono=True)
        assert cursor["x1"] - cursor["x0"] >= room
        start = 46 + cursor["xanchor"] * wide
        assert start + cursor["x0"] >= -1e-6 and start + cursor["x1"] <= width + 1e-6
        left = most["xanchor"] * wide + most["x0"]
        assert most["x1"] - most["x0"] >= style.text_px(most["label"]["text"], 12)
        assert not left < t / 3 * wide < left + most["x1"] - most["x0"]


def test_a_value_between_grid_points_is_marked_as_such() -> None:
    found = EFFECTS["rainy"]
    assert "≈" not in entropy.entropy_caption(found, LIGHT, 0.7)["text"]
    assert "≈" in entropy.entropy_caption(found, LIGHT, 0.712)["text"]
    assert "≈" not in entropy.entropy_caption(found, LIGHT, 0.712, 0.75)["text"]
    assert "≈" in temperature.temperature_caption(found, LIGHT, 0.712)["text"]


def test_the_heat_map_counts_by_powers_of_ten() -> None:
    found = EFFECTS["rainy"]
    figure = heatmap.kept_heatmap(found, LIGHT, 0.7, 0.9)
    cells = figure["data"][0]
    assert cells["z"][-1][-1] == pytest.approx(math.log10(49_152)) and cells["customdata"][0][0] == 1
    assert cells["colorbar"]["ticktext"] == ["1", "10", "100", "1,000", "10,000"]
    kept = found.kept[17][14]
    assert f"<b>{kept} kept</b>" in shape_words(figure)
    assert "<b>5 kept</b>" in shape_words(heatmap.kept_heatmap(found, LIGHT, 0.7, 0.9, 5))


def shape_words(figure: dict[str, Any]) -> list[str]:
    """The words of the shapes."""
    return [shape["label"]["text"] for shape in figure["layout"]["shapes"] if "label" in shape]


# --- histogram -----------------------------------------------------------------------------------


def cut_boxes(figure: dict[str, Any]) -> list[float]:
    """Lengths of the hollow bars."""
    trace = next(t for t in figure["data"] if t.get("line", {}).get("dash") == "3px,2px")
    return trace["x"][1::6]


def drawn_after(top_p: float) -> tuple[SampleStep, Histogram]:
    """A step whose last rule is top-p, and a thousand draws from it."""
    step = RAINY.step([("temperature", 0.9), ("top_p", top_p)])
    law = step.stages[-1].result
    counts = [round(1000 * c.prob) for c in law.top]
    return step, Histogram(law, 1000, tuple(counts), 1000 - sum(counts), 0.01, 0.02)


@pytest.mark.parametrize("top_p", [0.3, 0.6, 0.9])
def test_the_histogram_marks_what_was_cut_and_shows_what_it_held(top_p: float) -> None:
    step, found = drawn_after(top_p)
    before, law = step.stages[1].result, found.law
    figure = histogram.histogram(found, LIGHT, top_n=12, before=before, rule="top-p 0.60")
    kept = {c.token.id for c in law.top if c.kept}
    assert set(kept_bars(figure)) == {c.token.id for c in sorted(law.top, key=lambda c: -c.prob)[:12] if c.kept}
    hollow, said = cut_boxes(figure), labels(figure)
    assert math.isclose(sum(hollow), 1 - step.stages[-1].kept_mass, abs_tol=1e-9), "what was cut, whole"
    assert said.count("✕ cut by top-p 0.60") == max(0, 12 - len(kept)) and said.count("✕ all cut") == 1
    assert sum(text.startswith("<s>") for text in said) == max(0, 12 - len(kept))
    assert sum(text.startswith("(") for text in said) == max(0, 12 - len(kept)) + 1, "no plain 0 for what cannot come"
    caption = histogram.histogram_caption(found, LIGHT, (0.9, top_p))
    assert caption["title"] == f"1,000 draws after temperature 0.90 and top-p {top_p:.2f}"


def test_a_histogram_of_a_whole_law_marks_nothing() -> None:
    said = labels(histogram.histogram(DRAWN, LIGHT, top_n=8))
    assert not any("✕" in text for text in said)


def test_the_histogram_shows_counts_over_the_exact_law() -> None:
    figure = histogram.histogram(DRAWN, LIGHT, top_n=8)
    shares = kept_bars(figure)
    assert shares == {i: DRAWN.counts[i] / 1000 for i in range(8)}
    assert math.isclose(sum(shares.values()) + rest_bar(figure), 1)
    marks = next(t for t in figure["data"] if t.get("mode") == "lines" and "customdata" in t)
    assert math.isclose(sum(marks["customdata"][::3]), 1)
    assert "▬ 1,000 draws" in labels(figure) and "┃ exact" in labels(figure)
    caption = histogram.histogram_caption(DRAWN, LIGHT)
    assert caption["title"] == "1,000 draws against the exact distribution"
    assert f"{DRAWN.counts[0]} times" in caption["text"]
    assert style.percent(DRAWN.total_variation).replace(" ", "\u00a0") in caption["text"]
