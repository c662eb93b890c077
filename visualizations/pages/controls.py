"""The column of controls, shared by the pages; every label from `visualizations.text`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.errors import UserError
from visualizations.components.order import NAMES, Order
from visualizations.lab import Lab
from visualizations.pages import view
from visualizations.runs import Run
from visualizations.text import STRINGS, Text

if TYPE_CHECKING:
    from decoding.settings import SampleSettings


@dataclass(frozen=True, slots=True)
class Knob:
    """A processor's slider: its bounds, and the value at which it does nothing."""

    name: str
    low: float
    high: float
    step: float
    off: float
    start: float | None = None

    @property
    def first(self) -> float:
        """The value it starts at."""
        return self.off if self.start is None else self.start

    def slider(self, text: Text) -> gr.Slider:
        """The Gradio control."""
        label = text("controls.off_at", name=text("processor." + self.name), value=f"{self.off:g}")
        info = text(key) if (key := f"info.{self.name}") in STRINGS else None
        return gr.Slider(self.low, self.high, value=self.first, step=self.step, label=label, info=info)


MAIN_KNOBS = (
    Knob("temperature", 0, 3, 0.05, 1, 0.9),
    Knob("top_k", 0, 200, 1, 0),
    Knob("top_p", 0, 1, 0.01, 1, 0.8),
)
MORE_KNOBS = (
    Knob("min_p", 0, 1, 0.01, 0),
    Knob("typical_p", 0.01, 1, 0.01, 1),
    Knob("epsilon_cutoff", 0, 0.1, 0.001, 0),
    Knob("eta_cutoff", 0, 0.1, 0.001, 0),
    Knob("repetition_penalty", 0.5, 2, 0.05, 1),
    Knob("presence_penalty", -2, 2, 0.1, 0),
    Knob("frequency_penalty", -2, 2, 0.1, 0),
    Knob("no_repeat_ngram_size", 0, 6, 1, 0),
)
KNOBS = (*MAIN_KNOBS, *MORE_KNOBS)
WHOLE = frozenset({"top_k", "no_repeat_ngram_size"})
SAMPLER_CHOICES = ("direct", "binary", "alias", "gumbel", "argmax")
LONGEST_PROMPT = 1_000_000
"""Characters the browser lets through: far more than the core takes, so that the core can say so."""


def prompt_box(text: Text, start: str) -> tuple[gr.Textbox, gr.Radio]:
    """The prompt, and whether it goes in raw or through the chat template."""
    prompt = gr.Textbox(start, label=text("controls.prompt"), lines=2, max_lines=8, max_length=LONGEST_PROMPT)
    choices = [(text("controls.raw"), "raw"), (text("controls.chat"), "chat")]
    template = gr.Radio(choices, value="raw", label=text("controls.template"))
    return prompt, template


def model_box(text: Text, names: Sequence[str]) -> gr.Dropdown:
    """Which model runs; at first the first of `names`."""
    choices = [(view.model_label(text, name), name) for name in names]
    info = text("controls.model_info") if any(name.endswith("@int4") for name in names) else None
    return gr.Dropdown(choices, value=names[0], label=text("controls.model"), info=info, filterable=False)


def run_buttons(text: Text) -> tuple[gr.Button, gr.Button, gr.Textbox]:
    """Run and Stop, and the name of the turn that a press of Run takes (the last input of what runs the model)."""
    with gr.Row(elem_classes="lab-buttons"):
        run = gr.Button(text("controls.run"), variant="primary", elem_classes="lab-run", min_width=80)
        stop = gr.Button(text("controls.stop"), variant="secondary", elem_classes="lab-stop", min_width=80)
    gr.HTML(
        f'<p class="lab-small lab-hint" role="status" data-words="{escape(text("controls.changed"))}"></p>',
        apply_default_css=False,
    )
    stop.click(None, None, None, js="() => window.Lab.stop()")
    return run, stop, gr.Textbox(visible=False)


QUEUED: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1, "show_progress": "hidden"}
"""How an event that runs the model is queued: one at a time on a server, the others wait their turn."""
TURN: dict[str, Any] = {**QUEUED, "trigger_mode": "multiple", "js": "(...given) => window.Lab.press(...given)"}
"""A press of Run: it ends the page's run before it, and takes a turn (see `visualizations.turns`)."""


def wire_hint(page: gr.Blocks, asked: list[Any], opened: Any = None) -> None:
    """Say beside Run where the controls differ from what ran last; `opened`: an event that fills them at first."""
    first = opened.then if opened else page.load
    first(None, asked, None, js="(...given) => window.Lab.settled(...given)")
    changes = [box.change for box in asked]
    gr.on(changes, None, asked, None, js="(...given) => window.Lab.changed(...given)")


def processor_controls(text: Text) -> list[Any]:
    """A slider per processor and the order they are applied in, in the order `settings` reads them."""
    boxes: list[Any] = [knob.slider(text) for knob in MAIN_KNOBS]
    with gr.Accordion(text("controls.more"), open=False):
        boxes += [knob.slider(text) for knob in MORE_KNOBS]
    with gr.Accordion(text("controls.order"), open=False):
        boxes.append(Order(text))
    return boxes


def settings(values: list[Any], sampler: str, max_new_tokens: Any) -> SampleSettings:
    """The settings these controls ask for; `values` as `processor_controls` lists them."""
    from decoding.settings import TOP_LIMIT, check_int, sample_settings

    options: dict[str, Any] = {}
    for knob, value in zip(KNOBS, values, strict=False):
        options[knob.name] = int(value) if knob.name in WHOLE and float(value).is_integer() else value
    return sample_settings(
        sampler=sampler,
        max_new_tokens=check_int("max_new_tokens", whole(max_new_tokens), 1, most_new_tokens()),
        top=TOP_LIMIT,
        order=Order.read(values[len(KNOBS)]),
        **options,
    )


def new_tokens(text: Text, start: int) -> gr.Slider:
    """How many tokens to make, up to what the server allows."""
    most = most_new_tokens()
    return gr.Slider(1, most, value=min(start, most), step=1, label=text("controls.new_tokens"))


def most_new_tokens() -> int:
    """The most that one run may make on this server."""
    from decoding.settings import Limits

    return Limits.from_environment().new_tokens


def restored(run: Run) -> list[Any]:
    """The values of `processor_controls` that made this run; rules that were off stand where they usually do."""
    made = run.header.settings
    values: list[Any] = [made.get(knob.name, knob.off) for knob in KNOBS]
    applied = iter(made["order"])
    return [*values, json.dumps([next(applied) if name in made["order"] else name for name in NAMES])]


def wire_opened(lab: Lab, page: gr.Blocks, boxes: list[Any], values: Callable[[Run], list[Any]]) -> Any:
    """Where the address names a run, its controls take the values that made it."""

    def start(request: gr.Request) -> list[Any]:
        try:
            return values(lab.runs.get(request.query_params.get("run")))
        except (UserError, KeyError):  # none (the viewer tells it), or a run of another page
            return [gr.skip() for _ in boxes]

    return page.load(start, None, boxes, queue=False, show_progress="hidden")


def prompt_of(lab: Lab) -> Callable[[Run], list[Any]]:
    """The prompt, its template and the model of a run."""

    def values(run: Run) -> list[Any]:
        header, name = run.header, lab.name_of(run)
        return [header.prompt.text, header.prompt.template, name if name in lab.models.names else gr.skip()]

    return values


def whole(value: Any) -> Any:
    """3.0 as 3: Gradio's Number may send either; anything else is left for the settings to refuse."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
