"""The panel that swaps the drafter: the run's prompt raced with each, so that acceptance is seen beside cost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decoding.errors import UserError
from decoding.models.protocol import LanguageModel
from decoding.speculative.values import Alignment
from decoding.trace import DRAFTERS
from visualizations.components.viewer import Panel
from visualizations.figures import spec_align, spec_align_words
from visualizations.lab import Lab
from visualizations.pages import measuring, view
from visualizations.pages.measuring import Told
from visualizations.pages.speculative_sweep import settings_of
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.speculative_settings import SpeculativeSettings

NAME = "alignment"
PANEL = Panel(NAME, button="align.measure", turn=True)
MOST, REPEATS = 40, 3
"""New tokens of a text at most, and how often it is written, so that one slow moment does not count."""


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel for a run: its own races, else the invitation to measure them."""
    found = measuring.found(run, NAME, Alignment)
    if found is None:
        made = run.header.settings
        values = {"gamma": made["gamma"], "most": min(MOST, made["max_new_tokens"])}
        return {"title": text("align.invite"), "text": text("align.invite_text", **values)}
    at = ask.view(NAME, text)
    caption = spec_align_words.alignment_caption(found, at)
    caption["text"] += "\n" + _where(found, text, "align.measured" if NAME in run.measured else "align.recorded")
    return view.panel(dict(caption), spec_align.alignment(found, at))


def _where(found: Alignment, text: Text, key: str) -> str:
    """Of which model, at which gamma, over how much text."""
    model = found.model
    tokens = max((race.plain.written[-1] for race in found.races), default=0)
    how = {"model": model.name, "dtype": model.dtype, "engine": model.engine}
    return text(key, gamma=found.races[0].gamma, tokens=tokens, **how)


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Make every draft ready, then race with each drafter."""
    from decoding.speculative.sweep import aligning

    settings = _fitting(settings_of(run), model)
    drafters = contestants(settings)
    for drafter in drafters:
        yield from _ready(lab, text, model, replace(settings, drafter=drafter))
    racers = lab.racers(model, run, max_new_tokens=min(MOST, settings.max_new_tokens), exit_layer=settings.exit_layer)
    with closing(aligning(racers, lambda asked: lab.draft_of(model, asked), drafters, REPEATS)) as races:
        while True:
            try:
                done, drafter = next(races)
            except StopIteration as end:
                run.measured[NAME] = end.value
                return
            at = {"index": drafters.index(drafter) + 1, "count": len(drafters)}
            yield text("align.at", drafter=spec_align_words.name_of(drafter, text), **at), done


def contestants(settings: SpeculativeSettings) -> tuple[str, ...]:
    """All kinds of drafters, and before them the run's own where it is another model."""
    own = settings.drafter
    return DRAFTERS if own in DRAFTERS else (own, *DRAFTERS)


def _fitting(settings: SpeculativeSettings, model: LanguageModel) -> SpeculativeSettings:
    """The settings, with no more early layers than the model has before its last."""
    from decoding.models.drafts import decoder_layers

    try:
        last = decoder_layers(model) - 1
    except UserError:
        last = 0
    return replace(settings, exit_layer=min(settings.exit_layer, last)) if last else settings  # else it is left out


def _ready(lab: Lab, text: Text, model: LanguageModel, settings: SpeculativeSettings) -> Generator[Told, None, None]:
    """Load the draft model that a drafter needs; one that this model cannot have is told by the races."""
    from decoding.speculative.sweep import CANNOT_HAVE

    words = text("align.loading", drafter=spec_align_words.name_of(settings.drafter, text))
    try:
        with closing(lab.load_draft(model, settings)) as loading:  # type: ignore[type-var]
            for news in loading:
                yield words, news.fraction
    except UserError as error:
        if error.code not in CANNOT_HAVE:
            raise


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.speculative import counts, race, sweep
    from decoding.speculative.values import Race

    return [sweep.aligning, race.racing, Race, counts.counts]
