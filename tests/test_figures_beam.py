"""What the pictures of beam search show, read from their dicts: places, labels, numbers, words; no browser."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest

from decoding.beam import pruning
from decoding.trace import BeamNode, BeamStep, Cut, Token
from tests import beam_steps as made
from visualizations.figures import beam_code, beam_edges, beam_layout, beam_queue, beam_tree, beam_words, style
from visualizations.figures.style import View
from visualizations.text import LANGS, Text
from visualizations.text.beam import BEAM

EN, ZH = Text("en"), Text("zh")
WIDE, PHONE = View(EN, "light", 1040), View(EN, "light", 330)
Steps = tuple[BeamStep, ...]


def perturbed(steps: Steps) -> Steps:
    """The same search as if noise had been added to its scores."""
    shift = {n.id: 0.3 * ((n.id % 5) - 2) for step in steps for n in step.nodes}
    return tuple(
        replace(
            step,
            nodes=tuple(
                sorted(
                    (replace(n, score=n.logprob + shift[n.id], group=n.id % 2) for n in step.nodes),
                    key=lambda n: -n.score,
                )
            ),
        )
        for step in steps
    )


LECTURE = made.lecture()
DEEP = made.random(width=4, depth=8, top=9)
AWKWARD = made.random(width=4, depth=8, top=9, seed=5, words=made.AWKWARD, end=0.2)
SEARCHES: dict[str, Steps] = {
    "lecture": LECTURE,
    "deep": DEEP,
    "awkward": AWKWARD,
    "ends": made.random(width=3, depth=6, top=6, seed=2, end=0.5),
    "one beam": made.random(width=1, depth=4, top=5, seed=3),
    "one depth": made.random(width=4, depth=1, top=9, seed=4),
    "wide": made.random(width=8, depth=5, top=10, seed=6),
    "relative": made.random(width=4, depth=8, top=9, seed=7, judge=made.relative(0.2)),
    "absolute": made.random(width=4, depth=8, top=9, seed=8, judge=made.absolute(1.5)),
    "local": made.random(width=4, depth=8, top=9, seed=9, judge=made.local(0.3)),
    "per parent": made.random(width=4, depth=8, top=9, seed=10, judge=made.per_parent(1)),
    "perturbed": perturbed(made.random(width=4, depth=6, top=9, seed=11)),
    "relative lecture": made.lecture(judge=made.relative(0.3)),
}
EACH_SEARCH = pytest.mark.parametrize("steps", SEARCHES.values(), ids=SEARCHES)
VIEWS = (View(EN, "light", 1040), View(ZH, "dark", 330), View(EN, "dark", 700), View(ZH, "light", 1040))
EACH_VIEW = pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.text.lang}-{view.theme}-{view.width}")
EACH_SHOW = pytest.mark.parametrize("show", ["all", "near", "kept"])


def drawn(steps: Steps, view: View = WIDE, **options: Any) -> dict[str, Any]:
    """The tree with its best text."""
    return beam_tree.tree(steps, view, **{"root": "start", "best": made.best(steps), **options})


def pictures(steps: Steps, view: View) -> Iterator[dict[str, Any]]:
    """Every picture of a search."""
    cut = next((n.id for step in steps for n in step.nodes if n.fate == "pruned"), None)
    yield drawn(steps, view, mark=cut)
    yield drawn(steps, view, show="near", mark=cut, collapsed=frozenset(made.best(steps)[1:2]))
    yield drawn(steps, view, show="kept", upto=2, verdict=False)
    yield drawn(steps, view, upto=0)
    yield drawn(steps, view, zoom=2.5)
    for depth in (1, len(steps)):
        yield beam_queue.queue(steps, view, depth=depth)
        yield beam_queue.queue(steps, view, depth=depth, verdict=False, joiner=" ")


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


def sizes(value: Any) -> Iterator[float]:
    """Every font size in a figure."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key.endswith("font"):
                yield each["size"]
            yield from sizes(each)
    elif isinstance(value, list):
        for each in value:
            yield from sizes(each)


def plain(label: str) -> str:
    """A label as a reader sees it."""
    return html.unescape(re.sub("</?[bs]>", "", label))


Word = tuple[str, float, float, float, float]
"""A text drawn to the right of its point, and its box: x0, y0, x1, y1 in px."""


def words(figure: dict[str, Any]) -> list[Word]:
    """Every text of a tree with the box that it takes at most."""
    found = []
    for trace in figure["data"]:
        if trace.get("mode") != "text":
            continue
        assert trace["textposition"] == "middle right"
        font = trace["textfont"]
        mono = "mono" in font["family"]
        for x, y, label in zip(trace["x"], trace["y"], trace["text"], strict=True):
            text = plain(label)
            wide = style.text_px(text, font["size"], mono)
            wide = wide if mono else max(wide, beam_words.label_px(text, font["size"]))
            found.append((text, x, y - 7, x + wide, y + 7))
    return found


def overlaps(boxes: Sequence[Word]) -> list[tuple[str, str]]:
    """Pairs of texts that stand on each other."""
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes, 2)
        if min(a[3], b[3]) - max(a[1], b[1]) > 0.01 and min(a[4], b[4]) - max(a[2], b[2]) > 0.01
    ]


def curves(figure: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[tuple[float, float]]]]:
    """Every curve of a tree with its trace, the band and the frame left out."""
    for trace in figure["data"]:
        if trace.get("mode") != "lines" or trace["line"].get("simplify") is not False:
            continue
        if trace["line"]["width"] == beam_edges.BAND:
            continue
        points = list(zip(trace["x"], trace["y"], strict=True))
        for real, group in itertools.groupby(points, key=lambda p: p[0] is not None):
            if real:
                yield trace, list(group)


