"""The viewer: a run's tokens, the step controls, and a panel per picture of the current step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from visualizations.components.prose import prose
from visualizations.text import Text

_SCRIPTS = ("viewer.js", "turns.js", "parts.js", "boards.js", "rounds.js")
_JS = "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _SCRIPTS)

Server = Callable[[str], str]
"""A function of the page that the browser calls: JSON text in, JSON text out."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A card with a title, a sentence and a figure, `span` twelfths wide; a pickable one has rows to choose.

    Each can show the code that computed its numbers. `section` names the heading that stands above it, `link`
    the page that tells more, `button` the words of a button whose press asks the page for more numbers (`measure`).
    `folds`: a click hides what follows a node, or shows it again. `code`: whether numbers in it were computed.
    `turn`: the button takes a turn at the model, as Run does, so that Stop and a newer press end it.
    """

    name: str
    span: int = 12
    pickable: bool = False
    section: str = ""
    link: str = ""
    button: str = ""
    folds: bool = False
    code: bool = True
    turn: bool = False


@dataclass(frozen=True, slots=True)
class ViewSlider:
    """A control that redraws without running: its value goes along with every request.

    It stands in the bar on top, in the card of `panel`, or under the heading of the section called so.
    """

    name: str
    label: str
    low: float
    high: float
    step: float
    value: float
    digits: int = 2
    panel: str = ""


@dataclass(frozen=True, slots=True)
class ViewChoice:
    """A row of buttons of which one is pressed: (value, label) pairs, and the value that is pressed at first."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    pressed: str
    panel: str = ""


Control = ViewSlider | ViewChoice


class Viewer(gr.HTML):
    """Shows a run. `value` is JSON text made by `visualizations.pages.view`.

    `render`, `reopen` and `save` are called by the browser without the queue. Event `pick`: a row
    of a pickable panel was chosen; its data are `run, step, panel, id`, the `turn` where it runs the model, and
    the runs `known` to the page. `address`: how the page opens the run that its address names, `reopen` (the
    viewer itself, from what is kept) or `load` (the page, which may need the model); empty where it names none.
    """

    def __init__(
        self,
        value: Any = None,
        *,
        text: Text | None = None,
        panels: Sequence[Panel] = (),
        parts: Sequence[str] = ("strip", "player"),
        controls: Sequence[Control] = (),
        address: str = "",
        server_functions: list[Callable[..., Any]] | None = None,
        html_template: str | None = None,
        js_on_load: str | None = _JS,
        **options: Any,
    ) -> None:
        if html_template is None and text is not None:
            html_template = _template(text, panels, parts, controls, address)
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


def _template(
    text: Text, panels: Sequence[Panel], parts: Sequence[str], controls: Sequence[Control], address: str
) -> str:
    words = {key: text(f"viewer.{key}") for key in ("step", "no_step", "play", "pause", "branches", "lost", "waiting")}
    picks = "run" if "branches" in parts else ""  # choosing a row goes on from there
    made = {name: _PARTS[name](text) for name in parts}
    bar = made.pop("player", "") + _controls(controls) + made.pop("draw_button", "") + made.pop("again_button", "")
    branches, below = made.pop("branches", ""), made.pop("joined", "") + made.pop("quiz", "")
    return (
        f'<div class="lab-viewer" data-zero="{int("again_button" in parts)}" '
        f'data-picks="{picks}" data-address="{address}" '
        f'data-words="{escape(json.dumps(words, ensure_ascii=False))}" lang="{text.lang}">'
        '<div class="lab-message" role="status" hidden><span class="lab-message-text"></span>'
        '<progress class="lab-progress" max="1" hidden></progress></div>'
        + "".join(made.values())
        + f'<div class="lab-bar">{bar}</div>'
        + branches
        + f'<div class="lab-panels">{"".join(_panel(panel, text, controls) for panel in panels)}</div>'
        + below
        + _foot(text, parts)
        + "</div>"
    )


def _panel(panel: Panel, text: Text, controls: Sequence[Control]) -> str:
    rows = '<div class="lab-rows"></div>' if panel.pickable else ""
    more = _link(panel.link, text, text("viewer.more", page=text(f"{panel.link}.nav"))) if panel.link else ""
    head = _section(panel.section, text, controls) if panel.section else ""
    inside = _controls(controls, panel.name) if panel.name != panel.section else ""
    folds = ' data-folds="1"' if panel.folds else ""
    button = _measure(text, panel.button, panel.turn) if panel.button else ""
    return (
        f'{head}<section class="lab-panel" style="--span: {panel.span}" data-panel="{panel.name}"{folds}>'
        '<h2 class="lab-title"></h2>'
        f'<p class="lab-text"></p>{inside}<div class="lab-canvas">'
        f'<div class="lab-figure" data-panel="{panel.name}" role="img"></div>{rows}<div class="lab-board"></div></div>'
        f"{button}{_code(text, panel.name) if panel.code else ''}{more}</section>"
    )


