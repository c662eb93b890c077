"""Samplers: four ways to draw from one law, side by side, with their cost measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, ViewChoice, Viewer, ViewSlider
from visualizations.lab import Lab
from visualizations.pages import controls, laboratory, view
from visualizations.text import Text

SAMPLERS = ("direct", "binary", "alias", "gumbel")
PANELS = (
    Panel("play_direct", span=6, section="slow"),
    *(Panel(f"play_{name}", span=6) for name in SAMPLERS[1:]),
    Panel("tally_direct", span=6, section="many"),
    *(Panel(f"tally_{name}", span=6) for name in SAMPLERS[1:]),
    Panel("convergence"),
    Panel("alias_build", section="table"),
    Panel("cost", section="cost"),
    Panel("race", span=7, section="gumbel"),
    Panel("race_first", span=5),
    Panel("frozen", section="frozen"),
    Panel("topk", section="topk"),
)
PRESETS = ("zipf", "uniform", "spike", "tie", "zeros", "model", "typed")
SIZE = 6
SEED = 4


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            choices = [(text(f"law.{name}"), name) for name in PRESETS]
            kind = gr.Radio(choices, value="zipf", label=text("samplers.law"))
            size = gr.Slider(2, 12, value=SIZE, step=1, label=text("samplers.size"))
            typed = gr.Textbox("a:5 b:3 c:2", label=text("samplers.typed"), info=text("samplers.typed_help"))
            seed = gr.Number(SEED, label=text("controls.seed"))
            origin = gr.State(laboratory.RECORDED_STEP)
            show = gr.Button(text("samplers.show"), variant="primary", elem_classes="lab-run")
        with gr.Column(elem_classes="lab-main"):
            Headline(text("samplers.question"), text("samplers.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(laboratory.shown(lab, text, laboratory.Source("zipf", SIZE, "", SEED))),
                text=text,
                panels=PANELS,
                parts=("player", "again_button", "quiz"),
                controls=_controls(text),
                server_functions=laboratory.server(lab, text, SAMPLERS),
                elem_id="viewer",
            )
    asked = [kind, size, typed, seed, origin]
    shower = _shower(lab, text)
    gr.on([show.click, kind.input, size.release], shower, asked, viewer, show_progress="hidden")
    typed.input(lambda: "typed", None, kind, show_progress="hidden", queue=False)
    chosen = typed.submit(lambda: "typed", None, kind, show_progress="hidden")
    chosen.then(shower, asked, viewer, show_progress="hidden")
    page.load(_opener(lab, text), None, [kind, origin, viewer], show_progress="hidden")
    viewer.measure(_measurer(lab, text), None, viewer, **controls.QUEUED)


def _controls(text: Text) -> tuple[ViewSlider | ViewChoice, ...]:
    amounts = tuple((str(n), f"{n:,}") for n in laboratory.AMOUNTS)
    against = (("n", text("samplers.against_n")), ("k", text("samplers.against_k")))
    what = (("operations", text("samplers.operations")), ("seconds", text("samplers.seconds")))
    noise = (("fresh", text("samplers.fresh")), ("frozen", text("samplers.frozen")))
    sizes = (("1", "1"), ("2", "2"), ("3", "3"))
    weights = [
        ViewSlider(f"weight_{name}", text("samplers.weight", name=name.upper()), 0.1, 5, 0.1, value, 1, "race")
        for name, value in (("a", 1.0), ("b", 2.0), ("c", 0.5))
    ]
    return (
        ViewChoice("amount", text("samplers.amount"), amounts, "1000", "many"),
        ViewChoice("noise", text("samplers.noise"), noise, "fresh", "many"),
        ViewSlider("state", text("samplers.state"), 0, 1, 1, 0, 0, "alias_build"),
        ViewChoice("against", text("samplers.against"), against, "n", "cost"),
        ViewChoice("what", text("samplers.what"), what, "operations", "cost"),
        *weights,
        ViewChoice("size", text("samplers.topk_size"), sizes, "2", "topk"),
    )


def _shower(lab: Lab, text: Text) -> Any:
    """The law that the controls ask for."""

    def show(kind: str, size: Any, typed: str, seed: Any, origin: Any) -> str:
        try:
            return view.dumps(laboratory.shown(lab, text, laboratory.read(kind, size, typed, seed, origin)))
        except Exception as error:
            return view.trouble(text, error)

    return show


def _opener(lab: Lab, text: Text) -> Any:
    """The address names a step of a run: its law is drawn from."""

    def start(request: gr.Request) -> tuple[Any, Any, Any]:
        asked = dict(request.query_params)
        if "run" not in asked:
            return gr.skip(), gr.skip(), gr.skip()
        try:
            source = laboratory.of_step(lab, asked["run"], asked.get("step", "0"), SEED)
            return "model", (source.run, source.step), view.dumps(laboratory.shown(lab, text, source))
        except Exception as error:
            return gr.skip(), gr.skip(), view.trouble(text, error)

    return start


def _measurer(lab: Lab, text: Text) -> Any:
    """Measure the cost table on this machine, with progress."""

    def start() -> Iterator[str]:
        try:
            with lab.turns.running():
                for fraction in laboratory.measure(lab):
                    words = text("samplers.measuring")
                    yield view.dumps({"progress": {"text": words, "fraction": fraction}, "running": True})
            yield view.dumps({"message": "", "running": False, "details": {"measured": laboratory.latest(lab)}})
        except Exception as error:
            yield view.trouble(text, error)

    return start