def boxes(figure: dict[str, Any]) -> dict[int, tuple[float, float, float, float]]:
    """Node id -> the box that answers to pointer and click."""
    bars = figure["data"][0]
    rows = zip(bars["customdata"], bars["base"], bars["x"], bars["y"], bars["width"], strict=True)
    return {i: (x, y - h / 2, x + long, y + h / 2) for i, x, long, y, h in rows if i is not None}


def labels(figure: dict[str, Any]) -> dict[int, list[str]]:
    """Node id -> the texts in its box, its token first, line by line."""
    texts = words(figure)
    found = {}
    for i, (x0, y0, x1, y1) in boxes(figure).items():
        inside = [w for w in texts if x0 <= w[1] <= x1 and y0 <= (w[2] + w[4]) / 2 <= y1]
        found[i] = [w[0] for w in sorted(inside, key=lambda w: (w[2], w[1]))]
    return found


def nodes(steps: Steps) -> dict[int, BeamNode]:
    return {n.id: n for step in steps for n in step.nodes}


def hovers(figure: dict[str, Any]) -> dict[int, str]:
    bars = figure["data"][0]
    return dict(zip(bars["customdata"], bars["hovertext"], strict=True))


# --- every picture -------------------------------------------------------------------------------


@EACH_SEARCH
@EACH_VIEW
def test_plotly_accepts_it_and_it_is_plain_json(steps: Steps, view: View) -> None:
    for figure in pictures(steps, view):
        assert set(figure) == {"data", "layout"}
        go.Figure(figure)
        assert orjson.loads(orjson.dumps(figure)) == json.loads(json.dumps(figure, allow_nan=False))


@EACH_SEARCH
@EACH_VIEW
def test_it_is_quiet_and_legible(steps: Steps, view: View) -> None:
    for figure in pictures(steps, view):
        layout = figure["layout"]
        assert layout["dragmode"] is False and layout["showlegend"] is False
        assert all(axis["fixedrange"] for name, axis in layout.items() if name[1:5] == "axis")
        assert min(sizes(figure)) >= 12


@EACH_SEARCH
def test_it_takes_its_colours_from_the_theme(steps: Steps) -> None:
    light_only = set(style.COLORS["light"].values()) - set(style.COLORS["dark"].values())
    for figure in pictures(steps, View(EN, "dark", 1040)):
        assert not set(strings(figure)) & light_only


@EACH_SEARCH
def test_both_languages_have_the_same_marks(steps: Steps) -> None:
    for english, chinese in zip(pictures(steps, WIDE), pictures(steps, View(ZH, "light", 1040)), strict=True):
        assert len(english["data"]) == len(chinese["data"])
        own = re.compile(r"\b(width|depth|relative|absolute|rank|score|cut|goes|others)\b")
        assert not [s for s in strings(chinese["data"]) if own.search(s)]


@EACH_SEARCH
def test_a_picture_has_the_same_number_of_traces_whatever_it_shows(steps: Steps) -> None:
    trees = [drawn(steps), drawn(steps, show="kept", upto=1, verdict=False), drawn(steps, upto=0), drawn(steps, PHONE)]
    assert {len(figure["data"]) for figure in trees} == {20}
    strokes = [t for t in trees[0]["data"] if t.get("mode") == "lines"]
    assert len(strokes) == 3 * len(beam_edges.WIDTHS) + 2  # the curves, the band and the frame
    queues = [beam_queue.queue(steps, WIDE, depth=1, verdict=verdict) for verdict in (True, False)]
    assert len(queues[0]["data"]) == len(queues[1]["data"])


@pytest.mark.parametrize("text", made.AWKWARD)
def test_token_text_is_literal_everywhere(text: str) -> None:
    steps = made.random(width=2, depth=3, top=4, words=(text,))
    plain_marks = re.compile(r"</?[bs]>|<br>|</?extra>|%\{hovertext\}")
    for view in (WIDE, PHONE):
        for figure in pictures(steps, view):
            for found in strings(figure):
                assert not set("<>${}") & set(plain_marks.sub("", found)), found
    figure = drawn(steps, View(EN, "light", 2400))
    assert {label[0] for label in labels(figure).values()} == {style.short(style.visible(text), 60)}


@pytest.mark.parametrize("root", ["", " ", "\n", "<b>x</b>", "The best thing about rainy days is", "$x$" * 200])
def test_what_comes_before_the_first_token_is_literal_and_fits(root: str) -> None:
    for view in (WIDE, PHONE):
        figure = drawn(LECTURE, view, root=root)
        (shown,) = next(t for t in figure["data"] if t.get("mode") == "text")["text"]
        assert not set("<>${}") & set(shown)
        first = min(x0 for x0, _, _, _ in boxes(figure).values())
        assert 0 < style.text_px(plain(shown), 13, mono=True) < first - 30
    assert plain(next(t for t in drawn(DEEP, root="rainy days is")["data"] if t.get("mode") == "text")["text"][0]) in (
        "rainy days is",
        "… days is",
        "… is",
    )


@pytest.mark.parametrize("key", BEAM)
def test_words_need_no_escaping(key: str) -> None:
    assert not set("<>&$") & set("".join(BEAM[key]).replace("<br>", ""))


# --- places --------------------------------------------------------------------------------------


@EACH_SEARCH
@EACH_SHOW
@EACH_VIEW
def test_no_label_overlaps_another(steps: Steps, show: str, view: View) -> None:
    figure = drawn(steps, view, show=show, root="The best thing about rainy days is")
    found = words(figure)
    assert overlaps(found) == []
    width = figure["layout"].get("width", view.width)
    assert all(x0 >= 0 and x1 <= width + 0.01 for _, x0, _, x1, _ in found)
    assert all(y0 >= 0 and y1 <= figure["layout"]["height"] for _, _, y0, _, y1 in found)


