"""Temperature & top-p effects: one step's law reshaped, without running the model again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.errors import UserError
from decoding.trace import SampleStep, Stage
from decoding.values import Effects
from visualizations import quiz
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer, ViewSlider
from visualizations.figures import bars, entropy, heatmap, histogram, temperature
from visualizations.figures.rules import rule_name
from visualizations.figures.style import View
from visualizations.lab import Lab
from visualizations.pages import controls, view
from visualizations.pages.sampling import running
from visualizations.quiz import Card
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from torch import Tensor

LESSON = "effects"
PROMPT = "The best thing about rainy days is"
PANELS = (Panel("law", span=7), Panel("curves", span=5), Panel("entropy", span=6), Panel("heatmap", span=6))
TEMPERATURES = tuple(i / 20 for i in range(61))
TOP_PS = tuple(i / 20 for i in range(1, 21))
LINES = 6
"""Tokens that get a line against T."""
DRAWS = 1000
SHOWN = 12
"""Rows of the law's bars."""


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            prompt, template = controls.prompt_box(text, PROMPT)
            model = controls.model_box(text, lab.models.names)
            run, stop, turn = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("effects.question"), text("effects.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson)),
                text=text,
                panels=PANELS,
                parts=("before", "draw_button", "quiz"),
                address="load",
                controls=(
                    ViewSlider("temperature", text("effects.temperature"), 0, 3, TEMPERATURES[1], 0.9),
                    ViewSlider("top_p", text("effects.top_p"), 0, 1, 0.01, 0.9),
                ),
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    asked = [prompt, template, model]
    controls.wire_hint(page, asked, controls.wire_opened(lab, page, asked, controls.prompt_of(lab)))
    gr.on([run.click, prompt.submit], _runner(lab, text), [*asked, turn], viewer, **controls.TURN)
    opened = page.load(_opener(lab, text), None, viewer, **controls.QUEUED)
    stop.click(None, None, None, cancels=[opened])


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: one forward for the prompt's next token."""

    def start(prompt: str, template: Any, model: str, turn: str) -> Iterator[str]:
        def make(loaded: Any) -> tuple[Run, Any]:
            from decoding import api
            from decoding.settings import TOP_LIMIT

            settings = api.greedy_settings(max_new_tokens=1, top=TOP_LIMIT)
            run = lab.runs.new(api.prepare(loaded, prompt, settings, template=template))
            lab.logits(run, 0, loaded)
            return run, settings

        yield from running(lab, text, model, make, turn)

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
            step = view.index_of(asked.get("step"), run)
            if lab.kept_logits(run, step) is None:
                name = lab.name_of(run)
                with lab.turns.running():
                    for news in lab.load(name):
                        yield view.dumps(view.loading(text, name, news))
                    lab.logits(run, step, lab.models.get(name))
            value = view.shown(lab, text, run, step=step)
            where = text("viewer.step", step=step + 1, count=len(run.packed))
            back = run.header.settings["max_new_tokens"] > 1  # a run of the page Sampling
            yield view.dumps({**value, "about": f"{where} · {value['about']}", "message": "", "back": back})
        except Exception as error:
            yield view.trouble(text, error)

    return start


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""

    @lru_cache(maxsize=64)
    def sweep(id: str, step: int) -> Effects:
        return sweep_of(lab, id, step)

    def render(request: str) -> dict[str, Any]:
        ask = view.read_ask(request)
        run = lab.runs.get(ask.run)
        index = min(ask.step, len(run.packed) - 1)
        point = ask.slider("temperature", 0.9, 0, 3), ask.slider("top_p", 0.9, 0, 1)
        at = {panel.name: ask.view(panel.name, text) for panel in PANELS}
        found, made = sweep(run.id, index), _stages(run, index, _logits(lab, run, index), point)
        heat, bits, kept = point[0], _entropy(made.stages), made.stages[-1].kept_count
        return {
            "panels": {
                "law": _law(made, point, ask.details.get("draws"), at["law"]),
                "curves": view.panel(
                    temperature.temperature_caption(found, at["curves"], heat),
                    temperature.temperature_curves(found, at["curves"], heat),
                ),
                "entropy": view.panel(
                    entropy.entropy_caption(found, at["entropy"], heat, bits),
                    entropy.entropy_curve(found, at["entropy"], heat, bits),
                ),
                "heatmap": view.panel(
                    heatmap.heatmap_caption(found, at["heatmap"], *point, kept),
                    heatmap.kept_heatmap(found, at["heatmap"], *point, kept),
                ),
            }
        }

    return view.server(lab, text, render, _sources, lambda run: cards(lab, run))


def cards(lab: Lab, run: Run) -> list[Card]:
    """Questions about the run's first step, or the recorded one where that leaves no choice."""
    asked = run if entropy_at(lab, run.id, 0, 1.0) > 0.1 else lab.lesson(LESSON)

    def stages(heat: float, mass: float) -> tuple[Stage, ...]:
        return _stages(asked, 0, _logits(lab, asked, 0), (heat, mass)).stages

    def kept(heat: float, mass: float) -> int:
        return stages(heat, mass)[-1].kept_count

    hotter = quiz.hotter(lambda heat: _entropy(stages(heat, 1.0)))
    return [hotter, quiz.kept_when(kept, 2.0, 0.9), quiz.kept_when(kept, 0.0, 1.0)]


def _sources(panel: str, step: SampleStep) -> list[Any]:
    """What computed a panel."""
    from decoding import effects, observe, processors

    return [processors.Temperature, processors.TopP, observe.law] if panel == "law" else [effects.effects]


def _logits(lab: Lab, run: Run, step: int) -> Tensor:
    """The step's full logits: kept from before, or by one forward where the model is loaded."""
    if (kept := lab.kept_logits(run, step)) is not None:
        return kept
    name = lab.name_of(run)
    if not lab.models.is_loaded(name):
        raise UserError("run_forgotten")
    return lab.logits(run, step, lab.models.get(name))


def _tokens(run: Run, step: int) -> dict[int, Any]:
    """The step's likeliest tokens by id, most likely first."""
    return {c.token.id: c.token for c in run.step(step).stages[0].result.top}


def sweep_of(lab: Lab, id: str, step: int) -> Effects:
    """One step's law over the whole grid of temperatures and top-p."""
    from decoding.effects import effects

    run = lab.runs.get(id)
    tokens = _tokens(run, step)
    return effects(_logits(lab, run, step), list(tokens)[:LINES], tokens.__getitem__, TEMPERATURES, TOP_PS)


def entropy_at(lab: Lab, id: str, step: int, heat: float) -> float:
    """Bits of entropy of one step's law at temperature `heat`, exactly."""
    run = lab.runs.get(id)
    return _entropy(_stages(run, step, _logits(lab, run, step), (heat, 1.0)).stages)


@dataclass(frozen=True, slots=True)
class _Made:
    """One point (T, p) of the page: the stages shown, and every token's probability after them (V,)."""

    stages: tuple[Stage, ...]
    probs: Tensor


def _stages(run: Run, step: int, logits: Tensor, point: tuple[float, float]) -> _Made:
    """The model's law, then temperature T, then top-p p, from the step's full logits."""
    import torch

    from decoding import observe
    from decoding.sampling import process
    from decoding.settings import sample_settings

    tokens = _tokens(run, step)
    settings = sample_settings(temperature=point[0], top_p=point[1])
    laws = process(logits, torch.empty(0, dtype=torch.long), settings)
    stages = observe.stages(laws, settings.processors, list(tokens), tokens.__getitem__)
    return _Made(stages, laws[-1].probs())


def _entropy(stages: tuple[Stage, ...]) -> float:
    """Bits of entropy before top-p: what the curve against T shows."""
    return next(stage for stage in reversed(stages) if stage.name != "top_p").result.entropy


def _law(made: _Made, point: tuple[float, float], draws: Any, at: View) -> dict[str, Any]:
    """The law at `point` (T, p); once drawn from, with how often each token came."""
    last = made.stages[-1]
    cuts = [pair for pair in pairwise(made.stages) if pair[1].kept_count < pair[0].kept_count]
    before, rule = (cuts[-1][0].result, rule_name(cuts[-1][1], at)) if cuts else (None, "")
    if isinstance(draws, int) and draws > 0:
        import torch

        from decoding import effects

        generator = torch.Generator().manual_seed(draws)
        drawn = effects.histogram(made.probs, last.result, DRAWS, generator)
        figure = histogram.histogram(drawn, at, SHOWN, before=before, rule=rule)
        return view.panel(histogram.histogram_caption(drawn, at, point), figure)
    caption = bars.law_caption(last.result, at, *point, made.stages[0].kept_count)
    return view.panel(caption, bars.law_bars(last.result, at, SHOWN, before, rule))
