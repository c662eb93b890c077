"""Every page in both languages: paints at once, fits its width, follows the theme, links to the others."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from decoding.errors import UserError
from tests.e2e.conftest import Opener, Served, painted, settled
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages.site import PATHS
from visualizations.text import LANGS, Text

EVERY = [(slug, lang) for slug in PATHS for lang in LANGS]


class NoModel(Models):
    """Refuses to load anything."""

    def get(self, name: str, progress: object = None) -> object:  # type: ignore[override]
        raise UserError("unknown_choice", name="model", value=name, choices="none")


@pytest.mark.parametrize(("slug", "lang"), EVERY)
@pytest.mark.parametrize("width", [1440, 390])
def test_a_page_paints_before_any_model_is_loaded(
    browse: Opener, served: Served, slug: str, lang: str, width: int
) -> None:
    kept, served.lab.models = served.lab.models, NoModel(served.lab.models.names)
    try:
        page = browse(PATHS[slug][lang], width=width, dark=width == 390)
        settled(page)
    finally:
        served.lab.models = kept
    expect(page.locator("h1")).to_have_text(Text(lang)(f"{slug}.question"))
    drawn = page.locator(".lab-panel:not([hidden]) .lab-figure:not([hidden])")
    assert drawn.count() >= 2
    for i in range(drawn.count()):
        expect(drawn.nth(i)).to_have_attribute("data-drawn", re.compile(r"\d+"))
        assert drawn.nth(i).locator("svg").count() > 0
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"{overflow} px wider than the window"
    expect(page.locator(".lab-message")).to_be_hidden()


def test_the_small_text_is_at_least_12_px(browse: Opener) -> None:
    for slug in PATHS:
        page = browse(PATHS[slug]["en"])
        small = page.evaluate(
            """[...document.querySelectorAll('.lab-viewer *, .lab-header *, .lab-controls *')]
            .filter(n => [...n.childNodes].some(c => c.nodeType === 3 && c.textContent.trim()))
            .filter(n => n.getClientRects().length)
            .filter(n => parseFloat(getComputedStyle(n).fontSize) < 12).map(n => n.outerHTML.slice(0, 120))"""
        )
        assert not small


def test_the_theme_button_repaints_the_figures(browse: Opener) -> None:
    page = browse("sampling")
    settled(page)
    figure = page.locator(".lab-figure[data-panel=bars]")
    before = figure.inner_html()
    assert "rgb(0, 114, 178)" in before
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("body")).to_have_class(re.compile("dark"))
    page.wait_for_function(
        "document.querySelector('.lab-figure[data-panel=bars]').innerHTML.includes('rgb(88, 177, 232)')"
    )
    page.reload()
    painted(page)
    expect(page.locator("body")).to_have_class(re.compile("dark"))


def test_languages_link_to_each_other_and_remember(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_role("link", name="中文").click()
    painted(page)
    expect(page.locator("h1")).to_have_text(Text("zh")("sampling.question"))
    page.get_by_role("link", name="EN").click()
    painted(page)
    expect(page.locator("h1")).to_have_text(Text("en")("sampling.question"))


def test_a_chinese_browser_starts_in_chinese(browse: Opener) -> None:
    page = browse("", locale="zh-CN")
    page.wait_for_url("**/zh")
    painted(page)
    expect(page.locator("h1")).to_have_text(Text("zh")("next_token.question"))


@pytest.mark.parametrize(("slug", "lang"), EVERY)
def test_a_page_names_itself_in_its_title(browse: Opener, slug: str, lang: str) -> None:
    page = browse(PATHS[slug][lang])
    expect(page).to_have_title(f"{Text(lang)(f'{slug}.nav')} · Decoding Lab")


def test_the_language_chosen_last_is_that_of_the_first_page(browse: Opener, served: Served) -> None:
    page = browse("", locale="zh-CN")
    page.wait_for_url("**/zh")
    page.get_by_role("link", name="EN").click()
    page.locator("html[lang=en]").wait_for()
    painted(page)
    page.goto(served.url)
    page.locator("html[lang=en]").wait_for()
    painted(page)
    page.goto(f"{served.url}/sampling")
    painted(page)
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/zh-sampling")
    page.goto(f"{served.url}/effects")  # only the first page leads elsewhere
    page.locator("html[lang=en]").wait_for()
    page.goto(served.url)
    page.wait_for_url("**/zh")


@pytest.mark.parametrize("width", [901, 1000, 1100])
def test_no_card_is_narrower_than_its_picture_needs(browse: Opener, width: int) -> None:
    page = browse("sampling", width=width)
    settled(page)
    rooms = page.locator(".lab-figure").evaluate_all("divs => divs.map(div => div.clientWidth)")
    assert min(rooms) >= 400


@pytest.mark.parametrize("slug", ["sampling", "effects"])
def test_a_name_with_a_hyphen_stays_on_one_line(browse: Opener, slug: str) -> None:
    page = browse(PATHS[slug]["en"], width=390)
    settled(page)
    names = page.locator(".lab-whole")
    assert names.count() > 0
    lines = names.evaluate_all(
        "spans => spans.filter(s => s.getClientRects().length).map(s => s.getClientRects().length)"
    )
    assert set(lines) == {1}


@pytest.mark.parametrize("slug", list(PATHS))
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(browse: Opener, slug: str, dark: bool) -> None:
    page = browse(PATHS[slug]["en"], dark=dark)
    settled(page)
    found = Axe().run(page).response["violations"]
    serious = [
        f"{v['id']}: {v['help']} ({n['html'][:160]})"
        for v in found
        if v["impact"] in ("serious", "critical")
        for n in v["nodes"]
    ]
    assert not serious, "\n".join(serious)


def test_every_server_function_answers_nonsense_with_a_sentence() -> None:
    from visualizations.pages import view

    def boom(request: str) -> dict[str, object]:
        raise KeyError("secret")

    answer = view.answering(Text("en"), boom, "boom")("{}")
    assert "secret" not in answer and "message" in answer
    lab = Lab(Models(("toy:lecture",)))
    reopen = view.server(lab, Text("zh"), boom, lambda panel, step: [], lambda run: [])[1]
    assert "运行" in reopen('{"run": "gone"}')
    assert "message" in reopen("not json")
