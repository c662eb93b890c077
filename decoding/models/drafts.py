"""Draft models that are made of their target: the one trained for it, or its own first layers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from decoding.errors import UserError
from decoding.models import draft_file
from decoding.models.draft_file import Draft
from decoding.models.huggingface import HuggingFaceModel
from decoding.models.protocol import LanguageModel, Progress
from decoding.models.reduction import Reduction


def load(kind: str, target: LanguageModel, exit_layer: int = 8, progress: Progress | None = None) -> LanguageModel:
    """The draft of this kind for a target, on the target's own engine.

    `trained`: the one that comes with the code or lies in the folder `kind` names; `early`: the target's first
    `exit_layer` layers. Raises UserError where the target has none, or is no model with such layers.
    """
    layers = decoder_layers(target)
    if kind == "early":
        if layers == 1:
            raise UserError("draft_one_layer", name=target.info.name)
        if not 1 <= exit_layer < layers:
            raise UserError("out_of_range", name="exit_layer", value=exit_layer, limit=f"1 … {layers - 1}")
        return reduced(target, Reduction(exit_layer), progress)
    draft = find(target) if kind == "trained" else draft_file.read(Path(kind))
    return reduced(target, Reduction.trained(draft), progress)


def find(target: LanguageModel) -> Draft:
    """The draft that comes with the code for this target. Raises UserError where there is none."""
    for folder in draft_file.shipped():
        draft = draft_file.read(folder)
        if draft.vocab_size == target.info.vocab_size and draft.sample.shape[1] == hidden_size(target):
            return draft
    raise UserError("no_draft", name=target.info.name)


def decoder_layers(model: LanguageModel) -> int:
    """How many decoder layers a model has. Raises UserError for one that cannot be reduced."""
    count = _layer_count(model)
    if count is None:
        raise UserError("draft_of_table" if model.info.is_table else "draft_unsupported", name=model.info.name)
    return count


def _layer_count(model: Any) -> int | None:
    if isinstance(model, HuggingFaceModel):
        layers = getattr(getattr(model.module, "model", None), "layers", None)
        return len(layers) if isinstance(layers, nn.ModuleList) and hasattr(model.module.model, "norm") else None
    return model.origin.arch.layers if hasattr(model, "origin") else None


def hidden_size(model: Any) -> int:
    """H of a model that can be reduced."""
    if isinstance(model, HuggingFaceModel):
        return int(model.module.get_input_embeddings().weight.shape[1])
    return int(model.origin.arch.hidden)


def reduced(target: Any, reduction: Reduction, progress: Progress | None = None) -> LanguageModel:
    """The smaller model. Raises UserError for a trained draft of another target."""
    if isinstance(target, HuggingFaceModel):
        return _shared(target, reduction)
    from decoding.models import onnx

    return onnx.load(target.origin, progress, reduction)


def _shared(target: HuggingFaceModel, reduction: Reduction) -> HuggingFaceModel:
    """On torch: all weights that are the target's are shared with it."""
    module = target.module
    embedding = module.get_input_embeddings().weight
    reduction.check(embedding.detach().float().cpu().numpy(), target.info.name)
    small, body = _shallow(module), _shallow(module.model)
    layers = list(module.model.layers[: reduction.layers])
    if reduction.draft is not None:
        layers, body.norm = copy.deepcopy(layers), copy.deepcopy(body.norm)
    body.layers, small.model = nn.ModuleList(layers), body
    small.config = body.config = copy.deepcopy(module.config)
    small.config.num_hidden_layers = reduction.layers
    if getattr(small.config, "layer_types", None):
        small.config.layer_types = small.config.layer_types[: reduction.layers]
    like = {"dtype": embedding.dtype, "device": embedding.device}
    said = None
    if reduction.draft is not None:
        own = {name: torch.from_numpy(weight).to(**like) for name, weight in reduction.draft.weights.items()}
        small.load_state_dict(own, strict=False)
        said = torch.from_numpy(reduction.draft.vocabulary).to(embedding.device)
        head = nn.Linear(embedding.shape[1], len(said), bias=False, **like)
        head.weight = nn.Parameter(module.get_output_embeddings().weight[said], requires_grad=False)
        small.set_output_embeddings(head)
    model = HuggingFaceModel(small.eval(), target.tokenizer, f"{target.info.name}, {reduction.name}")
    model.said = said
    model.lead = reduction.draft.lead if reduction.draft else ()
    return model


def _shallow(module: Any) -> Any:
    """A module whose parts are the same, but may be replaced."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
