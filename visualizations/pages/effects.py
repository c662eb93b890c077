"""Temperature & top-p effects: one step's law reshaped, without running the model again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.errors import UserError
from decoding.trace import Effects
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer, ViewSlider
from visualizations.figures import bars, entropy, heatmap, histogram, temperature
from visualizations.figures.rules import rule_name
from visualizations.figures.style import View
from visualizations.lab import Lab
from visualizations.pages import controls, view
from visualizations.pages.sampling import running
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from torch import Tensor

LESSON = "effects"
PROMPT = "The best thing about rainy days is"
PANELS = (Panel("law"), Panel("curves"), Panel("entropy"), Panel("heatmap"))
TEMPERATURES = tuple(i / 20 for i in range(61))
TOP_PS = tuple(i / 20 for i in range(1, 21))
LINES = 6
"""Tokens that get a line against T."""
DRAWS = 1000


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls"):
            prompt, template = controls.prompt_box(text, PROMPT)
            model = controls.model_box(text, lab.models)
            run, stop = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("effects.question"), text("effects.sentence"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson)),
                text=text,
                panels=PANELS,
                parts=("draw_button",),
                sliders=(
                    ViewSlider("temperature", text("effects.temperature"), 0, 3, 0.01, 0.9),
                    ViewSlider("top_p", text("effects.top_p"), 0, 1, 0.01, 0.9),
                ),
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    asked = [prompt, template, model]
    started = gr.on(
        [run.click, prompt.submit], _runner(lab, text), asked, viewer, concurrency_id="model", show_progress="hidden"
    )
    page.load(_opener(lab, text), None, viewer, concurrency_id="model", show_progress="hidden")
    stop.click(lambda: view.dumps({"running": False}), None, viewer, cancels=[started], queue=False, show_progress="hidden")


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: one forward for the prompt's next token."""

    def start(prompt: str, template: Any, model: str) -> Iterator[str]:
        def make(loaded: Any) -> tuple[Run, Any]:
            from decoding import api
            from decoding.settings import TOP_LIMIT

            settings = api.greedy_settings(max_new_tokens=1, top=TOP_LIMIT)
            run = lab.runs.new(api.prepare(loaded, prompt, settings, template=template))
            lab.logits(run, 0, loaded)
            return run, settings

        yield from running(lab, text, model, make)

    return start


def _opener(lab: Lab, text: Text) -> Any:
    """The address names a step of a run (`?run=…&step=…`): get its logits, then show it."""

    def start(request: gr.Request) -> Iterator[Any]:
        asked = dict(request.query_params)
        if "run" not in asked:
            yield gr.skip()
            return
        try:
            run = lab.runs.get(asked["run"])
            digits = asked.get("step", "0")
            step = min(int(digits) if digits.isdecimal() else 0, len(run.packed) - 1)
            if lab.kept_logits(run, step) is None:
                name = run.header.model.name
                for news in lab.load(name):
                    yield view.loading(text, name, news)
                lab.logits(run, step, lab.models.get(name))
            yield view.dumps({**view.shown(lab, text, run, step=step), "message": ""})
        except Exception as error:
            yield view.trouble(text, error)

    return start


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""

    @lru_cache(maxsize=64)
    def sweep(id: str, step: int) -> Effects:
        run = lab.runs.get(id)
        return _sweep(run, step, _logits(lab, run, step))

    def render(request: str) -> dict[str, Any]:
        ask = view.read_ask(request)
        run = lab.runs.get(ask.run)
        index = min(ask.step, len(run.packed) - 1)
        heat = ask.slider("temperature", 0.9, 0, 3)
        mass = ask.slider("top_p", 0.9, 0, 1)
        at = {panel.name: ask.view(panel.name, text) for panel in PANELS}
        found = sweep(run.id, index)
        key = f"{run.id}/{index}"
        draws = ask.details.get("draws")
        return {
            "panels": {
                "law": _law(run, index, _logits(lab, run, index), (heat, mass), draws, at["law"]),
                "curves": view.panel(
                    temperature.temperature_caption(found, at["curves"], heat),
                    temperature.temperature_curves(found, at["curves"], heat, key=key),
                ),
                "entropy": view.panel(
                    entropy.entropy_caption(found, at["entropy"], heat),
                    entropy.entropy_curve(found, at["entropy"], heat, key=key),
                ),
                "heatmap": view.panel(
                    heatmap.kept_caption(found, at["heatmap"], heat, mass),
                    heatmap.kept_heatmap(found, at["heatmap"], heat, mass, key=key),
                ),
            }
        }

    return view.server(lab, text, render)


def _logits(lab: Lab, run: Run, step: int) -> Tensor:
    """The step's full logits; they are kept from before, since `start` made them."""
    kept = lab.kept_logits(run, step)
    if kept is None:
        raise UserError("run_forgotten")
    return kept


def _tokens(run: Run, step: int) -> dict[int, Any]:
    """The step's likeliest tokens by id, most likely first."""
    return {c.token.id: c.token for c in run.step(step).stages[0].result.top}


def _sweep(run: Run, step: int, logits: Tensor) -> Effects:
    """The law over the whole grid of temperatures and top-p."""
    from decoding.effects import effects

    tokens = _tokens(run, step)
    return effects(logits, list(tokens)[:LINES], tokens.__getitem__, TEMPERATURES, TOP_PS)


def _law(run: Run, step: int, logits: Tensor, point: tuple[float, float], draws: Any, at: View) -> dict[str, Any]:
    """The law at `point` (T, p); once drawn from, with how often each token came."""
    import torch

    from decoding import effects, observe
    from decoding.sampling import process
    from decoding.settings import sample_settings

    settings = sample_settings(temperature=point[0], top_p=point[1])
    tokens = _tokens(run, step)
    laws = process(logits, torch.empty(0, dtype=torch.long), settings)
    stages = observe.stages(laws, settings.processors, list(tokens), tokens.__getitem__)
    last = stages[-1]
    if isinstance(draws, int) and draws > 0:
        generator = torch.Generator().manual_seed(draws)
        found = effects.histogram(laws[-1].probs(), last.result, DRAWS, generator)
        return view.panel(histogram.histogram_caption(found, at), histogram.histogram(found, at, top_n=12))
    cut = last.name == "top_p"
    before = stages[-2].result if cut else None
    rule = rule_name(last, at) if cut else ""
    caption = bars.law_caption(last.result, at, *point, laws[0].kept_count)
    return view.panel(caption, bars.law_bars(last.result, at, 12, before, rule))