def _code(text: Text, panel: str) -> str:
    summary = f"<summary>{escape(text('viewer.code'))}</summary>"
    return f'<details class="lab-code" data-panel="{panel}">{summary}<pre tabindex="0"></pre></details>'


def _section(name: str, text: Text, controls: Sequence[Control]) -> str:
    title, said = prose(text(f"section.{name}")), prose(text(f"section.{name}_text"))
    below = _controls(controls, name) + (_measure(text, "samplers.measure") if name == "cost" else "")
    return f'<div class="lab-section"><h2>{title}</h2><p>{said}</p>{below}</div>'


def _measure(text: Text, words: str, turn: bool = False) -> str:
    asks = ' data-turn="1"' if turn else ""
    return f'<button type="button" class="lab-measure lab-plain"{asks}>{escape(text(words))}</button>'


def _controls(controls: Sequence[Control], panel: str = "") -> str:
    made = [_slider(c) if isinstance(c, ViewSlider) else _choice(c) for c in controls if c.panel == panel]
    return f'<div class="lab-sliders">{"".join(made)}</div>' if made else ""


def _choice(choice: ViewChoice) -> str:
    label = escape(choice.label)
    states = {value: str(value == choice.pressed).lower() for value, _ in choice.options}
    buttons = "".join(
        f'<button type="button" value="{escape(value)}" aria-pressed="{states[value]}">{escape(name)}</button>'
        for value, name in choice.options
    )
    return (
        f'<div class="lab-choice" role="group" aria-label="{label}" data-name="{choice.name}">'
        f'<span aria-hidden="true">{label}</span>{buttons}</div>'
    )


def _slider(slider: ViewSlider) -> str:
    label = escape(slider.label)
    return (
        f'<div class="lab-slider"><span aria-hidden="true">{label}</span>'
        f'<output aria-hidden="true">{slider.value}</output>'
        f'<input type="range" name="{slider.name}" aria-label="{label}" min="{slider.low}" max="{slider.high}" '
        f'step="{slider.step}" value="{slider.value}" data-digits="{slider.digits}"></div>'
    )


def _strip(text: Text) -> str:
    strip = f'<div class="lab-strip" role="group" aria-label="{escape(text("viewer.tokens"))}"></div>'
    return f'{strip}<p class="lab-small lab-help">{escape(text("viewer.tokens_help"))}</p>'


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
    chips = f'<div class="lab-chips" role="group" aria-label="{escape(text("viewer.chips"))}"></div>'
    return f'{chips}<p class="lab-small lab-help">{escape(text("viewer.chips_help"))}</p>'


def _joined(text: Text) -> str:
    label = escape(text("viewer.joined"))
    return f'<p class="lab-joined-line"><span class="lab-small">{label}</span> <bdi class="lab-joined"></bdi></p>'


def _before(text: Text) -> str:
    label, words = escape(text("viewer.before")), text("viewer.back")
    back = _link("sampling", text, words, run=True).replace('class="', 'hidden class="lab-back ')
    label = f'<span class="lab-small">{label}</span>'
    return f'<p class="lab-before-line">{label} <bdi class="lab-before"></bdi> {back}</p>'


def _again_button(text: Text) -> str:
    return f'<button type="button" class="lab-draw lab-plain">{escape(text("samplers.again"))}</button>'


def _draw_button(text: Text) -> str:
    draw, exact = (escape(text(f"viewer.{name}")) for name in ("draw", "exact"))
    return (
        f'<div class="lab-drawing"><button type="button" class="lab-draw lab-plain">{draw}</button> '
        f'<button type="button" class="lab-exact lab-plain" hidden>{exact}</button></div>'
    )


def _quiz(text: Text) -> str:
    title = escape(text("quiz.title"))
    return f'<section class="lab-quiz"><h2 class="lab-title">{title}</h2><div class="lab-quiz-cards"></div></section>'


def _link(page: str, text: Text, said: str, run: bool = False) -> str:
    """A link to another page; with `run` it opens the step that is looked at here."""
    path = page if text.lang == "en" else f"zh-{page}"
    data = f' data-href="{path}"' if run else ""
    return f'<a class="lab-quiet" href="{path}"{data}>{prose(said)}</a>'


def _foot(text: Text, parts: Sequence[str]) -> str:
    save = ""
    if parts:
        save = f'<button type="button" class="lab-save lab-quiet">{escape(text("viewer.save"))}</button>'
    link = ""
    if "strip" in parts:
        link = "".join(_link(page, text, text(f"viewer.{page}_link"), run=True) for page in ("effects", "samplers"))
    return f'<div class="lab-foot"><span class="lab-about"></span>{link}{save}</div>'


_PARTS: dict[str, Callable[[Text], str]] = {
    "strip": _strip,
    "player": _player,
    "branches": _branches,
    "chips": _chips,
    "counters": lambda text: '<dl class="lab-counters"></dl>',
    "joined": _joined,
    "before": _before,
    "merges": lambda text: '<section class="lab-merges lab-panel" aria-live="polite" hidden></section>',
    "draw_button": _draw_button,
    "again_button": _again_button,
    "quiz": _quiz,
}
