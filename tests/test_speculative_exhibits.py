"""Exhibits on the page *Corrections*: what Top-K verification writes, and which draft length is best."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from decoding.models import table
from decoding.speculative import cost
from decoding.trace import MAX_GAMMA
from tests.label_boxes import faults, words
from visualizations.figures import spec_emitted, spec_length
from visualizations.figures.style import View
from visualizations.pages import speculative_exhibits, view
from visualizations.text import LANGS, Text

EN = Text("en")
RANKS = range(1, 7)
WIDTHS = (240, 358, 480, 700, 1040, 2000)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), theme, width) for lang, theme in zip(LANGS, ("light", "dark"), strict=True) for width in WIDTHS],
    ids=lambda view: f"{view.text.lang}-{view.width}",
)


def panels(text: Text = EN, **sliders: float) -> dict[str, Any]:
    """As the page renders them."""
    return speculative_exhibits.panels(view.read_ask(json.dumps({"run": "x", "sliders": sliders})), text)


def row(name: str) -> dict[str, float]:
    """The first row of a table, as its file says."""
    return dict(table.read(table.TABLES / f"{name}.json").after(()))


@pytest.mark.parametrize("ranks", RANKS)
def test_what_top_k_writes_is_counted_by_hand(ranks: int) -> None:
    """q where the draft is among the K likeliest of p, and p times all that was rejected."""
    p, q = row("lecture"), row("lecture-draft")
    kept = set(sorted(p, key=lambda word: -p[word])[:ranks])  # of equals those that the table names first
    rejected = 1 - sum(q[word] for word in kept)
    found = {each.token.text: each for each in speculative_exhibits.rows(ranks)}
    assert {word: each.top_k for word, each in found.items()} == pytest.approx(
        {word: (q[word] if word in kept else 0) + rejected * p[word] for word in p}
    )
    assert {word: each.lossless for word, each in found.items()} == pytest.approx(p)
    assert {word: each.target for word, each in found.items()} == pytest.approx(p)


@pytest.mark.parametrize("ranks", RANKS)
def test_many_draws_say_the_same(ranks: int) -> None:
    test = speculative_exhibits.tested(ranks)
    plain, lossless, top_k = test.rules
    assert max(plain.measured, lossless.measured) < test.high < 0.01 < top_k.measured and top_k.excess is not None


def test_the_panel_tells_the_word_and_both_shares() -> None:
    found = panels(ranks=2)["verification"]
    assert found["title"].replace("\u00a0", " ") == (
        "Top-K with K = 2 writes “I” 62.0 % of the time; the target wants 40.0 %"
    )
    assert "0.22 away" in found["text"] and "draft’s law" not in found["text"]
    assert "draft’s law" in panels(ranks=6)["verification"]["text"], "with K as large as the table all drafts pass"
    assert panels(ranks=99)["verification"]["figure"] and panels(ranks=-3)["verification"]["figure"]


@pytest.mark.parametrize("ranks", RANKS)
@EACH_VIEW
def test_the_words_of_the_bars_do_not_touch(ranks: int, view: View) -> None:
    figure = spec_emitted.emitted(speculative_exhibits.rows(ranks), view)
    assert faults(figure, view.width) == []
    assert sum("▲" in text or "▼" in text for text in words(figure)) == sum(
        abs(each.top_k - each.target) > spec_emitted.SAME for each in speculative_exhibits.rows(ranks)
    )


CHOSEN = [(0.54, 0.06), (0.8, 0.05), (0.3, 0.5), (0, 0), (0, 1), (1, 0), (1, 0.3), (0.95, 0.01), (0.6, 0.1), (0.5, 0.4)]


@pytest.mark.parametrize(("alpha", "draft_cost"), CHOSEN)
@EACH_VIEW
def test_the_words_of_the_curve_do_not_touch(alpha: float, draft_cost: float, view: View) -> None:
    found = speculative_exhibits.lengths(alpha, draft_cost)
    assert faults(spec_length.lengths(found, view), view.width) == []


@pytest.mark.parametrize(("alpha", "draft_cost"), CHOSEN)
def test_the_best_length_is_the_best(alpha: float, draft_cost: float) -> None:
    found = speculative_exhibits.lengths(alpha, draft_cost)
    assert len(found.speeds) == MAX_GAMMA + 1 and found.speeds[0] == 1
    assert found.speeds[found.best] == max(found.speeds)
    for gamma in range(1, MAX_GAMMA + 1):
        tokens = sum(alpha**i for i in range(gamma + 1))
        assert found.speeds[gamma] == pytest.approx(tokens / (gamma * draft_cost + 1))
    title = spec_length.lengths_caption(found, View(EN))["title"]
    assert (f"γ = {found.best} is best" in title) == (found.best > 0)
    assert ("no drafting pays" in title) == (found.best == 0)


def test_neither_length_of_the_notes_is_best_for_all() -> None:
    best = {speculative_exhibits.lengths(*chosen).best for chosen in itertools.product((0.3, 0.6, 0.9), (0.02, 0.2))}
    assert len(best) > 3 and not best <= set(speculative_exhibits.NOTES)


def test_the_sliders_begin_at_what_was_measured() -> None:
    alpha, draft_cost = speculative_exhibits.measured()
    sliders = {each.name: each for each in speculative_exhibits.controls(EN)}
    assert sliders["alpha"].value == alpha and sliders["draft_cost"].value == draft_cost  # type: ignore[union-attr]
    found = panels()["length"]
    best = cost.best_gamma(lambda gamma: cost.speedup(alpha, gamma, draft_cost))
    assert f"γ = {best} is best" in found["title"]
    assert f"α = {alpha:.2f}, c = {draft_cost:.2f}" in found["text"].split("\n")[1]
    assert panels(alpha=7, draft_cost=-1)["length"]["title"].startswith("With α = 1.00 and c = 0.00")


@pytest.mark.parametrize("lang", LANGS)
def test_every_panel_has_words_a_picture_and_its_code(lang: Any) -> None:
    found = panels(Text(lang))
    assert set(found) == {panel.name for panel in speculative_exhibits.PANELS} == set(speculative_exhibits.sources())
    for name, panel in found.items():
        assert panel["title"] and panel["text"] and panel["figure"]["data"]
        assert "def " in view.source_text(speculative_exhibits.sources()[name])