@pytest.mark.parametrize("seed", range(12))
def test_labels_of_any_search_have_room(seed: int) -> None:
    width, depth, top = 1 + seed % 8, 1 + seed % 9, 2 + seed
    steps = made.random(width, depth, top, seed, made.AWKWARD if seed % 2 else made.WORDS, end=0.1 * (seed % 4))
    cut = next((n.id for step in steps for n in step.nodes if n.fate == "pruned"), None)
    for show, view in itertools.product(("all", "near"), (WIDE, PHONE, View(ZH, "light", 700))):
        figure = drawn(steps, view, show=show, mark=cut)
        assert overlaps(words(figure)) == []
        areas = [("", *box) for box in boxes(figure).values()]
        assert overlaps(areas) == []


@EACH_SEARCH
@EACH_SHOW
def test_no_curve_crosses_a_label(steps: Steps, show: str) -> None:
    for view in (WIDE, PHONE):
        figure = drawn(steps, view, show=show)
        found = [w for w in words(figure) if w[2] > beam_layout.HEAD - 8]
        left, top, right, bottom = np.array([w[1:] for w in found]).T
        for _, line in curves(figure):
            start, end = np.array(line[:-1])[:, :, None], np.array(line[1:])[:, :, None]
            low, high = np.minimum(start, end), np.maximum(start, end)
            across = np.minimum(high[:, 0], right) - np.maximum(low[:, 0], left)
            down = np.minimum(high[:, 1], bottom) - np.maximum(low[:, 1], top)
            crossed = np.argwhere((across > 0) & (down >= 0))
            assert not len(crossed), [found[word][0] for _, word in crossed]


@EACH_SEARCH
@EACH_SHOW
def test_no_two_edges_cross(steps: Steps, show: str) -> None:
    at, tree = boxes(drawn(steps, show=show)), nodes(steps)
    for step in steps:
        shown = sorted((n for n in step.nodes if n.id in at), key=lambda n: at[n.id][1])
        parents = [at[n.parent][1] if n.parent is not None else 0 for n in shown]
        assert parents == sorted(parents)
        for one, other in itertools.pairwise(shown):
            if one.parent == other.parent:
                assert tree[one.id].score >= tree[other.id].score


@EACH_SEARCH
@EACH_SHOW
def test_a_node_stays_where_it_is_while_the_search_is_stepped_through(steps: Steps, show: str) -> None:
    last = boxes(drawn(steps, show=show))
    height = drawn(steps, show=show)["layout"]["height"]
    for upto, verdict in itertools.product(range(len(steps) + 1), (True, False)):
        figure = drawn(steps, show=show, upto=upto, verdict=verdict)
        assert figure["layout"]["height"] == height
        here = boxes(figure)
        assert set(here) == {i for i in last if i in {n.id for step in steps[:upto] for n in step.nodes}}
        assert all(here[i][:2] == pytest.approx(last[i][:2]) for i in here)


@EACH_SHOW
@pytest.mark.parametrize("rule", [made.relative(0.3), made.absolute(1.1), made.local(0.6), made.per_parent(1)])
def test_a_node_stays_where_it_is_when_rules_judge_anew(rule: made.Judge, show: str) -> None:
    anew, moved = made.lecture(judge=rule), made.lecture()
    ids = {tuple(n.token.text for n in path(moved, i)): i for i in nodes(moved)}
    judged = renamed(anew, ids)
    before = boxes(drawn(moved, show=show))
    after = boxes(beam_tree.tree(judged, WIDE, root="start", show=show, places=moved))
    assert set(after) <= set(nodes(judged))
    assert all(after[i][:2] == before[i][:2] for i in after if i in before)
    assert [i for i in after if i in before]
    if show == "all":
        assert set(after) == set(nodes(judged))


def path(steps: Steps, node: int) -> list[BeamNode]:
    found = nodes(steps)
    return [found[i] for i in made.path(steps, node)]


def renamed(steps: Steps, ids: dict[tuple[str, ...], int]) -> Steps:
    """The steps with the ids that the same texts have elsewhere; what is new there is left out."""
    names = {i: ids.get(tuple(n.token.text for n in path(steps, i))) for i in nodes(steps)}
    return tuple(
        replace(
            step,
            finished=(),
            nodes=tuple(
                replace(n, id=names[n.id], parent=None if n.parent is None else names[n.parent])
                for n in step.nodes
                if names[n.id] is not None
            ),
        )
        for step in steps
    )


def test_of_a_node_cut_anew_nothing_follows() -> None:
    cut = replace(LECTURE[0].nodes[0], fate="pruned", rule=Cut("relative_threshold", 0.1, 0.2))
    judged = (replace(LECTURE[0], nodes=(cut, *LECTURE[0].nodes[1:])), *LECTURE[1:])
    figure = beam_tree.tree(judged, WIDE, root="start", places=LECTURE)
    assert not set(boxes(figure)) & {n.id for n in LECTURE[1].nodes if n.parent == cut.id}
    assert set(boxes(figure)) >= {n.id for n in LECTURE[1].nodes if n.parent != cut.id}
    assert labels(figure)[cut.id] == ["I", "✕ relative: 0.1 ≤ 0.2"]


def test_columns_wider_than_the_view_scroll() -> None:
    assert "width" not in drawn(DEEP, show="near")["layout"]
    assert drawn(DEEP, show="near")["layout"]["meta"]["scroll"] is False
    for figure in (drawn(LECTURE, PHONE), drawn(DEEP, PHONE), drawn(made.random(depth=12)), drawn(DEEP, zoom=2)):
        layout = figure["layout"]
        assert layout["meta"]["scroll"] is True
        assert layout["width"] > 330 and layout["xaxis"]["range"] == [0, layout["width"]]
    steps = sorted({x0 for x0, _, _, _ in boxes(drawn(DEEP, PHONE)).values()})
    assert len(steps) == 8 and min(b - a for a, b in itertools.pairwise(steps)) >= beam_layout.LEAST


