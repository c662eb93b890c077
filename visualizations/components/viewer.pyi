"""The viewer: a run's tokens, the step controls, and a panel per picture of the current step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from visualizations.text import Text

_JS = Path(__file__).with_name("viewer.js").read_text(encoding="utf-8")

Server = Callable[[str], str]
"""A function of the page that the browser calls: JSON text in, JSON text out."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A card with a title, a sentence and a figure. `wide` takes the whole row; `pickable` has rows to choose."""

    name: str
    wide: bool = False
    pickable: bool = False


@dataclass(frozen=True, slots=True)
class ViewSlider:
    """A control that redraws without running: its value goes along with every request."""

    name: str
    label: str
    low: float
    high: float
    step: float
    value: float
    digits: int = 2

from gradio.events import Dependency

class Viewer(gr.HTML):
    """Shows a run. `value` is JSON text made by `visualizations.pages.view`.

    `render`, `reopen` and `save` are called by the browser without the queue. Event `pick`: a row
    of a pickable panel was chosen; its data are `run, step, panel, id`.
    """

    def __init__(
        self,
        value: Any = None,
        *,
        text: Text | None = None,
        panels: Sequence[Panel] = (),
        parts: Sequence[str] = ("strip", "player"),
        controls: Sequence[Control] = (),
        server_functions: list[Callable[..., Any]] | None = None,
        html_template: str | None = None,
        js_on_load: str | None = _JS,
        **options: Any,
    ) -> None:
        if html_template is None and text is not None:
            html_template = _template(text, panels, parts, controls)
        super().__init__(
            value=value,
            html_template=html_template or "",
            js_on_load=js_on_load,
            apply_default_css=False,
            server_functions=server_functions,
            **options,
        )

    def get_block_name(self) -> str:
        """The front end knows it as an HTML component."""
        return "html"
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


def _template(text: Text, panels: Sequence[Panel], parts: Sequence[str], sliders: Sequence[ViewSlider]) -> str:
    words = {key: text(f"viewer.{key}") for key in ("step", "no_step", "play", "pause", "branches", "lost")}
    pieces = [_PARTS[name](text) for name in parts]
    return (
        f'<div class="lab-viewer" data-words="{escape(json.dumps(words, ensure_ascii=False))}" lang="{text.lang}">'
        '<div class="lab-message" role="status" hidden><span class="lab-message-text"></span>'
        '<progress class="lab-progress" max="1" hidden></progress></div>'
        + "".join(pieces)
        + _sliders(sliders)
        + f'<div class="lab-panels">{"".join(_panel(panel) for panel in panels)}</div>'
        + _foot(text, parts)
        + "</div>"
    )


def _panel(panel: Panel) -> str:
    rows = '<div class="lab-rows"></div>' if panel.pickable else ""
    wide = " lab-wide" if panel.wide else ""
    return (
        f'<section class="lab-panel{wide}" data-panel="{panel.name}"><h2 class="lab-title"></h2>'
        '<p class="lab-text"></p><div class="lab-canvas">'
        f'<div class="lab-figure" data-panel="{panel.name}" role="img"></div>{rows}</div></section>'
    )


def _sliders(sliders: Sequence[ViewSlider]) -> str:
    if not sliders:
        return ""
    return '<div class="lab-sliders">' + "".join(map(_slider, sliders)) + "</div>"


def _slider(slider: ViewSlider) -> str:
    return (
        f'<label class="lab-slider"><span>{escape(slider.label)}</span><output>{slider.value}</output>'
        f'<input type="range" name="{slider.name}" min="{slider.low}" max="{slider.high}" step="{slider.step}" '
        f'value="{slider.value}" data-digits="{slider.digits}"></label>'
    )


def _strip(text: Text) -> str:
    return f'<div class="lab-strip" role="group" aria-label="{escape(text("viewer.tokens"))}"></div>'


def _player(text: Text) -> str:
    def button(name: str, path: str) -> str:
        label = escape(text(f"viewer.{name}"))
        return (
            f'<button type="button" class="lab-button lab-{name}" aria-label="{label}" title="{label}">'
            f'<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{path}</svg></button>'
        )

    label = escape(text("viewer.position"))
    play = '<path class="lab-icon-play" d="M5 3l8 5-8 5z"/><path class="lab-icon-pause" d="M4 3h3v10H4zM9 3h3v10H9z"/>'
    return (
        '<div class="lab-player">'
        + button("previous", '<path d="M10 3L5 8l5 5" fill="none" stroke="currentColor" stroke-width="2"/>')
        + button("play", play)
        + button("next", '<path d="M6 3l5 5-5 5" fill="none" stroke="currentColor" stroke-width="2"/>')
        + f'<input type="range" class="lab-position" min="1" max="1" step="1" value="1" aria-label="{label}">'
        '<span class="lab-where" aria-live="polite"></span></div>'
    )


def _branches(text: Text) -> str:
    return f'<div class="lab-branches" role="group" aria-label="{escape(text("viewer.branches"))}" hidden></div>'


def _chips(text: Text) -> str:
    return f'<div class="lab-chips" role="group" aria-label="{escape(text("viewer.chips"))}"></div>'


def _joined(text: Text) -> str:
    label = escape(text("viewer.joined"))
    return f'<p class="lab-joined-line"><span class="lab-small">{label}</span> <bdi class="lab-joined"></bdi></p>'


def _draw_button(text: Text) -> str:
    return f'<button type="button" class="lab-draw lab-plain">{escape(text("viewer.draw"))}</button>'


def _foot(text: Text, parts: Sequence[str]) -> str:
    save = f'<button type="button" class="lab-save lab-quiet">{escape(text("viewer.save"))}</button>'
    link = ""
    if "player" in parts:
        page = "effects" if text.lang == "en" else "zh-effects"
        link = f'<a class="lab-quiet" data-href="{page}" href="{page}">{escape(text("viewer.effects_link"))}</a>'
    return f'<div class="lab-foot"><span class="lab-about"></span>{link}{save}</div>'


_PARTS: dict[str, Callable[[Text], str]] = {
    "strip": _strip,
    "player": _player,
    "branches": _branches,
    "chips": _chips,
    "joined": _joined,
    "merges": lambda text: '<section class="lab-merges lab-panel lab-wide" aria-live="polite" hidden></section>',
    "draw_button": _draw_button,
}