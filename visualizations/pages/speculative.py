"""Speculative decoding: each round's drafts, the verdict on every one, and what the target added."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from decoding.models import draft_file, table
from decoding.trace import DRAFTERS, VERIFIERS, WITHOUT_MODEL
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer
from visualizations.lab import Lab
from visualizations.models import Choice
from visualizations.pages import (
    controls,
    measuring,
    speculative_align,
    speculative_lossless,
    speculative_quiz,
    speculative_race,
    speculative_sweep,
    speculative_view,
    view,
)
from visualizations.pages.sampling import running
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel
    from decoding.speculative_settings import SpeculativeSettings

LESSON = "speculative"
FIRST_MODEL = "smollm2"
PROMPTS = {"smollm2": "The best thing about rainy days is"}
"""What a model is asked to go on from when it is chosen; a table begins with nothing."""
SEED, GAMMA, TOKENS, LAYERS, RANKS = 25, 4, 40, 28, 5
"""As the controls stand at first."""
TOP = 8
"""Tokens recorded of each law."""
KNOBS = (
    controls.Knob("temperature", 0, 3, 0.05, 1, 0.9),
    controls.Knob("top_k", 0, 200, 1, 0),
    controls.Knob("top_p", 0, 1, 0.01, 1, 0.9),
)
MEASURED: tuple[Any, ...] = (
    speculative_race,
    speculative_lossless,
    speculative_sweep,
    speculative_align,
)
"""Modules of a panel each, in order, with a button that measures: NAME, PANEL, shown, job, sources."""
PANELS = (
    Panel("rounds", span=7),
    Panel("verdict", span=5),
    Panel("written", span=7),
    Panel("progress", span=5),
    *(part.PANEL for part in MEASURED),
    Panel("road", code=False),
)


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    names = (FIRST_MODEL, *(name for name in lab.models.names if name != FIRST_MODEL))
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            model = controls.model_box(text, names)
            prompt, template = controls.prompt_box(text, PROMPTS[FIRST_MODEL])
            drafter, layers, gamma = _draft_boxes(lab, text)
            verifier, ranks = _rule_boxes(text)
            law = [knob.slider(text) for knob in KNOBS]
            tokens = controls.new_tokens(text, TOKENS)
            seed = gr.Number(SEED, label=text("controls.seed"))
            run, _, turn = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("speculative.question"), text("speculative.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson, step=lesson.moments - 1)),
                text=text,
                panels=PANELS,
                parts=("counters", "player", "quiz"),
                controls=(speculative_lossless.control(text),),
                address="reopen",
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    asked = [model, prompt, template, drafter, layers, gamma, verifier, ranks, *law, tokens, seed]
    opened = controls.wire_opened(lab, page, asked, lambda run: restored(lab, text, run))
    controls.wire_hint(page, asked, opened)
    gr.on([run.click, prompt.submit], _runner(lab, text), [*asked, turn], viewer, **controls.TURN)
    measure = measuring.measurer(lab, text, {part.NAME: part.job for part in MEASURED})
    viewer.measure(measure, None, viewer, **controls.QUEUED, trigger_mode="multiple")
    quiet: dict[str, Any] = {"queue": False, "show_progress": "hidden"}
    model.input(_choose(lab, text), model, [prompt, drafter], **quiet).then(_needs_layers, drafter, layers, **quiet)
    drafter.input(_needs_layers, drafter, layers, **quiet)
    verifier.input(lambda name: gr.update(visible=name == "top_k"), verifier, ranks, **quiet)


def _draft_boxes(lab: Lab, text: Text) -> tuple[gr.Dropdown, gr.Slider, gr.Slider]:
    """Who drafts, with how many layers, and how many tokens a round."""
    choices = drafters(text, FIRST_MODEL, lab.models.names)
    drafter = gr.Dropdown(choices, value=choices[0][1], label=text("spec.drafter"), filterable=False)
    early = choices[0][1] == "early"
    layers = gr.Slider(1, 29, value=LAYERS, step=1, label=text("spec.exit_layer"), visible=early)
    gamma = gr.Slider(1, 16, value=GAMMA, step=1, label=text("spec.gamma"))
    return drafter, layers, gamma


def _rule_boxes(text: Text) -> tuple[gr.Radio, gr.Slider]:
    """The rule that judges, and K."""
    verifier = gr.Radio(
        [(text(f"spec.verifier_{name}"), name) for name in VERIFIERS],
        value=VERIFIERS[0],
        label=text("spec.verifier"),
        info=text("spec.verifier_info"),
    )
    return verifier, gr.Slider(1, 20, value=RANKS, step=1, label=text("spec.verify_top_k"), visible=False)


def drafters(text: Text, model: str, offered: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Who can draft for a model: (label, name), the first of them to begin with; other models are those offered."""
    if model.startswith("toy:"):
        partners = [(view.model_label(text, name), name) for name in same_words(model)]
        return [*partners, *((text(f"spec.drafter_{name}"), name) for name in WITHOUT_MODEL)]
    made = [name for name in DRAFTERS if name not in WITHOUT_MODEL and ("trained" not in name or draft_file.shipped())]
    own = Choice.of(model).model
    others = [name for name in offered if not name.startswith("toy:") and "@" not in name and name != own]
    first, last = ([(text(f"spec.drafter_{name}"), name) for name in names] for names in (made, WITHOUT_MODEL))
    return [*first, *((view.model_label(text, name), name) for name in others), *last]