def test_zoomed_in_a_crowded_tree_says_all() -> None:
    near, far = (labels(drawn(DEEP, zoom=zoom)) for zoom in (1, 2.8))
    cut = [n for n in nodes(DEEP).values() if n.fate == "pruned"]
    assert all(near[n.id][1] == "✕" and len(near[n.id]) == 2 for n in cut)
    assert all(far[n.id][1].startswith("✕ width: −") for n in cut)


@pytest.mark.parametrize("width", [1, 4, 8])
def test_settled_heights_keep_order_and_gaps_and_are_the_nearest(width: int) -> None:
    offset = [30.0 * i for i in range(width)]
    pulls = [((37 * i * i) % 300, 1.0) for i in range(width)]
    places = beam_layout._settled(offset, pulls, 400)
    assert all(b - a >= 30 - 1e-9 for a, b in itertools.pairwise(places))
    assert min(places) >= 0 and max(places) <= 400

    def far(at: Sequence[float]) -> float:
        return sum((a - want) ** 2 for a, (want, _) in zip(at, pulls, strict=True))

    for i, nudge in itertools.product(range(width), (-1.0, 1.0)):
        other = [*places[:i], places[i] + nudge, *places[i + 1 :]]
        allowed = all(b - a >= 30 - 1e-9 for a, b in itertools.pairwise(other)) and 0 <= min(other) <= max(other) <= 400
        assert not allowed or far(other) >= far(places) - 1e-9


# --- what a tree shows ---------------------------------------------------------------------------


def test_the_lecture_tree_is_the_lecture_s() -> None:
    said = labels(drawn(LECTURE))
    by_text = {" ".join(n.token.text for n in path(LECTURE, i)): label for i, label in said.items()}
    assert len(by_text) == 6 + 12 + 12
    assert by_text["I"] == ["I", "0.4"] and by_text["We"] == ["We", "0.3"]
    assert by_text["I like"] == ["like", "0.16"] and by_text["I love"] == ["love", "0.16"]
    assert by_text["We like"] == ["like", "✕ width: 0.12 < 0.16"]
    assert by_text["We do"] == ["do", "✕ width: 0.09 < 0.16"]
    assert by_text["I like singing"] == ["singing", "0.096", "■ score −0.78"]
    assert by_text["I love singing"] == ["singing", "0.08", "■ score −0.84"]
    assert by_text["I love dancing"] == ["dancing", "✕ width: 0.048 < 0.08"]
    assert by_text["I like song"] == ["song", "✕ width: 0.032 < 0.08"]


def test_headings_say_how_many_go_on_and_where_the_line_is() -> None:
    heads = [w[0] for w in words(drawn(LECTURE)) if w[2] < beam_layout.HEAD - 16]
    assert heads == [
        *("depth 1 · 2 go on", "width: cut below 0.3"),
        *("depth 2 · 2 go on", "width: cut below 0.16"),
        *("depth 3 · 2 end", "width: cut below 0.08"),
    ]
    heads = [w[0] for w in words(drawn(LECTURE, show="near", upto=2, verdict=False)) if w[2] < beam_layout.HEAD - 16]
    assert heads[-3:] == ["depth 2", "not yet judged", "6 of 12 shown"]


NUMBER = re.compile(r"<?−?\d[\d.,]*")


def numbers(text: str) -> list[float]:
    return [float(n.replace("−", "-").replace(",", "").replace("<", "")) for n in NUMBER.findall(text)]


def half_a_digit(text: str) -> float:
    """How far a number as written may be from what it was."""
    digits = text.partition(".")[2]
    return 0.500001 * 10 ** -len(digits)


@EACH_SEARCH
@pytest.mark.parametrize("width", [330, 800, 1040, 2400])
def test_every_number_in_a_label_is_the_trace_s(steps: Steps, width: int) -> None:
    view = View(EN, "light", width)
    unit = beam_words.unit_of(beam_layout.family(steps))
    finals = {h.node: h.score for step in steps for h in step.finished}
    for i, (_, *parts) in labels(drawn(steps, view, show="near")).items():
        node, said = nodes(steps)[i], " ".join(parts)
        wanted = [{"prob": math.exp(node.logprob), "nats": node.logprob, "score": node.score}[unit]]
        if node.fate == "finished":
            wanted.append(finals[i])
        if node.rule is not None:
            wanted = [node.rule.value, node.rule.threshold]
            if unit == "prob" and node.rule.rule == "width":
                wanted = [math.exp(v) for v in wanted]
            assert said.startswith("✕") and beam_words.rule_name(node.rule.rule, view, 1)[:3] in said
        shown = NUMBER.findall(said)
        assert len(shown) == len(wanted), (said, wanted)
        for text, value in zip(shown, wanted, strict=True):
            (number,) = numbers(text)
            slack = 0.0001 if text[0] == "<" else half_a_digit(text) if unit != "prob" else 0.006 * abs(value)
            slack = max(slack, 0.006 * abs(value) if node.rule and node.rule.rule in beam_words.RATIOS else 0)
            assert abs(number - value) <= slack + 1e-12, (said, wanted)


@EACH_SEARCH
def test_a_cut_never_reads_as_if_its_value_had_passed(steps: Steps) -> None:
    for node in nodes(steps).values():
        for room in (80, 170, math.inf):
            if node.rule is None:
                continue
            said = " ".join(beam_words.reason_lines(node, "nats", WIDE, room))
            value, threshold = numbers(said)
            sign = next(s for s in "<>≤=≈" if f" {s}" in said)
            truth = {"<": value < threshold, ">": value > threshold, "≤": value <= threshold}
            assert truth.get(sign, value == threshold), said


