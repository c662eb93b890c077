"""Beam search: the whole tree, every candidate that was cut, and by which rule."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.errors import UserError
from decoding.trace import SampleStep
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, ViewChoice, Viewer, ViewSlider
from visualizations.lab import Lab
from visualizations.models import Choice
from visualizations.pages import beam_quiz, controls, view
from visualizations.pages.beam_view import Pictures
from visualizations.pages.sampling import running
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel
    from decoding.settings import BeamSettings

LESSON = "beam"
FIRST_MODEL = "toy:lecture"
PROMPTS = {"smollm2": "The best thing about rainy days is"}
"""What a model is asked to go on from when it is chosen; a table begins with nothing."""
OWN = "toy:own"
BEAMS, TOKENS, TOP = 2, 3, 8
"""Width, depth, and candidates recorded per beam, as the controls stand at first."""
KNOBS = (
    controls.Knob("relative_threshold", 0, 1, 0.01, 0),
    controls.Knob("absolute_threshold", 0, 10, 0.1, 10),
    controls.Knob("relative_local_threshold", 0, 1, 0.01, 0),
    controls.Knob("max_per_parent", 0, 8, 1, 0),
)
"""The pruning rules; an absolute threshold of 10 nats and more counts as off."""
LAW_KNOBS = (
    controls.Knob("temperature", 0.05, 3, 0.05, 1),
    controls.Knob("top_k", 0, 200, 1, 0),
    controls.Knob("top_p", 0, 1, 0.01, 1),
)
PANELS = (
    Panel("tree", folds=True),
    Panel("queue", span=6, pickable=True, folds=True),
    Panel("pseudo", span=6),
    Panel("compare", button="beam.compare"),
)


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            names = (FIRST_MODEL, *(name for name in lab.models.names if name != FIRST_MODEL), OWN)
            model = controls.model_box(text, names)
            table = gr.Textbox(
                lab.table_lines(FIRST_MODEL),
                label=text("beam.table"),
                info=text("beam.table_info"),
                lines=8,
                visible=False,
                elem_id="own-table",
            )
            prompt, template = controls.prompt_box(text, "")
            width = gr.Slider(1, 8, value=BEAMS, step=1, label=text("beam.beams"))
            tokens = gr.Slider(1, min(32, controls.most_new_tokens()), value=TOKENS, step=1, label=text("beam.tokens"))
            with gr.Accordion(text("beam.rules"), open=False):
                rules = [knob.slider(text) for knob in KNOBS]
            with gr.Accordion(text("beam.ends"), open=False):
                penalty = gr.Slider(
                    -2, 2, value=1, step=0.1, label=text("beam.penalty"), info=text("beam.penalty_info")
                )
                stopping = gr.Radio(
                    [(text(f"beam.early_{value}"), value) for value in ("false", "true", "never")],
                    value="false",
                    label=text("beam.early"),
                )
            with gr.Accordion(text("beam.chance"), open=False):
                chance = _chance(text)
            run, _, turn = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("beam.question"), text("beam.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson, step=lesson.moments - 1)),
                text=text,
                panels=PANELS,
                parts=("player", "joined", "quiz"),
                address="reopen",
                controls=(
                    ViewChoice("show", text("beam.show"), _shows(text), "near", panel="tree"),
                    ViewSlider("zoom", text("beam.zoom"), 1, 4, 0.25, 1, panel="tree"),
                ),
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    live = [width, penalty, stopping, *rules]
    asked = [model, table, prompt, template, tokens, *chance]
    opened = controls.wire_opened(lab, page, [*asked, *live], lambda run: restored(lab, run))
    controls.wire_hint(page, asked, opened)
    gr.on([run.click, prompt.submit], _runner(lab, text), [*asked, *live, turn], viewer, **controls.TURN)
    viewer.measure(_comparer(lab, text), None, viewer, **controls.QUEUED)
    model.input(_choose(lab), model, [prompt, table], queue=False, show_progress="hidden")
    gr.on([box.change for box in live], None, live, None, js="(...given) => window.Lab.tune(given)")


def _chance(text: Text) -> list[Any]:
    """How chance comes into the search: the kind of search, the law, tokens drawn before it, groups, the seed."""
    kinds = [(text(f"beam.search_{name}"), name) for name in ("beam", "sample", "stochastic")]
    search = gr.Radio(kinds, value="beam", label=text("beam.search"))
    law = [knob.slider(text) for knob in LAW_KNOBS]
    first = gr.Slider(0, 8, value=0, step=1, label=text("beam.first"), info=text("beam.first_info"))
    groups = gr.Slider(1, 8, value=1, step=1, label=text("beam.groups"), info=text("beam.groups_info"))
    diversity = gr.Slider(0, 5, value=0, step=0.1, label=text("beam.diversity"), info=text("beam.diversity_info"))
    seed = gr.Number(0, label=text("controls.seed"))
    return [search, *law, first, groups, diversity, seed]


def _shows(text: Text) -> tuple[tuple[str, str], ...]:
    return tuple((name, text(f"beam.show_{name}")) for name in ("kept", "near", "all"))


def _choose(lab: Lab) -> Any:
    """Another model was chosen: a prompt it can read, and the lines of the table where that is one's own."""

    def choose(model: str) -> tuple[Any, Any]:
        return PROMPTS.get(Choice.of(model).model, ""), gr.update(visible=model == OWN)

    return choose


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: a generator of viewer values, one per depth."""

    def start(model: str, table: str, prompt: str, template: Any, *given: Any) -> Iterator[str]:
        *boxes, turn = given

        def make(loaded: LanguageModel) -> tuple[Run, BeamSettings]:
            from decoding import api

            settings, seed = read_settings(boxes)
            run = lab.runs.new(api.prepare(loaded, prompt, settings, seed, template))
            run.model = loaded if model == OWN else None
            return run, settings

        try:
            source: Any = _own(table) if model == OWN else model
        except UserError as error:
            yield view.trouble(text, error, turn=turn)
            return
        yield from running(lab, text, source, make, turn, after=lambda loaded, run: compare_toy(lab, loaded, run))

    return start


def restored(lab: Lab, run: Run) -> list[Any]:
    """The values of all controls that made this run, in the order of the page."""
    made, name = run.header.settings, lab.name_of(run)
    prompt, template, _ = controls.prompt_of(lab)(run)
    model = OWN if run.model else name if name in lab.models.names else gr.skip()
    law = [made.get(knob.name, knob.off) for knob in LAW_KNOBS]
    rules = [made.get(knob.name, knob.off) for knob in KNOBS]
    early = "never" if made["early_stopping"] == "never" else str(made["early_stopping"]).lower()
    chance = [made["search"], *law, made["sample_first"], made["num_beam_groups"], made["diversity_penalty"]]
    live = [made["num_beams"], made["length_penalty"], early, *rules]
    table = gr.update(value=_lines(run), visible=True) if run.model else gr.skip()
    return [model, table, prompt, template, made["max_new_tokens"], *chance, run.header.seed, *live]


def _lines(run: Run) -> str:
    """The visitor's own table, as it was typed or as it would be."""
    from decoding.models.table_text import write_text
    from decoding.models.toy import ToyModel

    return write_text(run.model.table) if isinstance(run.model, ToyModel) else ""


