"""What the page *Speculative decoding* shows after a round: the rounds so far, one verdict, the text, the counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decoding.errors import UserError
from decoding.speculative.counts import Counts, counts
from decoding.trace import SpeculativeStep
from visualizations.figures import spec_chips, spec_progress, spec_verdict
from visualizations.figures.style import number, running_text
from visualizations.lab import Lab
from visualizations.pages import speculative_race, speculative_road, view
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

BEFORE_SHOWN = 160
"""Most characters of the prompt that stand before the new text; of a longer one, the last."""
NAMES = ("rounds", "verdict", "written", "progress", "road")


def render(lab: Lab, text: Text, request: str, measured: Sequence[Any] = ()) -> dict[str, Any]:
    """The panels after one round; `measured`: the modules of those that have numbers of their own."""
    ask = view.read_ask(request)
    run = lab.runs.get(ask.run)
    if run.header.method != "speculate":
        raise UserError("run_elsewhere")
    steps = run.rounds()
    more = {part.NAME: part.shown(lab, ask, text, run) for part in measured if steps}
    more["road"] = speculative_road.panel(text)
    if not steps:
        return {"panels": {**dict.fromkeys(NAMES), **more}, "count": 0, "counters": []}
    at = min(ask.step, len(steps) - 1)
    return {
        "panels": {**_panels(ask, text, run, steps, at), **more},
        "count": len(steps),
        "where": text("spec.moment", round=at + 1, count=len(steps)),
        "counters": [
            *counters(text, counts(steps[: at + 1])),
            *speculative_race.counters(text, run, whole=at + 1 == len(steps)),
        ],
        "pace": speculative_race.pace(run),
    }


def _panels(ask: Ask, text: Text, run: Run, steps: Sequence[SpeculativeStep], at: int) -> dict[str, Any]:
    shown = steps[: at + 1]
    of = {name: ask.view(name, text) for name in NAMES}
    index, chip = chosen = _chosen(ask, run, at, shown)
    rule = spec_chips.rule_of(shown) or str(run.header.settings.get("verifier", ""))
    figure = spec_verdict.verdict(shown[index], chip, of["verdict"])
    written = spec_chips.written(shown, of["written"], before(run), run.header.model.joiner)
    return {
        "rounds": {
            **spec_chips.rounds_caption(shown, of["rounds"], rule),
            "rounds": spec_chips.rounds(shown, of["rounds"], chosen),
        },
        "verdict": {**spec_verdict.verdict_caption(shown[index], chip, of["verdict"]), "figure": figure},
        "written": {**spec_chips.written_caption(shown, of["written"]), "written": written},
        "progress": view.panel(
            spec_progress.progress_caption(shown, of["progress"]),
            spec_progress.progress(shown, of["progress"], len(steps)),
        ),
    }


def _chosen(ask: Ask, run: Run, at: int, shown: Sequence[SpeculativeStep]) -> tuple[int, int]:
    """Round and chip of the verdict shown: those chosen at this round, else the newest round's most telling."""
    chip = ask.details.get("chip")
    whole = isinstance(chip, list) and len(chip) == 2 and all(isinstance(place, int) for place in chip)
    if whole and ask.details.get("chip_at") == f"{run.id}/{at}":
        index, place = chip
        if 0 <= index < len(shown) and 0 <= place < len(spec_chips.chips(shown[index])):
            return index, place
    return at, spec_chips.telling(shown[at])


def before(run: Run) -> str:
    """The end of what the model read before it wrote."""
    tokens = run.header.prompt.tokens[run.header.model.is_table :]  # a table's first says only start
    whole = running_text(tokens, run.header.model.joiner)
    return whole if len(whole) <= BEFORE_SHOWN else "…" + whole[-BEFORE_SHOWN:]


def counters(text: Text, made: Counts) -> list[dict[str, str]]:
    """What the rounds came to, in large figures."""
    share, drafts = made.accepted_share, {"drafted": number(made.drafted), "judged": number(made.judged)}
    found = [
        (f"{made.tau:.2f}", text("spec.count_tau")),
        ("–" if share is None else f"{100 * share:.0f} %", text("spec.count_accepted", **drafts)),
        (number(made.target_passes), text("spec.count_target")),
        (number(made.draft_passes), text("spec.count_draft")),
    ]
    return [{"value": value, "label": label} for value, label in found]