def test_values_that_nearly_tie_are_written_out_until_they_differ() -> None:
    node = replace(LECTURE[1].nodes[5], rule=Cut("width", -3.21405, -3.21401))
    assert beam_words.reason(node, "nats", WIDE) == "✕ width: −3.21405 < −3.21401"
    assert beam_words.reason_lines(node, "nats", WIDE, 85) == ["✕ −3.214 ≈", "width −3.214"]
    tie = replace(node, rule=Cut("width", -3.25, -3.25))
    assert beam_words.reason(tie, "nats", WIDE) == "✕ width: −3.25 = −3.25"


@pytest.mark.parametrize("name", [*pruning.REGISTRY, "width", "late_end", "worse_finish", "not_drawn"])
@pytest.mark.parametrize("text", [EN, ZH], ids=LANGS)
def test_every_rule_of_the_core_has_words(name: str, text: Text) -> None:
    assert name in beam_words.RULES
    forms = [beam_words.rule_name(name, View(text), form) for form in (0, 1, 2)]
    assert "_" not in "".join(forms) and len(forms[1]) <= len(forms[0]) <= len(forms[2]) + 1
    node = replace(LECTURE[1].nodes[5], rule=Cut(name, 12.0, 13.0))
    assert beam_words.reason(node, "nats", View(text)).startswith(f"✕ {forms[0]}")


def test_an_unknown_rule_is_called_by_its_own_name_and_keeps_its_numbers() -> None:
    node = replace(LECTURE[1].nodes[5], rule=Cut("a_rule_of_<b>tomorrow</b>", 1.25, 2.5))
    steps = (LECTURE[0], replace(LECTURE[1], nodes=(*LECTURE[1].nodes[:5], node, *LECTURE[1].nodes[6:])), LECTURE[2])
    for view in (WIDE, PHONE):
        said = " ".join(labels(drawn(steps, view, show="all"))[node.id])
        assert "1.25" in said and "2.50" in said and "a r" in said
        assert "&lt;b&gt;" in hovers(drawn(steps, view))[node.id]


def test_kept_is_solid_cut_is_dashed_and_wider_is_likelier() -> None:
    ends = {(round(x0 + 2 - beam_edges.CLOSE, 3), y0): i for i, (x0, y0, _, _) in boxes(drawn(DEEP)).items()}
    seen: dict[int, tuple[float, str]] = {}
    for trace, line in curves(drawn(DEEP)):
        x, y = line[-1]
        seen[ends[round(x, 3), y - beam_layout.HALF]] = (trace["line"]["width"], trace["line"]["dash"])
    assert set(seen) == set(nodes(DEEP))
    for a, b in itertools.combinations(nodes(DEEP).values(), 2):
        assert (seen[a.id][0] <= seen[b.id][0]) or a.prob > b.prob
    assert all((seen[i][1] == "solid") == (n.fate != "pruned") for i, n in nodes(DEEP).items())


def test_undecided_candidates_are_grey_and_say_no_reason() -> None:
    figure = drawn(LECTURE, upto=2, verdict=False)
    second = {n.id for n in LECTURE[1].nodes}
    assert not [text for i in second for text in labels(figure)[i] if "✕" in text]
    assert all("not yet judged" in hovers(figure)[i] and "cut by" not in hovers(figure)[i] for i in second)
    grey = style.mix(WIDE.color("soft"), WIDE.color("panel"), 0.35)
    assert sum(trace["line"]["color"] == grey for trace, _ in curves(figure)) == len(second)


def test_the_band_runs_along_the_best_text() -> None:
    figure = drawn(LECTURE)
    band = next(t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["width"] == beam_edges.BAND)
    at = boxes(figure)
    for i in made.best(LECTURE):
        x0, y0, _, _ = at[i]
        near = [x for x, y in zip(band["x"], band["y"], strict=True) if x and abs(y - y0 - beam_layout.HALF) < 1e-6]
        assert min(near) < x0 + 2 < max(near)
    assert None not in band["x"][:-1]  # one piece
    empty = next(t for t in beam_tree.tree(LECTURE, WIDE, root="start")["data"] if t.get("mode") == "lines")
    assert empty["x"] == []


def test_near_shows_every_end_of_a_beam_and_the_nearest_cuts() -> None:
    for steps in SEARCHES.values():
        shown = set(boxes(drawn(steps, show="near")))
        assert shown >= {n.id for n in nodes(steps).values() if n.fate != "pruned"}
        for step in steps:
            cut = [n for n in step.nodes if n.fate == "pruned"]
            here = [n for n in cut if n.id in shown]
            parents = {n.parent for n in step.nodes}
            assert {n.parent for n in step.nodes if n.id in shown} == parents
            assert len(here) <= max(beam_layout.NEAR, len(parents))
            assert len(here) >= min(beam_layout.NEAR, len(cut))
            assert not here or cut[0].id in shown
    assert set(boxes(drawn(DEEP, show="kept"))) == {i for i, n in nodes(DEEP).items() if n.fate != "pruned"}
    assert set(boxes(drawn(DEEP))) == set(nodes(DEEP))


