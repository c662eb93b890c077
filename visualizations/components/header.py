"""The line on top: the name, the pages, the language, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import gradio as gr

from visualizations.text import LANGS, Lang, Text

_JS = """
const button = element.querySelector("button");
button.addEventListener("click", () => window.LabTheme.toggle());
// The other language of the same run.
element.querySelectorAll("a[data-lang]").forEach((link) => (link.search = location.search));
document.title = element.querySelector("header").dataset.title;
const here = element.querySelector("nav a[aria-current]"), nav = here.closest("nav");
nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
"""

_HALF_DISC = (
    '<path d="M8 1a7 7 0 1 0 0 14z" fill="currentColor"/>'
    '<circle cx="8" cy="8" r="6.3" fill="none" stroke="currentColor" stroke-width="1.4"/>'
)


class Header(gr.HTML):
    """Static: links are plain links, one address per page and language."""

    def __init__(
        self,
        text: Text | None = None,
        *,
        pages: Sequence[tuple[str, dict[Lang, str]]] = (),
        current: str = "",
        value: Any = None,
        html_template: str | None = None,
        js_on_load: str | None = _JS,
        **options: Any,
    ) -> None:
        if html_template is None and text is not None:
            html_template = _template(text, pages, current)
        super().__init__(
            value=value, html_template=html_template or "", js_on_load=js_on_load, apply_default_css=False, **options
        )

    def get_block_name(self) -> str:
        """The front end knows it as an HTML component."""
        return "html"


def _template(text: Text, pages: Sequence[tuple[str, dict[Lang, str]]], current: str) -> str:
    paths = dict(pages)
    links = "".join(
        f'<a href="./{path[text.lang]}"{_current(slug == current)}>{escape(text(f"{slug}.nav"))}</a>'
        for slug, path in pages
    )
    languages = " · ".join(
        f'<a href="./{paths[current][lang]}" lang="{lang}" data-lang="{lang}"{_current(lang == text.lang)}>{name}</a>'
        for lang, name in zip(LANGS, ("EN", "中文"), strict=True)
    )
    theme = escape(text("header.theme"))
    home = pages[0][1][text.lang]
    title = escape(f"{text(f'{current}.nav')} · Decoding Lab")
    return (
        f'<header class="lab-header" lang="{text.lang}" data-title="{title}">'
        f'<a class="lab-brand" href="./{home}">Decoding Lab</a>'
        f'<nav aria-label="{escape(text("header.pages"))}">{links}</nav><div class="lab-tools"><span>{languages}</span>'
        f'<button type="button" class="lab-theme" aria-label="{theme}" title="{theme}">'
        f'<svg viewBox="0 0 16 16" width="17" height="17" aria-hidden="true">{_HALF_DISC}</svg></button></div></header>'
    )


def _current(yes: bool) -> str:
    return ' aria-current="page"' if yes else ""
