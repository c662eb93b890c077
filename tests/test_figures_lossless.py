"""The picture of how far each rule is from the target: marks where the numbers say, words that touch nothing."""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import replace
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest

from decoding.speculative.values import EmittedLaw, Excess, LawTest
from decoding.trace import Token
from visualizations.figures import spec_lossless, spec_lossless_words
from visualizations.figures.spec_lossless_words import lossless_caption
from visualizations.figures.style import View, text_px
from visualizations.pages.measuring import recorded
from visualizations.pages.speculative_lossless import NAME, Tests
from visualizations.text import LANGS, Text

EN = Text("en")
RECORDED = recorded("speculative", NAME, Tests) or ()
FAR = Excess(Token(7, " <b>the"), 0.31, 0.42)


def made(draws: int, high: float, lossy: float, plain: float | None = None) -> LawTest:
    """A test whose lossless rules measure half of the noise, and whose lossy ones are so far away."""
    laws = [("plain", 0.0, plain), ("lossless", 0.0, None), ("exact", 0.0, None), ("top_k", lossy, lossy)]
    rules = tuple(
        EmittedLaw(name, True, exact, high / 2 if measured is None else measured, 0.4, None)  # type: ignore[arg-type]
        for name, exact, measured in laws
    )
    top = replace(rules[3], lossless=False, excess=FAR if lossy else None)
    typical = replace(top, rule="typical", exact=lossy / 2, measured=lossy / 2)
    first = replace(rules[0], acceptance=None)
    return LawTest(draws, 0, 9, high / 2, high, 0.99, (first, *rules[1:3], top, typical))


TESTS = {
    **{f"recorded {test.draws}": test for test in RECORDED},
    "far": made(200_000, 0.0051, 0.98),
    "all exact": made(10_000, 0.03, 0.0),
    "within": made(1_000, 0.09, 0.05),
    "out by chance": made(10_000, 0.02, 0.3, plain=0.021),
}
EACH = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
WIDTHS = (240, 300, 358, 479, 519, 520, 639, 640, 800, 1040, 2000)
EACH_VIEW = pytest.mark.parametrize(
    "view",
    [View(Text(lang), theme, width) for lang, theme in zip(LANGS, ("light", "dark"), strict=True) for width in WIDTHS],
    ids=lambda view: f"{view.text.lang}-{view.width}",
)


def drawn(test: LawTest, view: View) -> dict[str, Any]:
    return spec_lossless.spec_lossless(test, view, spec_lossless.largest([test]))


def words(figure: dict[str, Any]) -> list[tuple[str, float, float, float, float]]:
    """Every text and the box that it takes at most."""
    found = []
    for trace in figure["data"]:
        if trace.get("mode") != "text":
            continue
        size, mono = trace["textfont"]["size"], "mono" in trace["textfont"]["family"]
        for x, y, said in zip(trace["x"], trace["y"], trace["text"], strict=True):
            text = html.unescape(re.sub("</?b>", "", said))
            wide = text_px(text, size, mono)
            left = x - wide * {"middle right": 0, "middle center": 0.5, "middle left": 1}[trace["textposition"]]
            found.append((text, left, y - 7, left + wide, y + 7))
    return found


def marks(figure: dict[str, Any], symbol: str) -> list[tuple[float, float]]:
    found = [t for t in figure["data"] if t.get("mode") == "markers" and t["marker"]["symbol"] == symbol]
    return [point for trace in found for point in zip(trace["x"], trace["y"], strict=True)]


@EACH
@EACH_VIEW
def test_no_words_touch_others_or_the_edge(test: LawTest, view: View) -> None:
    figure = drawn(test, view)
    found = words(figure)
    for a, b in itertools.combinations(found, 2):
        assert min(a[3], b[3]) - max(a[1], b[1]) <= 0 or min(a[4], b[4]) - max(a[2], b[2]) <= 0, (a, b)
    tall = figure["layout"]["height"]
    for text, left, top, right, bottom in found:
        assert left >= -1 and right <= view.width + 1 and top >= 0 and bottom <= tall, text
    points = [p for symbol in ("circle", "diamond") for p in marks(figure, symbol)]
    for (text, left, top, right, bottom), (x, y) in itertools.product(found, points):
        assert not (left - 3 < x < right + 3 and top < y < bottom), f"a mark on {text}"


@EACH
@pytest.mark.parametrize("lang", LANGS)
def test_plotly_takes_it(test: LawTest, lang: Any) -> None:
    figure = drawn(test, View(Text(lang), "dark", 700))
    go.Figure(figure)
    orjson.dumps(figure)
    assert all(t["textfont"]["size"] >= 12 and all(t["text"]) for t in figure["data"] if t.get("mode") == "text")


@EACH
def test_marks_stand_at_their_distances(test: LawTest) -> None:
    """On a scale that goes with the square root: twice as far to the right is four times as far from the target."""
    view = View(EN, "light", 800)
    figure, most = drawn(test, view), spec_lossless.largest([test])
    filled = [*marks(figure, "circle")[1:], *marks(figure, "diamond")]  # the first one is of the key
    hollow = [*marks(figure, "circle-open")[1:], *marks(figure, "diamond-open")]
    by_row = sorted(zip(filled, hollow, strict=True), key=lambda pair: pair[0][1])
    (band,) = [trace for trace in figure["data"] if trace["type"] == "bar"]
    zero = band["base"]
    unit = band["x"][0] ** 2 / test.high
    for law, ((x, y), (exact, same)) in zip(test.rules, by_row, strict=True):
        assert y == same
        assert ((x - zero) ** 2 / unit, (exact - zero) ** 2 / unit) == pytest.approx((law.measured, law.exact))
        assert x <= view.width and law.measured <= most