def test_the_marked_node_is_always_shown_framed_and_named() -> None:
    cut = LECTURE[1].nodes[-1].id
    for show in ("all", "near", "kept"):
        figure = drawn(LECTURE, show=show, mark=cut)
        assert labels(figure)[cut][-1] == "▴ best text lost here"
        frame = figure["data"][-1]
        x0, y0, x1, y1 = boxes(figure)[cut]
        assert min(frame["x"][:-1]) < x0 and max(frame["x"][:-1]) > x1 - 4
        assert min(frame["y"][:-1]) < y0 and max(frame["y"][:-1]) > y1
    assert drawn(LECTURE, mark=cut, upto=2, verdict=False)["data"][-1]["x"] == []
    assert drawn(LECTURE, mark=cut, upto=1)["data"][-1]["x"] == []


def test_a_collapsed_node_hides_and_counts_what_descends_from_it() -> None:
    like = next(n.id for n in LECTURE[1].nodes if n.fate == "kept")
    figure = drawn(LECTURE, collapsed=frozenset([like]))
    gone = {n.id for n in LECTURE[2].nodes if n.parent == like}
    assert set(boxes(figure)) == set(nodes(LECTURE)) - gone
    assert labels(figure)[like] == ["like", "0.16", "▸ 6 folded"]
    assert boxes(drawn(LECTURE, collapsed=frozenset(nodes(LECTURE)))).keys() == {n.id for n in LECTURE[0].nodes}


def test_hover_tells_all() -> None:
    said = hovers(drawn(LECTURE))
    love_dancing = next(n for n in LECTURE[2].nodes if n.token.text == "dancing" and n.rule and n.prob == 0.3)
    assert said[love_dancing.id].split("<br>") == [
        "<b>dancing</b>",
        f"id {love_dancing.token.id} · bytes 64 61 6E 63 69 6E 67",
        "own probability: 30.0 %",
        "whole text: −3.0366 nats, 4.8 %",
        "rank 3 of 12 at depth 3",
        "✕ cut by the beam width: −3.04 &lt; −2.53 nats",
    ]
    assert said[LECTURE[0].nodes[0].id].endswith("kept: it goes on")
    assert said[LECTURE[2].nodes[0].id].endswith("■ finished: its text ends here, score −0.78")
    assert "score" not in said[love_dancing.id] and "group" not in said[love_dancing.id]
    assert said[None] == "start"
    noisy = SEARCHES["perturbed"]
    node = noisy[1].nodes[0]
    assert f"ranked by score {style.decimal(node.score, 4)}" in hovers(drawn(noisy))[node.id]
    assert f"group {node.group + 1}" in hovers(drawn(noisy))[node.id]


def test_before_the_first_depth_there_is_only_the_root() -> None:
    for figure in (drawn(LECTURE, upto=0), beam_tree.tree((), WIDE, root="start")):
        assert [w[0] for w in words(figure)] == ["start"] and boxes(figure) == {}
        go.Figure(figure)


def test_one_of_a_kind_is_said_in_the_singular() -> None:
    only = (replace(LECTURE[0], nodes=LECTURE[0].nodes[:1], considered=1, finished=()),)
    caption = beam_tree.tree_caption(only, WIDE)
    assert caption["title"] == "Depth 1 · of 1 candidate 1 goes on"
    assert said(caption).startswith("1 candidate considered, 0 cut.")


def test_one_unit_holds_for_the_whole_picture() -> None:
    units = {name: beam_words.unit_of(beam_layout.family(steps)) for name, steps in SEARCHES.items()}
    assert units["lecture"] == "prob" and units["deep"] == "nats" and units["perturbed"] == "score"
    tiny = replace(DEEP[-1].nodes[0], logprob=-400.0, score=-400.0)
    steps = (*DEEP[:-1], replace(DEEP[-1], nodes=(tiny, *DEEP[-1].nodes[1:])))
    assert "−400.0000 nats, &lt; 0.01 %" in hovers(drawn(steps))[tiny.id]


def test_three_hundred_nodes_are_all_there_and_legible() -> None:
    steps = made.random(width=4, depth=8, top=11)
    figure = drawn(steps)
    assert len(boxes(figure)) == len(nodes(steps)) == 11 + 7 * 44
    assert len(figure["data"]) == 20 and overlaps(words(figure)) == []
    assert figure["layout"]["height"] < 1100


# --- the queue -----------------------------------------------------------------------------------


def rows_of(figure: dict[str, Any]) -> list[int | None]:
    return [row[0] for row in figure["data"][0]["customdata"]]


def texts_of(figure: dict[str, Any]) -> list[str]:
    return [plain(t) for trace in figure["data"] if trace.get("mode") == "text" for t in trace["text"]]


@EACH_SEARCH
def test_the_queue_is_in_order_and_cut_where_the_search_cut_it(steps: Steps) -> None:
    for step in steps:
        figure = beam_queue.queue(steps, WIDE, depth=step.depth)
        ids = [i for i in rows_of(figure) if i is not None]
        assert ids == [n.id for n in step.nodes][: len(ids)]
        assert len(ids) == min(len(step.nodes), max(beam_queue.MOST, len(ids)))
        going = [n for n in step.nodes if n.fate != "pruned"]
        assert {n.id for n in going} <= set(ids)
        if len(going) < len(step.nodes):
            line = rows_of(figure).index(None)
            assert line == step.nodes.index(going[-1]) + 1
        if others := len(step.nodes) - len(ids):
            assert f"{others} others below" in texts_of(figure)


@EACH_SEARCH
def test_bars_of_the_queue_are_as_long_as_probable_beside_the_best(steps: Steps) -> None:
    step = steps[-1]
    figure = beam_queue.queue(steps, WIDE, depth=step.depth)
    kept, _, cut = figure["data"][1:4]
    best = step.nodes[0].score
    going = [n for n in step.nodes if n.fate != "pruned"]
    assert kept["x"] == pytest.approx([math.exp(n.score - best) for n in going])
    shown = [n for n in step.nodes if n.id in rows_of(figure) and n.fate == "pruned"]
    assert cut["x"][2::6] == pytest.approx([math.exp(n.score - best) for n in shown])
    waiting = beam_queue.queue(steps, WIDE, depth=step.depth, verdict=False)["data"][1:4]
    assert waiting[0]["x"] == [] and waiting[2]["x"] == []
    assert len(waiting[1]["x"]) == len([i for i in rows_of(figure) if i is not None])