def _own(lines: str) -> LanguageModel:
    """The user's table as a model. Raises UserError for a mistake in it."""
    from decoding.models.table_text import read_text
    from decoding.models.toy import ToyModel

    return ToyModel(read_text(lines, "own"))


def read_settings(boxes: list[Any]) -> tuple[BeamSettings, int]:
    """The settings and the seed that the controls ask for, in the order of the page."""
    from decoding.settings import beam_settings

    tokens, search, heat, top_k, top_p, first, groups, diversity, seed, *live = boxes
    settings = beam_settings(
        max_new_tokens=controls.whole(tokens),
        top=TOP,
        **live_options(live),
        search=search,
        temperature=heat,
        top_k=controls.whole(top_k),
        top_p=top_p,
        sample_first=controls.whole(first),
        num_beam_groups=controls.whole(groups),
        diversity_penalty=diversity,
    )
    return settings, controls.whole(seed)


def live_options(live: list[Any]) -> dict[str, Any]:
    """Options by name from the controls whose values can be judged without the model."""
    width, penalty, stopping, *rules = live
    options = {knob.name: value for knob, value in zip(KNOBS, rules, strict=True) if value != knob.off}
    if "max_per_parent" in options:
        options["max_per_parent"] = controls.whole(options["max_per_parent"])
    early: Any = {"true": True, "never": "never"}.get(stopping, False)
    return {"num_beams": controls.whole(width), "length_penalty": penalty, "early_stopping": early, **options}


def compare_toy(lab: Lab, loaded: LanguageModel, run: Run) -> Generator[dict[str, Any], None, None]:
    """A table is small: what other searches find in it, and its best text, are there at once."""
    if run.header.model.is_table:
        for _ in lab.compare(run, loaded):
            pass
    yield from ()


def _comparer(lab: Lab, text: Text) -> Any:
    """Other searches from the same prompt, one by one."""

    def compare(event: gr.EventData) -> Iterator[str]:
        try:
            run = lab.runs.get(event.run)
            loaded = run.model
            if loaded is None:
                name = lab.name_of(run)
                for news in lab.load(name):
                    yield view.dumps({**view.loading(text, name, news), "running": False})
                loaded = lab.models.get(name)
            for done, name in lab.compare(run, loaded):
                words = text("beam.comparing", name=text(f"beam.contest_{name}"))
                yield view.dumps({"progress": {"text": words, "fraction": done}})
            yield view.dumps({"message": "", "details": {"compared": run.id}})
        except Exception as error:
            yield view.trouble(text, error)

    return compare


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""
    pictures = Pictures(lab, text, live_options)
    return view.server(lab, text, pictures.render, sources, lambda run: beam_quiz.cards(lab, run))


def sources(panel: str, step: Any) -> list[Any]:
    """What computed a panel: a depth of the search, its selection and rules, or the searches compared."""
    from decoding import sampling
    from decoding.beam import compare, depth, pruning, search, select

    if isinstance(step, SampleStep):
        return [sampling.decide]
    table = {
        "tree": [search.beam, depth.advance],
        "queue": [select.choose, pruning.prune, *pruning.REGISTRY.values()],
        "pseudo": [search._search],
        "compare": [compare.contests],
    }
    return table.get(panel, [])