def same_words(model: str) -> list[str]:
    """The other tables with the same words in the same order, which may draft for this one."""
    tables = {f"toy:{name}": table.read(table.TABLES / f"{name}.json") for name in table.names()}
    own = tables.get(model)
    words = own.vocabulary() if own else ()
    return [name for name, each in tables.items() if name != model and each.vocabulary() == words]


def first_values() -> list[Any]:
    """What the controls that `read_settings` reads say at first."""
    drafter = drafters(Text("en"), FIRST_MODEL)[0][1]
    law = [knob.first for knob in KNOBS]
    return [drafter, LAYERS, GAMMA, VERIFIERS[0], RANKS, *law, min(TOKENS, controls.most_new_tokens()), SEED]


def _choose(lab: Lab, text: Text) -> Any:
    """Another model was chosen: a prompt it can read, and who can draft for it."""

    def choose(model: str) -> tuple[str, Any]:
        choices = drafters(text, model, lab.models.names)
        return PROMPTS.get(Choice.of(model).model, ""), gr.update(choices=choices, value=choices[0][1])

    return choose


def _needs_layers(drafter: str) -> Any:
    return gr.update(visible=drafter == "early")


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: a generator of viewer values, one per round."""

    def start(model: str, prompt: str, template: Any, *given: Any) -> Iterator[str]:
        *boxes, turn = given

        def ready(loaded: LanguageModel) -> Iterator[dict[str, Any]]:
            for news in lab.load_draft(loaded, read_settings(boxes)[0]):
                yield {"progress": {"text": text("spec.loading"), "fraction": news.fraction}, "running": True}

        def make(loaded: LanguageModel) -> tuple[Run, SpeculativeSettings]:
            from decoding import api

            settings, seed = read_settings(boxes)
            header = api.prepare(loaded, prompt, settings, seed, template, draft=lab.draft_of(loaded, settings))
            return lab.runs.new(header), settings

        def race(loaded: LanguageModel, run: Run) -> Generator[dict[str, Any], None, None]:
            return measuring.told(speculative_race.once(lab, text, run, loaded), lambda: lab.turns.halted(turn))

        yield from running(lab, text, model, make, turn, before=ready, after=race)

    return start


def read_settings(boxes: list[Any]) -> tuple[SpeculativeSettings, int]:
    """The settings and the seed that the controls ask for, in the order of the page."""
    from decoding import api

    drafter, layers, gamma, verifier, ranks, *law, tokens, seed = boxes
    options = {knob.name: value for knob, value in zip(KNOBS, law, strict=True)}
    options["top_k"] = controls.whole(options["top_k"])
    settings = api.speculative_settings(
        drafter=drafter,
        exit_layer=controls.whole(layers),
        gamma=controls.whole(gamma),
        verifier=verifier,
        verify_top_k=controls.whole(ranks),
        max_new_tokens=controls.whole(tokens),
        top=TOP,
        **options,
    )
    return settings, controls.whole(seed)


def restored(lab: Lab, text: Text, run: Run) -> list[Any]:
    """The values of all controls that made this run, in the order of the page."""
    made, name = run.header.settings, lab.name_of(run)
    prompt, template, model = controls.prompt_of(lab)(run)
    drafter = gr.update(choices=drafters(text, name, lab.models.names), value=made["drafter"])
    layers = gr.update(value=made["exit_layer"], visible=made["drafter"] == "early")
    ranks = gr.update(value=made["verify_top_k"], visible=made["verifier"] == "top_k")
    law = [made.get(knob.name, knob.off) for knob in KNOBS]
    rule = [made["gamma"], made["verifier"], ranks]
    return [model, prompt, template, drafter, layers, *rule, *law, made["max_new_tokens"], run.header.seed]


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""

    def render(request: str) -> dict[str, Any]:
        return speculative_view.render(lab, text, request, MEASURED)

    return view.server(lab, text, render, sources, lambda run: speculative_quiz.cards(lab, run, LESSON))


def sources(panel: str, step: Any) -> list[Any]:
    """What computed a panel: the loop, the rules, or the counts."""
    from decoding.speculative import counts, drafters, loop, verification

    table = {
        "rounds": [loop.speculate, drafters.ModelDrafter.propose, verification.verify],
        "verdict": [_rule_class(step), verification.residual],
        "written": [counts.counts],
        "progress": [counts.counts, counts.Counts],
        **{part.NAME: part.sources() for part in MEASURED},
    }
    return table.get(panel, [])


def _rule_class(step: Any) -> Any:
    """The rule that judged in a round."""
    from decoding.speculative import verification as rules

    name = step.verdicts[0].rule if getattr(step, "verdicts", ()) else "lossless"
    return {"exact": rules.ExactMatch, "top_k": rules.TopK, "typical": rules.Typical}.get(name, rules.Lossless)
