"""Corrections: where the lecture notes are wrong, what is right, and a live picture that shows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import gradio as gr

from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer, ViewSlider
from visualizations.figures import entropy, lab_cost, lab_frozen
from visualizations.lab import Lab
from visualizations.pages import beam_exhibits, effects, laboratory, speculative_exhibits, view
from visualizations.text import Text

EXHIBITS = (("temperature", "effects"), ("alias", "samplers"), ("frozen", "samplers"))
"""Each exhibit, and the page where it matters."""
STEP = effects.TEMPERATURES[1]
PANELS = (
    *(Panel(name, section=name, link=page) for name, page in EXHIBITS),
    *beam_exhibits.PANELS,
    *speculative_exhibits.PANELS,
)


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    with gr.Row(elem_classes="lab-page"), gr.Column(elem_classes="lab-main"):
        Headline(text("corrections.question"), text("corrections.sentence"))
        Viewer(
            view.dumps({"run": effects.LESSON, "count": 1, "step": 0, "about": text("corrections.about")}),
            text=text,
            panels=PANELS,
            parts=(),
            controls=(
                ViewSlider("temperature", text("effects.temperature"), 0, 3, STEP, 2.0, panel="temperature"),
                ViewSlider("seed", text("controls.seed"), 0, 50, 1, 3, digits=0, panel="frozen"),
                *beam_exhibits.controls(text),
                *speculative_exhibits.controls(text),
            ),
            server_functions=_server(lab, text),
            elem_id="viewer",
        )


def _server(lab: Lab, text: Text) -> list[Callable[[str], str]]:
    """The functions that the browser calls without the queue."""

    @lru_cache(1)
    def sweep() -> Any:
        return effects.sweep_of(lab, effects.LESSON, 0)

    def render(request: str) -> dict[str, Any]:
        from decoding.experiments.gumbel import frozen
        from decoding.experiments.laws import preset

        ask = view.read_ask(request)
        at = {panel.name: ask.view(panel.name, text) for panel in PANELS}
        heat = ask.slider("temperature", 2.0, 0, 3)
        bits = effects.entropy_at(lab, effects.LESSON, 0, heat)
        one = effects.entropy_at(lab, effects.LESSON, 0, 1.0)
        table, kept = laboratory.recorded_cost(), frozen(preset("zipf", 6), 1_000, int(ask.slider("seed", 3, 0, 50)))
        temperature = entropy.entropy_caption(sweep(), at["temperature"], heat, bits)
        temperature["text"] = text("corrections.temperature_now", t=f"{heat:.2f}", one=f"{one:.2f}", bits=f"{bits:.2f}")
        return {
            "panels": {
                "temperature": view.panel(temperature, entropy.entropy_curve(sweep(), at["temperature"], heat, bits)),
                "alias": view.panel(
                    lab_cost.lab_cost_caption(table, at["alias"], "k", "operations"),
                    lab_cost.lab_cost(table, at["alias"], "k", "operations"),
                ),
                "frozen": view.panel(
                    lab_frozen.lab_frozen_caption(kept, at["frozen"]), lab_frozen.lab_frozen(kept, at["frozen"])
                ),
                **beam_exhibits.panels(lab, ask, text),
                **speculative_exhibits.panels(ask, text),
            }
        }

    def code(request: str) -> dict[str, Any]:
        from decoding import samplers
        from decoding.effects import effects as sweep_
        from decoding.experiments import alias_build, gumbel

        table = {
            "temperature": [sweep_],
            "alias": [samplers.build_alias, alias_build.build_sorted],
            "frozen": [gumbel.frozen],
            **beam_exhibits.sources(),
            **speculative_exhibits.sources(),
        }
        return {"code": view.source_text(table.get(view.read_ask(request).panel, []))}

    return [view.answering(text, answer, answer.__name__) for answer in (render, code)]
