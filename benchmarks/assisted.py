"""transformers' assisted generation, as others run it: who takes part in `benchmarks.speculative` beside us."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from decoding.speculative_settings import SpeculativeSettings

Turn = tuple[int, int]
"""New tokens, and forwards of the target that they took."""
Run = Callable[[Sequence[int], SpeculativeSettings, int], Turn]
"""Prompt ids, settings, seed -> one text."""


def theirs(module: Any, drafts: Mapping[str, Any], gamma: int) -> dict[str, Run]:
    """`generate` alone, by prompt look-up, and with each draft's module as its assistant, by name."""
    runs = {
        "generate": _generate(module),
        "prompt lookup": _generate(module, prompt_lookup_num_tokens=gamma, max_matching_ngram_size=3),
    }
    for name, draft in drafts.items():
        runs[f"assisted, {name}"] = _generate(module, assistant_model=_assistant(draft, module, gamma))
    return runs


def _assistant(draft: Any, target: Any, gamma: int) -> Any:
    """The draft's module as transformers takes one: `gamma` tokens a round, all of the target's vocabulary."""
    module = copy.copy(draft)
    module._modules = dict(draft._modules)
    module.set_output_embeddings(target.get_output_embeddings())
    module.generation_config = copy.deepcopy(target.generation_config)
    module.generation_config.num_assistant_tokens = gamma
    module.generation_config.num_assistant_tokens_schedule = "constant"
    module.generation_config.assistant_confidence_threshold = 0.0
    return module


def _generate(module: Any, **options: Any) -> Run:
    """`generate` on this module at the settings' temperature, its forwards counted."""

    def run(ids: Sequence[int], settings: SpeculativeSettings, seed: int) -> Turn:
        torch.manual_seed(seed)
        prompt = torch.tensor([list(ids)], device=module.device)
        heat = next((p.value for p in settings.processors if p.name == "temperature"), 1.0)
        how = {"do_sample": True, "temperature": heat, "top_k": 0, "top_p": 1.0} if heat else {"do_sample": False}
        with _counted(module) as passes:
            made = module.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=settings.max_new_tokens,
                pad_token_id=0,
                **how,
                **options,
            )
        return int(made.shape[1]) - len(ids), passes[0]

    return run


@contextmanager
def _counted(module: Any) -> Iterator[list[int]]:
    """How often this module is called; a draft made of it shares its hooks, and is not counted."""
    passes = [0]

    def note(called: Any, *_: Any) -> None:
        passes[0] += called is module

    handle = module.register_forward_hook(note)
    try:
        yield passes
    finally:
        handle.remove()
