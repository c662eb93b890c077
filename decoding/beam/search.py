"""The beam search loop: one forward a depth, all open beams in its batch; a generator of steps.

Log-probabilities are computed and summed in the type of the model's logits, float32 (float64 for toys), so that
the beams are those of transformers' `generate(num_beams=W)`. R open beams, V vocabulary, S tokens so far.
Closing the generator cancels the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing

import torch
from torch import Tensor

from decoding import observe
from decoding.beam.depth import Group, Search, advance, number_rows, start
from decoding.models.protocol import LanguageModel
from decoding.sampling import Uniforms, sample
from decoding.settings import BeamSettings, SampleSettings
from decoding.trace import BeamStep, Step


def beam(
    model: LanguageModel,
    prompt: Sequence[int],
    settings: BeamSettings,
    uniforms: Uniforms,
    known: Sequence[int] = (),
) -> Iterator[Step]:
    """Yield `sample_first` SampleSteps, then one BeamStep per depth until the search ends or the caller closes it.

    `prompt`: token ids. `known`: tokens of the sampled part already decided; their steps are not made again.
    The sampled tokens are prompt to the search. Raises UserError where the model's logits are broken.
    """
    first = settings.sample_first
    assert len(known) <= first, "only tokens sampled before the search can be known"
    sampled = list(known)
    if first:
        drawing = SampleSettings(settings.processors, "direct", first, settings.top)
        with closing(sample(model, prompt, drawing, uniforms, known)) as steps:  # type: ignore[type-var]
            for step in steps:
                yield step
                sampled.append(step.token.id)
        if sampled[-1] in model.end_ids:
            return
    yield from _search(model, [*prompt, *sampled], Search(settings, uniforms, model.end_ids, model.token))


def _search(model: LanguageModel, prompt: list[int], search: Search) -> Iterator[BeamStep]:
    """The search proper: forward, choose, record, and read what was chosen."""
    groups: tuple[Group, ...] = start(search)
    recorded = 0
    history = unread = torch.tensor([prompt])
    cache = model.new_cache()
    try:
        for depth in itertools.count(1):
            logits = model.forward(unread, cache, logits_to_keep=1).logits[:, -1]
            law = law_of(logits, history, search.settings, search.position(depth))
            groups, step = advance(law, groups, depth, recorded, search)
            yield step
            if step.ending is not None:
                return
            recorded += len(step.nodes)
            groups, rows, tokens = number_rows(groups)
            if rows != list(range(len(history))):
                cache.reorder(rows)
            unread = torch.tensor(tokens)[:, None]
            history = torch.cat((history[rows], unread), dim=1)
    finally:
        del cache  # frees keys and values the moment the run ends or is closed


@torch.inference_mode()
def law_of(logits: Tensor, history: Tensor, settings: BeamSettings, position: int) -> Tensor:
    """ln p (R, V) of every next token, after the processors: a law that sums to 1 in every row.

    `logits` (R, V) after `history` (R, S). Raises UserError where a row is no distribution.
    """
    for largest in logits.amax(-1).tolist():
        observe.check_largest(largest, position)
    for processor in settings.processors:
        logits = processor(logits.cpu(), history)
    return logits.log_softmax(-1)
