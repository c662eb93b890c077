"""Several searches from the same prompt side by side: what each found, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from decoding.beam.exhaustive import exhaustive
from decoding.beam.paths import normalised
from decoding.beam.pruning import RelativeThreshold
from decoding.beam.results import results
from decoding.beam.search import beam
from decoding.errors import UserError
from decoding.models.protocol import LanguageModel, text_of
from decoding.models.table import REST
from decoding.sampling import Uniforms
from decoding.settings import BeamSettings
from decoding.trace import BeamStep, Step
from decoding.values import Contest, Exhausted

CONTESTS = ("greedy", "beam", "rules", "stochastic")
"""The searches compared, in their order."""
USUAL_RULE = RelativeThreshold(0.3)
"""The rule compared where the settings have none."""


def contests(model: LanguageModel, prompt: Sequence[int], settings: BeamSettings, seed: int) -> Iterator[Contest]:
    """Greedy, the beam search of `settings` without rules, with its rules, and stochastic beam search, one by one.

    All search the same law: `settings` give the processors, the width and the length. Raises UserError where the
    model's logits are broken.
    """
    plain = BeamSettings(
        num_beams=settings.num_beams,
        max_new_tokens=settings.max_new_tokens - settings.sample_first,
        length_penalty=settings.length_penalty,
        early_stopping=settings.early_stopping,
        top=1,
        processors=settings.processors,
    )
    width = settings.num_beams
    entries = {
        "greedy": replace(plain, num_beams=1, length_penalty=1.0, early_stopping=False),
        "beam": plain,
        "rules": replace(plain, rules=settings.rules or (USUAL_RULE,)),
        "stochastic": replace(
            plain, search="stochastic", length_penalty=1.0, early_stopping=False, num_return_sequences=width
        ),
    }
    for name in CONTESTS:
        steps = tuple(beam(model, prompt, entries[name], Uniforms(seed)))
        yield _contest(name, model, steps, entries[name], settings.length_penalty)


def _contest(
    name: str, model: LanguageModel, steps: Sequence[Step], settings: BeamSettings, length_penalty: float
) -> Contest:
    """Of the texts that a search returns, the best by the score that all are compared by."""
    found = results(steps, settings)
    scores = [normalised(each.logprob, len(each.token_ids), length_penalty) for each in found]
    score, best = max(zip(scores, found, strict=True), key=lambda pair: pair[0])
    ids = best.token_ids
    text = text_of(model, ids)
    depths = [step for step in steps if isinstance(step, BeamStep)]
    considered = sum(step.considered for step in depths)
    expanded = 1 + sum(node.fate == "kept" for step in depths[:-1] for node in step.nodes)
    width = settings.num_beams
    rules = {rule.name: float(rule.value) for rule in settings.rules}
    return Contest(name, width, rules, text, ids, best.logprob, score, len(depths), expanded, considered)


def exhausted(model: LanguageModel, prompt: Sequence[int], settings: BeamSettings) -> Exhausted | None:
    """Every text of a table counted, and the best one; None where there are too many, or for a law that is processed.

    The word `…` stands for all words that a table does not name, so that a text with it is no single text: it is
    left out.
    """
    if settings.processors or settings.search != "beam":
        return None
    longest = settings.max_new_tokens - settings.sample_first
    try:
        found = exhaustive(model, prompt, longest, settings.length_penalty)
    except UserError as error:
        if error.code != "too_many_texts":
            raise
        return None
    rest = {id for text in found for id in text.token_ids if model.token(id).text == REST}
    texts = [text for text in found if not rest.intersection(text.token_ids)]
    return Exhausted(len(texts), texts[0], len(found) - len(texts)) if texts else None
