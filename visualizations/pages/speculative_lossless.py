"""The panel *Is it lossless?*: the run's first token drawn many thousand times by each rule, beside the target."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from decoding.models.protocol import LanguageModel
from decoding.speculative.values import LawTest
from decoding.trace import Distribution, SpeculativeStep
from visualizations.components.viewer import Panel, ViewChoice
from visualizations.figures import spec_lossless
from visualizations.figures.spec_lossless_words import lossless_caption
from visualizations.figures.style import number, quoted
from visualizations.lab import Lab
from visualizations.pages import measuring, view
from visualizations.pages.measuring import Told
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

NAME = "lossless"
PANEL = Panel(NAME, button="lossless.button", turn=True)
AMOUNTS = (1_000, 10_000, 200_000)
"""Draws of each rule; all are tested at once, and the choice says which test is shown."""

Tests = tuple[LawTest, ...]


def control(text: Text) -> ViewChoice:
    """How many draws are shown."""
    amounts = tuple((str(amount), number(amount)) for amount in AMOUNTS)
    return ViewChoice("draws", text("lossless.draws"), amounts, str(AMOUNTS[-1]), panel=NAME)


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The test of this run; else why there can be none, or what the button does."""
    title, first = text("lossless.title"), run.rounds()[0]
    if not first.nodes:
        return {"title": title, "text": text("lossless.nothing"), "idle": True}
    if (only := _certain(first)) is not None:
        said = [text("lossless.one", token=quoted(only.top[0].token.text))]
        said += [text("lossless.greedy")] if run.header.settings.get("temperature") == 0 else []
        return {"title": title, "text": text("join").join(said), "idle": True}
    tests = measuring.found(run, NAME, Tests)
    if not tests:
        return {"title": title, "text": text("lossless.invite", draws=number(AMOUNTS[-1])), "bare": True}
    found = next((test for test in tests if str(test.draws) == ask.details.get("draws")), tests[-1])
    at = ask.view(NAME, text)
    picture = spec_lossless.spec_lossless(found, at, spec_lossless.largest(tests))
    return view.panel({**lossless_caption(found, at)}, picture)


def _certain(first: SpeculativeStep) -> Distribution | None:
    """The target's law of the first token where it is one token for certain."""
    law = first.verdicts[0].target if first.verdicts else None
    return law if law is not None and law.top[0].prob >= 1 and law.tail_mass == 0 else None


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Test each rule on the laws of the first token of the run on the screen."""
    from decoding.speculative_settings import speculative_settings_from

    for news in lab.load_draft(model, speculative_settings_from(run.header.settings)):
        yield text("spec.loading"), news.fraction
    words = text("lossless.drawing", draws=number(AMOUNTS[-1]))
    yield words, 0.0
    found: list[LawTest] = []
    for test in tested(lab, run, model):
        found.append(test)
        yield words, len(found) / len(AMOUNTS)
    run.measured[NAME] = tuple(found)


def tested(lab: Lab, run: Run, model: LanguageModel) -> Generator[LawTest, None, None]:
    """A test for each amount of draws; none where nothing is drafted."""
    from decoding.sampling import Uniforms
    from decoding.speculative import lossless
    from decoding.speculative.drafters import drafter_of

    racers = lab.racers(model, run)
    settings = racers.settings
    drafter = drafter_of(model, racers.draft, settings, Uniforms(racers.seed))
    target, draft = lossless.first_laws(model, drafter, racers.prompt, settings)
    if draft is not None:
        for draws in AMOUNTS:
            yield lossless.compare(target, draft, lossless.verifiers(settings), draws, racers.seed, model.token)


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.speculative import lossless

    return [lossless.compare, lossless.draw, lossless.accepting, lossless.emitted, lossless.noise]