def test_the_queue_of_the_lecture() -> None:
    figure = beam_queue.queue(LECTURE, View(EN, "light", 520), depth=2, joiner=" ")
    said = texts_of(figure)
    assert said[:3] == ["I like", "I love", "We like"]
    assert "▲ 2 go on   ▼ width: cut below 0.16" in said
    assert "✕ width: 0.12 < 0.16" in said and "✕ width: 0.003 < 0.16" in said
    assert [t for t in said if re.fullmatch(r"0\.\d+", t)][:4] == ["0.16", "0.16", "0.12", "0.09"]
    assert "prob." in said
    assert not [t for t in texts_of(beam_queue.queue(LECTURE, WIDE, depth=2, verdict=False)) if "✕" in t or "▼" in t]


@pytest.mark.parametrize("width", [330, 420, 520, 700, 1040])
@EACH_SEARCH
def test_the_texts_of_a_queue_fit_beside_each_other(steps: Steps, width: int) -> None:
    for text, step in itertools.product((EN, ZH), steps):
        figure = beam_queue.queue(steps, View(text, "light", width), depth=step.depth)
        low, high = figure["layout"]["xaxis"]["range"]
        px = width / (high - low)
        spans: dict[float, list[tuple[float, float, str]]] = {}
        for trace in figure["data"]:
            if trace.get("mode") != "text":
                continue
            font, right = trace["textfont"], trace["textposition"] == "middle right"
            mono = "mono" in font["family"]
            for x, y, label in zip(trace["x"], trace["y"], trace["text"], strict=True):
                said = plain(label)
                wide = style.text_px(said, font["size"], mono) if mono else beam_words.label_px(said, font["size"])
                start = (x - low) * px if right else (x - low) * px - wide
                spans.setdefault(round(y, 3), []).append((start, start + wide, said))
        for row in spans.values():
            assert all(a >= -0.5 and b <= width + 0.5 for a, b, _ in row)
            ordered = sorted(span for span in row if span[2])
            assert all(a[1] <= b[0] + 0.01 for a, b in itertools.pairwise(ordered)), ordered


@pytest.mark.parametrize(
    ("rule", "place"), [(made.relative(0.3), 0.3), (made.absolute(1.0), math.exp(-1.0))], ids=["relative", "absolute"]
)
def test_a_threshold_on_the_bars_scale_is_an_upright_line(rule: made.Judge, place: float) -> None:
    steps = made.lecture(judge=rule)
    figure = beam_queue.queue(steps, View(EN, "light", 520), depth=2)
    lines = [t for t in figure["data"] if t.get("mode") == "lines" and t["line"]["dash"] == "2px,2px"]
    (line,) = lines
    assert [x for x in line["x"] if x is not None] == pytest.approx([place] * 4)
    notes = [
        x
        for t in figure["data"]
        if t.get("mode") == "text"
        for x, text in zip(t["x"], t["text"], strict=True)
        if text.startswith("✕") and ":" in text
    ]
    assert notes and min(notes) > place
    plain_figure = beam_queue.queue(LECTURE, View(EN, "light", 520), depth=2)
    assert not [
        t for t in plain_figure["data"] if t.get("mode") == "lines" and t["line"]["dash"] == "2px,2px" and t["x"]
    ]


def test_a_long_text_is_shortened_from_the_left() -> None:
    assert beam_words.tail("the best thing", 8) == "… thing" or beam_words.tail("the best thing", 8) == "…t thing"
    assert beam_words.tail("ab", 2) == "ab" and beam_words.tail("abc", 2) == "…c" and beam_words.tail("abc", 0) == ""
    assert beam_words.tail("xe\u0301yz", 3) == "…yz"  # no accent without its letter
    figure = beam_queue.queue(DEEP, PHONE, depth=8)
    names = figure["data"][4]["text"]
    assert all(style.cells(plain(name)) <= 10 for name in names)


# --- words ---------------------------------------------------------------------------------------


def said(caption: dict[str, str]) -> str:
    return caption["text"].replace("\u00a0", " ")


def test_the_caption_of_the_lecture_tree() -> None:
    best = made.best(LECTURE)
    caption = beam_tree.tree_caption(LECTURE, WIDE, best=best, joiner=" ")
    assert caption["title"] == "Best: “I like singing”, probability 0.096"
    assert said(caption).startswith("30 candidates considered, 24 cut. A line is as wide as its token is probable;")
    assert "the number is the probability of the whole text." in said(caption)
    chinese = beam_tree.tree_caption(LECTURE, View(ZH), best=best, joiner=" ")
    assert chinese["title"] == "最佳：“I like singing”，概率 0.096"
    assert beam_tree.tree_caption(LECTURE, WIDE, best=best, best_text="I <b>x")["title"].startswith("Best: “I <b>x”")


def test_before_the_end_the_caption_says_where_the_search_is() -> None:
    best = made.best(LECTURE)
    first = beam_tree.tree_caption(LECTURE, WIDE, upto=2, verdict=False, best=best)
    assert first["title"] == "Depth 2 · 12 candidates, not yet judged"
    assert said(first).startswith("18 candidates considered, 4 cut.")
    then = beam_tree.tree_caption(LECTURE, WIDE, upto=2, best=best)
    assert then["title"] == "Depth 2 · of 12 candidates 2 go on" and said(then).startswith(
        "18 candidates considered, 14 cut."
    )
    assert beam_tree.tree_caption(LECTURE, WIDE, upto=0)["title"] == "depth 0"
    last = beam_tree.tree_caption(LECTURE, WIDE, verdict=False, best=best)
    assert last["title"] == "Depth 3 · 12 candidates, not yet judged"


