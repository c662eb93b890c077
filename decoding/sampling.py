"""The token loop: read, process, draw, append. A generator of steps; closing it cancels the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding import observe, samplers
from decoding.models.protocol import LanguageModel
from decoding.observe import Law, ranked
from decoding.settings import SampleSettings
from decoding.trace import Draw, ForcedDraw, SampleStep, Token


@dataclass(frozen=True, slots=True)
class Uniforms:
    """The run's random numbers: those of each position depend on the seed and the position alone.

    So a step can be drawn again by itself, and a branch draws as the whole run would have.
    """

    seed: int

    def at(self, position: int, count: int) -> Tensor:
        """`count` uniforms in [0, 1), float64, for one position."""
        generator = torch.Generator().manual_seed(_mix(self.seed, position))
        return torch.rand(count, generator=generator, dtype=torch.float64)


def _mix(seed: int, position: int) -> int:
    """splitmix64 (Steele et al. 2014): neighbouring seeds and positions give unrelated streams."""
    mask = 2**64 - 1
    z = (seed + (position + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def sample(
    model: LanguageModel,
    prompt: Sequence[int],
    settings: SampleSettings,
    uniforms: Uniforms,
    known: Sequence[int] = (),
) -> Iterator[SampleStep]:
    """Yield one SampleStep per new token until an end token, `max_new_tokens`, or the caller closes it.

    `prompt`: token ids. `known`: new tokens already decided (a branch point); their steps are not
    made again, the loop goes on after them. Raises UserError where the model's logits are broken.
    """
    if known and known[-1] in model.end_ids:
        return
    cache = model.new_cache()
    try:
        history = torch.tensor([*prompt, *known])
        unread = history
        for position in range(len(known), settings.max_new_tokens):
            logits = model.forward(unread[None], cache, logits_to_keep=1).logits[0, -1]
            step = decide(logits, history, position, settings, uniforms, model.token)
            yield step
            if step.token.id in model.end_ids:
                return
            unread = torch.tensor([step.token.id])
            history = torch.cat((history, unread))
    finally:
        del cache  # frees keys and values the moment the run ends or is closed


def logits_after(model: LanguageModel, ids: Sequence[int]) -> Tensor:
    """The model's logits (V,) for the token after `ids`, by one forward; float32 (float64 for toys)."""
    logits = model.forward(torch.tensor([list(ids)]), model.new_cache(), logits_to_keep=1).logits[0, -1]
    return plain(logits)


@torch.inference_mode()
def decide(
    logits: Tensor,
    history: Tensor,
    position: int,
    settings: SampleSettings,
    uniforms: Uniforms,
    token: Callable[[int], Token],
) -> SampleStep:
    """One step from the model's logits (V,) after `history` (S,): process, draw, record."""
    laws = process(logits, history, settings, position)
    forced = settings.forced.get(position)
    if forced is None:
        chosen, draw = DRAWERS[settings.sampler](laws[-1], uniforms, position, token)
    else:
        chosen, draw = forced, ForcedDraw()
    return observe.step(position, laws, settings.processors, draw, chosen, settings.top, token)


def process(logits: Tensor, history: Tensor, settings: SampleSettings, position: int = 0) -> list[Law]:
    """The model's law, then the law after each processor, in the order of the settings."""
    laws = [observe.law(plain(logits), position)]
    for processor in settings.processors:
        laws.append(observe.processed(laws[-1], processor, history, position))
    return laws


def plain(logits: Tensor) -> Tensor:
    """On the CPU, in float32 at least."""
    return logits.detach().cpu() if logits.dtype == torch.float64 else logits.detach().float().cpu()


def _argmax(of: Law, uniforms: Uniforms, position: int, token: Callable[[int], Token]) -> tuple[int, Draw]:
    place, work = samplers.argmax(of.logits)
    return int(of.ids(torch.tensor(place))), observe.argmax_draw(of, place, work, token)


def _direct(of: Law, uniforms: Uniforms, position: int, token: Callable[[int], Token]) -> tuple[int, Draw]:
    return observe.draw_direct(of, float(uniforms.at(position, 1)))


def _binary(of: Law, uniforms: Uniforms, position: int, token: Callable[[int], Token]) -> tuple[int, Draw]:
    ids, probs = ranked(of)
    index, draw = samplers.binary_search(samplers.cumulate(probs), float(uniforms.at(position, 1)))
    return int(ids[index]), draw


def _alias(of: Law, uniforms: Uniforms, position: int, token: Callable[[int], Token]) -> tuple[int, Draw]:
    ids, probs = ranked(of)
    table = samplers.build_alias(probs)
    uniform, coin = uniforms.at(position, 2).tolist()
    index, pick = samplers.alias(table, uniform, coin)
    return int(ids[index]), observe.alias_draw(table, ids, uniform, coin, pick, token)


def _gumbel(of: Law, uniforms: Uniforms, position: int, token: Callable[[int], Token]) -> tuple[int, Draw]:
    noise = uniforms.at(position, of.kept_count)
    place, work = samplers.gumbel_max(of.logits, noise)
    ids = of.ids(torch.arange(of.kept_count))
    return int(ids[place]), observe.gumbel_draw(of.logits, ids, noise, work, token)


DRAWERS: dict[str, Callable[[Law, Uniforms, int, Callable[[int], Token]], tuple[int, Draw]]] = {
    "argmax": _argmax,
    "direct": _direct,
    "binary": _binary,
    "alias": _alias,
    "gumbel": _gumbel,
}
"""Sampler name -> how it draws from a law."""
