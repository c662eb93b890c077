"""The column of controls, shared by the pages; every label from `visualizations.text`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr
import orjson

from visualizations.components.order import Order
from visualizations.models import Models
from visualizations.text import Text

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
        label = f"{text('processor.' + self.name)} {text('controls.off_at', value=f'{self.off:g}')}"
        return gr.Slider(self.low, self.high, value=self.first, step=self.step, label=label)


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
LONGEST_PROMPT = 20_000
"""Characters the browser lets through; the token limit is checked by the core."""


def prompt_box(text: Text, start: str) -> tuple[gr.Textbox, gr.Radio]:
    """The prompt, and whether it goes in raw or through the chat template."""
    prompt = gr.Textbox(start, label=text("controls.prompt"), lines=2, max_lines=8, max_length=LONGEST_PROMPT)
    choices = [(text("controls.raw"), "raw"), (text("controls.chat"), "chat")]
    template = gr.Radio(choices, value="raw", label=text("controls.template"))
    return prompt, template


def model_box(text: Text, models: Models) -> gr.Dropdown:
    """Which model runs."""
    choices = [(text(f"model.{name}") if name in ("smollm2", "toy:lecture") else name, name) for name in models.names]
    return gr.Dropdown(choices, value=models.names[0], label=text("controls.model"), filterable=False)


def run_buttons(text: Text) -> tuple[gr.Button, gr.Button]:
    """Run and Stop."""
    with gr.Row(elem_classes="lab-buttons"):
        run = gr.Button(text("controls.run"), variant="primary", elem_classes="lab-run", min_width=80)
        stop = gr.Button(text("controls.stop"), variant="secondary", elem_classes="lab-stop", min_width=80)
    return run, stop


QUEUED: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1, "show_progress": "hidden"}
"""How an event that runs the model is queued: one at a time on a server, the others wait their turn."""


def wire_stop(stop: gr.Button, viewer: gr.HTML, runs: list[Any]) -> None:
    """Stop ends these runs at once, without waiting in the queue."""
    halt = {"running": False, "message": ""}
    stop.click(lambda: orjson.dumps(halt).decode(), None, viewer, cancels=runs, queue=False, show_progress="hidden")


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
    from decoding.settings import TOP_LIMIT, sample_settings

    options: dict[str, Any] = {}
    for knob, value in zip(KNOBS, values, strict=False):
        options[knob.name] = int(value) if knob.name in WHOLE and float(value).is_integer() else value
    return sample_settings(
        sampler=sampler,
        max_new_tokens=whole(max_new_tokens),
        top=TOP_LIMIT,
        order=Order.read(values[len(KNOBS)]),
        **options,
    )


def whole(value: Any) -> Any:
    """3.0 as 3: Gradio's Number may send either; anything else is left for the settings to refuse."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
