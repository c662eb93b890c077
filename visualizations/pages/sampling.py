"""Sampling: run a model, see each token's law, what each processor did to it, and how it was drawn."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.errors import UserError
from decoding.trace import SampleStep
from visualizations import quiz
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer, ViewSlider
from visualizations.figures import bars, draw, stages
from visualizations.lab import Lab
from visualizations.pages import controls, view
from visualizations.quiz import Card
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel
    from decoding.settings import SampleSettings

LESSON = "sampling"
PROMPT = "The best thing about rainy days is"
SEED = 4
NEW_TOKENS = 20
FIRST_STEP = 3
"""The step of the recorded run that is shown first."""
PANELS = (Panel("bars", span=7, pickable=True), Panel("draw", span=5), Panel("stages"))
PARTS = ("strip", "player", "branches", "joined", "quiz")


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    top = ViewSlider("top", text("viewer.top"), 5, 50, 1, 12, digits=0)
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            prompt, template = controls.prompt_box(text, PROMPT)
            boxes = controls.processor_controls(text)
            choices = [(text(f"sampler.{name}"), name) for name in controls.SAMPLER_CHOICES]
            sampler = gr.Dropdown(choices, value="direct", label=text("controls.sampler"), filterable=False)
            new = controls.new_tokens(text, NEW_TOKENS)
            seed = gr.Number(SEED, label=text("controls.seed"))
            model = controls.model_box(text, lab.models.names)
            run, _, turn = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("sampling.question"), text("sampling.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson, step=FIRST_STEP)),
                text=text,
                panels=PANELS,
                parts=PARTS,
                controls=(top,),
                address="reopen",
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    asked = [prompt, template, model, sampler, new, seed, *boxes]
    controls.wire_hint(page, asked, controls.wire_opened(lab, page, asked, lambda run: _restored(lab, run)))
    run.click(_runner(lab, text), [*asked, turn], viewer, **controls.TURN)
    viewer.pick(_brancher(lab, text), None, viewer, **controls.QUEUED, trigger_mode="multiple")


def _restored(lab: Lab, run: Run) -> list[Any]:
    """The values of all controls that made this run."""
    made = run.header.settings
    first = [*controls.prompt_of(lab)(run), made["sampler"], made["max_new_tokens"], run.header.seed]
    return [*first, *controls.restored(run)]


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""

    def render(request: str) -> dict[str, Any]:
        ask = view.read_ask(request)
        run = lab.runs.get(ask.run)
        if not run.packed:
            return {"panels": {}}
        step = run.step(min(ask.step, len(run.packed) - 1))
        top = int(ask.slider("top", 12, 5, 50))
        at = {panel.name: ask.view(panel.name, text) for panel in PANELS}
        figure = bars.bars(step, at["bars"], top_n=top)
        return {
            "panels": {
                "bars": view.panel(bars.bars_caption(step, at["bars"]), figure, rows=view.rows(figure, step, text)),
                "draw": view.panel(draw.draw_caption(step, at["draw"]), draw.draw(step, at["draw"])),
                "stages": view.panel(stages.stages_caption(step, at["stages"]), stages.stages(step, at["stages"])),
            }
        }

    return view.server(lab, text, render, sources, lambda run: cards(lab, run))


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: a generator of viewer values, one per token."""

    def start(
        prompt: str, template: Any, model: str, sampler: str, new: Any, seed: Any, *boxes_and_turn: Any
    ) -> Iterator[str]:
        *boxes, turn = boxes_and_turn

        def make(loaded: Any) -> tuple[Run, SampleSettings]:
            from decoding import api

            settings = controls.settings(boxes, sampler, new)
            header = api.prepare(loaded, prompt, settings, controls.whole(seed), template)
            return lab.runs.new(header), settings

        yield from running(lab, text, model, make, turn)

    return start