def test_the_caption_counts_what_was_not_recorded() -> None:
    steps = tuple(replace(step, considered=49_152) for step in LECTURE)
    text = said(beam_tree.tree_caption(steps, WIDE, best=made.best(steps)))
    assert text.startswith("147,456 candidates considered, 147,450 cut. The 30 that came nearest are recorded.")


def test_the_caption_says_where_the_best_text_was_lost() -> None:
    we_like = next(n for n in LECTURE[1].nodes if n.token.text == "like" and n.fate == "pruned")
    caption = beam_tree.tree_caption(LECTURE, WIDE, best=made.best(LECTURE), mark=we_like.id, joiner=" ")
    assert caption["title"].startswith("Best found: “I like singing”")
    assert "lost at depth 2: “We like” was cut by the beam width, 0.12 < 0.16." in said(caption).replace("\u00a0", " ")
    early = beam_tree.tree_caption(LECTURE, WIDE, mark=we_like.id, upto=2, verdict=False)
    assert "lost" not in early["text"]


def test_tiny_probabilities_are_said_as_such() -> None:
    tiny = tuple(
        replace(step, nodes=tuple(replace(n, logprob=n.logprob - 40, score=n.score - 40) for n in step.nodes))
        for step in LECTURE
    )
    title = beam_tree.tree_caption(tiny, WIDE, best=made.best(tiny), joiner=" ")["title"].replace("\u00a0", " ")
    assert title == "Best: “I like singing”, probability <0.0001 (−42.34 nats)"
    text = said(beam_queue.queue_caption(tiny, WIDE, depth=1))
    assert "The best is “I”, log-probability −40.92 nats, probability <0.0001." in text


def test_the_caption_of_the_queue() -> None:
    caption = beam_queue.queue_caption(LECTURE, WIDE, depth=2, joiner=" ")
    assert caption["title"] == "Depth 2 · 12 candidates in order"
    assert said(caption) == (
        "2 beams propose their next tokens. The best is “I like”, log-probability −1.83 nats, probability 0.16. "
        "2 go on, 10 cut."
    )
    assert said(beam_queue.queue_caption(LECTURE, WIDE, depth=1)).startswith("One beam proposes its next tokens.")
    assert "Nothing has been cut yet." in said(beam_queue.queue_caption(LECTURE, WIDE, depth=2, verdict=False))
    noisy = said(beam_queue.queue_caption(SEARCHES["perturbed"], WIDE, depth=2))
    assert "not of the probability" in noisy


@EACH_SEARCH
def test_captions_speak_both_languages(steps: Steps) -> None:
    best = made.best(steps)
    for make in (
        lambda view: beam_tree.tree_caption(steps, view, best=best, mark=steps[0].nodes[-1].id),
        lambda view: beam_queue.queue_caption(steps, view, depth=1),
    ):
        english, chinese = make(View(EN)), make(View(ZH))
        assert english["title"] and english["text"] and re.search("[\u4e00-\u9fff]", chinese["text"])
        assert "{" not in english["text"].replace("{{", "") or any("{" in w for w in made.WORDS)


# --- the code ------------------------------------------------------------------------------------


def test_the_pseudo_code_is_the_corrected_one() -> None:
    for text in (EN, ZH):
        lines = beam_code.code(View(text))
        assert [line.number for line in lines] == list(range(1, 17))
        missing = {line.text.strip(): line.comment for line in lines if line.missing}
        assert set(missing) == {"beams = new", "if sequence ends in END and rank <= width:"}
        assert all(("put right" if text is EN else "更正") in comment for comment in missing.values())


def test_each_phase_lights_its_lines_and_all_phases_cover_the_loop() -> None:
    lines = {line.number: line.text for line in beam_code.code(WIDE)}
    phases: list[beam_code.Phase] = ["expand", "score", "prune", "select", "finish", "stop"]
    lit = [beam_code.lit(phase) for phase in phases]
    assert all(set(numbers) <= set(lines) and numbers for numbers in lit)
    assert len(set(itertools.chain(*lit))) == sum(map(len, lit))  # no line in two phases
    assert "model(" in lines[beam_code.lit("expand")[-1]] and "ln p" in lines[beam_code.lit("score")[0]]
    assert any("beams = new" in lines[n] for n in beam_code.lit("select"))
    assert any("finished.add" in lines[n] for n in beam_code.lit("finish"))
    assert any("break" in lines[n] for n in beam_code.lit("stop"))


def test_no_text_is_empty() -> None:
    """Plotly draws no node for an empty text, and loses another's when it redraws."""
    figures = [
        beam_queue.queue(LECTURE, view, depth=d, verdict=v) for view in (WIDE, PHONE) for d in (1, 3) for v in (0, 1)
    ]
    figures += [beam_tree.tree(LECTURE, WIDE, root="start", upto=d) for d in (1, 2, 3)]
    texts = [
        text for figure in figures for trace in figure["data"] if trace.get("mode") == "text" for text in trace["text"]
    ]
    assert texts and all(texts)


def test_letters_of_several_bytes_are_read_across_tokens() -> None:
    pieces = [b"\xf0\x9f", b"\x98\x8a", b"\xe5\xa5"]
    tokens = [Token(i, f"⟨{data.hex(' ').upper()}⟩", data) for i, data in enumerate(pieces)]
    assert style.running_text(tokens) == "😊⟨E5 A5⟩"
    assert style.running_text([Token(0, "I"), Token(1, "like")], " ") == "I like"
