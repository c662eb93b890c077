"""Every text that a small model can write, best first: what a search should have found, and where it lost it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from decoding import observe
from decoding.beam.paths import normalised
from decoding.errors import UserError
from decoding.models.protocol import LanguageModel, text_of
from decoding.trace import Returned

LIMIT = 100_000
"""Most texts enumerated."""
BATCH = 64
"""Contexts read in one forward."""

Text = tuple[tuple[int, ...], float]
"""New tokens and their summed log-probability."""


@torch.inference_mode()
def exhaustive(
    model: LanguageModel,
    prompt_ids: Sequence[int],
    max_new_tokens: int,
    length_penalty: float = 1.0,
    limit: int = LIMIT,
) -> tuple[Returned, ...]:
    """Every text of probability above 0 that ends with an end token or at `max_new_tokens`, best score first.

    score = logprob / length^length_penalty, the length in new tokens, the end token included; of equal scores the
    lowest token ids first. Raises UserError: `too_many_texts` where there are more than `limit` (every open text
    becomes one at least, so this is known early), `broken_logits` where the model gives no distribution.
    """
    done: list[Text] = []
    opened: list[Text] = [((), 0.0)]
    for _ in range(max_new_tokens):
        grown: list[Text] = []
        for unread, new, more in _grown(model, prompt_ids, opened):
            if (count := len(done) + len(grown) + new + unread) > limit:
                values = {"count": count, "tokens": max_new_tokens, "limit": limit}
                raise UserError("too_many_texts", model=model.info.name, **values)
            grown += more
        done += [text for text in grown if text[0][-1] in model.end_ids]
        opened = [text for text in grown if text[0][-1] not in model.end_ids]
    found = [(normalised(logprob, len(ids), length_penalty), ids, logprob) for ids, logprob in done + opened]
    found.sort(key=lambda text: (-text[0], text[1]))
    return tuple(Returned(ids, text_of(model, ids), logprob, score) for score, ids, logprob in found)


def _grown(
    model: LanguageModel, prompt: Sequence[int], opened: Sequence[Text]
) -> Iterator[tuple[int, int, Iterator[Text]]]:
    """Batch by batch of the open texts: how many are still unread, how many extensions are possible, and these."""
    for start in range(0, len(opened), BATCH):
        batch = opened[start : start + BATCH]
        contexts = torch.tensor([[*prompt, *ids] for ids, _ in batch])
        logits = model.forward(contexts, model.new_cache(len(batch)), logits_to_keep=1).logits[:, -1]
        logprobs = logits.double().log_softmax(-1).cpu()
        for broken in logits[logprobs.isnan().any(-1)]:
            observe.law(broken.cpu(), len(batch[0][0]))
        rows, tokens = logprobs.isfinite().nonzero().unbind(-1)
        columns = zip(rows.tolist(), tokens.tolist(), logprobs[rows, tokens].tolist(), strict=True)
        more = (((*batch[row][0], token), batch[row][1] + own) for row, token, own in columns)
        yield len(opened) - start - len(batch), len(rows), more