def _brancher(lab: Lab, text: Text) -> Any:
    """A candidate was chosen: run on from there with that token instead."""

    def branch(event: gr.EventData) -> Iterator[str]:
        turn, known = str(event.turn), view.known_runs(event.known)
        try:
            parent = lab.runs.get(event.run)
            at, token = int(event.step), int(event.id)
            same = parent if parent.token_ids(at + 1)[at:] == [token] else lab.runs.find(parent, at, token, known)
        except UserError as error:
            yield view.trouble(text, error, turn=turn)
            return
        if same is parent or (same and same.finish and same.finish.reason != "cancelled"):
            yield view.dumps({**view.shown(lab, text, same, step=at), "message": "", "done": True, "turn": turn})
            return

        def make(loaded: Any) -> tuple[Run, SampleSettings]:
            from decoding import api
            from decoding.settings import settings_from

            if same is not None:  # it was stopped: go on with it
                return same, settings_from(same.header.settings)
            old = parent.header
            settings = settings_from(old.settings, forced={at: token})
            header = api.prepare(loaded, old.prompt.text, settings, old.seed, old.prompt.template)
            return lab.runs.branch(parent, at, header, known), settings

        yield from running(lab, text, lab.name_of(parent), make, turn, step=at)

    return branch


def running(
    lab: Lab,
    text: Text,
    model: str | LanguageModel,
    make: Any,
    turn: str = "",
    step: int | None = None,
    after: Callable[[LanguageModel, Run], Generator[dict[str, Any], None, None]] = lambda model, run: _nothing(),
    before: Callable[[LanguageModel], Iterator[dict[str, Any]]] = lambda model: iter(()),
) -> Iterator[str]:
    """Load the model where needed, start the run that `make` prepares, and show it step by step.

    The viewer follows the newest step, or stays at `step`. Once `turn` is halted the run ends within one step.
    `before`: what else is made ready; `after`: what is made of a run that reached its end; both tell how far they are.
    """
    try:
        with lab.turns.running(turn):
            for value in _values(lab, text, model, make, turn, step, before, after):
                yield view.dumps({**value, "turn": turn})
    except Exception as error:
        yield view.trouble(text, error, turn=turn)


def _nothing() -> Generator[dict[str, Any], None, None]:
    """No news, and as closable as any."""
    yield from ()


def _values(
    lab: Lab, text: Text, model: str | LanguageModel, make: Any, turn: str, step: int | None, before: Any, after: Any
) -> Iterator[dict[str, Any]]:
    for news in lab.load(model) if isinstance(model, str) else ():
        if lab.turns.halted(turn):
            return
        yield view.loading(text, model, news)
    if lab.turns.halted(turn):
        return
    loaded = lab.models.get(model) if isinstance(model, str) else model
    for value in before(loaded):
        if lab.turns.halted(turn):
            return
        yield value
    if lab.turns.halted(turn):
        return
    run, settings = make(loaded)
    yield {"message": "", "running": True}
    with closing(lab.run(loaded, run, settings)) as steps:
        for _ in steps:
            run.text = loaded.decode(run.token_ids())
            if not lab.turns.halted(turn):
                yield {**view.shown(lab, text, run, running=True, step=step), "message": ""}
            if lab.turns.halted(turn):
                break
        else:
            with closing(after(loaded, run)) as made:
                for value in made:
                    if lab.turns.halted(turn):
                        break
                    yield value
    yield {**view.shown(lab, text, run, step=step), "message": "", "done": True}


def sources(panel: str, step: SampleStep) -> list[Any]:
    """What computed a panel: the law, the rules applied, or the sampler's function."""
    from decoding import observe, processors, samplers

    if panel == "draw":
        used = {
            "direct": "direct",
            "binary": "binary_search",
            "alias": "alias",
            "gumbel": "gumbel_max",
            "argmax": "argmax",
        }
        name = used.get(step.draw.kind)
        extra = [samplers.build_alias] if name == "alias" else []
        return [*extra, getattr(samplers, name)] if name else []
    if panel == "stages":
        return [processors.REGISTRY[stage.name] for stage in step.stages[1:]] or [observe.law]
    return [observe.law, observe.distribution]


def cards(lab: Lab, run: Run) -> list[Card]:
    """Questions about a step with a real choice: of this run, or of the recorded one where it has none."""
    for found, where in ((run, "quiz.this_run"), (lab.lesson(LESSON), "quiz.recorded_run")):
        open_ = [step for step in map(found.step, range(len(found.packed))) if quiz.can_lower(step)]
        if open_:
            step = next((step for step in open_ if step.position >= FIRST_STEP), open_[0])
            return [quiz.lower_top_p(step, where), quiz.order_matters, quiz.other_uniform(step, where)]
    return [quiz.order_matters]