@EACH
def test_lossy_is_told_by_shape_and_word_too(test: LawTest) -> None:
    figure = drawn(test, View(EN, "light", 800))
    assert len(marks(figure, "diamond")) == 2 == sum("lossy" in text for text, *_ in words(figure))
    assert sum("lossless" in text for text, *_ in words(figure)) == 2


def test_one_scale_for_all_amounts_so_that_the_band_narrows() -> None:
    most = spec_lossless.largest(RECORDED)
    figures = [spec_lossless.spec_lossless(test, View(EN, "light", 800), most) for test in RECORDED]
    ends = [next(trace["x"][0] for trace in figure["data"] if trace["type"] == "bar") for figure in figures]
    assert ends[0] > 1.5 * ends[1] > 3 * ends[2]


def caption(test: LawTest, lang: Any = "en") -> tuple[str, str]:
    found = lossless_caption(test, View(Text(lang)))
    return found["title"].replace("\u00a0", " "), found["text"].replace("\u00a0", " ")


def test_the_title_is_the_finding() -> None:
    assert caption(TESTS["far"])[0] == "Lossless rules stay in the noise; Top-K is 0.98 away from the target’s law"
    assert caption(TESTS["within"])[0] == "With 1,000 draws no rule can be told from the target"
    assert caption(TESTS["all exact"])[0] == "On these two laws every rule keeps the target’s law"


def test_the_token_written_too_often_is_named_with_both_shares() -> None:
    assert "Top-K writes “␣<b>the” 42.0 % of the time instead of 31.0 %." in caption(TESTS["far"])[1]
    assert "Top-K 规则写出“␣<b>the”的概率是 42.0 %，而不是 31.0 %。" in caption(TESTS["far"], "zh")[1]
    assert "instead of" not in caption(TESTS["all exact"])[1]


def tied(lossy: float = 0.3, typical: float = 0.3, measured: float = 0.301, plain: float | None = None) -> LawTest:
    """Both lossy rules off, by so much."""
    test = made(10_000, 0.02, lossy, plain)
    other = replace(test.rules[4], exact=typical, measured=measured, excess=FAR)
    return replace(test, rules=(*test.rules[:4], other))


@pytest.mark.parametrize("typical", [0.3, 0.3 + 1e-12, 0.3049, 0.2951])
def test_of_rules_equally_far_none_is_called_the_worst(typical: float) -> None:
    """Equal in the digits shown; measured, the one or the other may be ahead."""
    for lang, title, said in (
        (
            "en",
            "Top-K and typical acceptance are each 0.30 away",
            "Top-K and typical acceptance write “␣<b>the” 42.0 %",
        ),
        ("zh", "Top-K 规则和典型接受与目标分布都相差 0.30", "Top-K 规则和典型接受写出“␣<b>the”的概率都是 42.0 %"),
    ):
        for measured in (0.29, 0.31):
            found = caption(tied(0.3, typical, measured), lang)
            assert title in found[0] and said in found[1]
    assert (
        "keep the target’s law; Top-K and typical acceptance are each" in caption(tied(typical=typical, plain=0.03))[0]
    )


def test_a_rule_ahead_in_the_digits_shown_is_named_alone() -> None:
    assert "typical acceptance is 0.31 away" in caption(tied(0.3, 0.306))[0]
    assert "Top-K is 0.30 away" in caption(tied(0.3, 0.294))[0]


def test_rules_equally_far_may_write_other_tokens() -> None:
    test = tied()
    other = replace(test.rules[4], excess=replace(FAR, token=Token(8, " it")))
    text = caption(replace(test, rules=(*test.rules[:4], other)))[1]
    assert "Top-K writes “␣<b>the” 42.0 %" in text and "Typical acceptance writes “␣it” 42.0 %" in text


def test_one_rule_beyond_the_noise_is_enough_to_tell() -> None:
    """Also where the other, as far off, happened to stay within it."""
    test = tied(0.021, 0.021, measured=0.03)
    within = replace(test.rules[3], measured=0.019)
    assert "each 0.021 away" in caption(replace(test, rules=(*test.rules[:3], within, test.rules[4])))[0]


@pytest.mark.parametrize("lang", LANGS)
def test_the_recorded_title_ranks_no_rule_above_its_equal(lang: Any) -> None:
    text = Text(lang)
    for test in RECORDED:
        far = spec_lossless_words.worst(test)
        title = caption(test, lang)[0]
        if any(law.measured > test.high for law in test.rules):
            assert all(text(f"lossless.name_{law.rule}") in title for law in far)


def test_a_lossless_rule_out_of_the_band_is_owned_up_to() -> None:
    title, text = caption(TESTS["out by chance"])
    assert "Here plain sampling left the band by chance" in text and "fewer than 1 of 100" in text
    assert "stay in the noise" not in title, "no title says what the picture does not show"
    assert title == "Lossless rules keep the target’s law; Top-K is 0.30 away from it"
    assert "left the band" not in caption(TESTS["far"])[1]
