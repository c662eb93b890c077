"""Any causal language model of transformers, from a folder or the hub, behind the protocol."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from decoding.errors import UserError, sentence_of
from decoding.models.protocol import KVCache, Output, Progress
from decoding.models.text_model import TextModel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
DEVICE = re.compile(r"cpu|mps|cuda(:\d+)?")
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
HUB_TIMEOUT = 8.0
"""Seconds that the hub has to answer before a model counts as out of reach."""
WEIGHT_FILES = (".safetensors", ".bin")


class HuggingFaceCache:
    """A transformers cache with the protocol's operations; layers are (B, heads, length, head size)."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    @property
    def length(self) -> int:
        """Tokens held per row."""
        return int(self.cache.get_seq_length())

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens. Raises UserError where a layer forgets what left its window."""
        held = self.length
        assert 0 <= length <= held, f"crop to {length} of {held}"
        layers = self._growing_layers()
        if length < held:
            for layer in layers:
                layer.keys, layer.values = layer.keys[..., :length, :], layer.values[..., :length, :]

    def keep(self, indices: Sequence[int]) -> None:
        """Keep just these positions, in this order. Raises UserError as `crop` does."""
        if list(indices) == list(range(len(indices))):
            return self.crop(len(indices))
        for layer in self._growing_layers():
            layer.keep(torch.tensor(indices, device=layer.keys.device))

    def reorder(self, rows: Sequence[int]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        self.cache.reorder_cache(torch.tensor(rows))

    def _growing_layers(self) -> list[Any]:
        from decoding.models.growing import GrowingLayer

        layers = [layer for layer in self.cache.layers if getattr(layer, "is_initialized", True)]
        for layer in layers:
            if type(layer) is not GrowingLayer:
                raise UserError("cache_cannot_crop", kind=type(layer).__name__)
        return layers


class HuggingFaceModel(TextModel):
    """One loaded causal language model. Threads may share it: all state of a run is in its cache."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        dtype = str(model.dtype).removeprefix("torch.")
        super().__init__(name, tokenizer, model.config, model.generation_config, str(model.device), dtype)
        self._model = model
        accepted = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in accepted else "past_key_values"
        self._keeps_logits = "logits_to_keep" in accepted

    @property
    def module(self) -> Any:
        """The transformers module itself: its embedding and output layers serve draft heads."""
        return self._model

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that every forward reads: all but an embedding that is not the output layer too."""
        embedding, head = self._model.get_input_embeddings().weight, self._model.get_output_embeddings()
        total = sum(weight.nbytes for weight in self._model.parameters())
        return total if head is not None and head.weight is embedding else total - embedding.nbytes

    def new_cache(self, batch: int = 1) -> HuggingFaceCache:
        """An empty cache; its rows appear with the first forward."""
        from decoding.models import growing

        return HuggingFaceCache(growing.new_cache(self._model.config))

    def forward(
        self,
        tokens: Tensor,
        cache: KVCache,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        logits_to_keep: int = 0,
        hidden_layers: Sequence[int] = (),
    ) -> Output:
        """As in the protocol; `logits` are float32. What is returned cannot enter autograd: clone it first."""
        assert isinstance(cache, HuggingFaceCache)
        device = self._model.device
        arguments: dict[str, Any] = {self._cache_argument: cache.cache, "use_cache": True}
        if positions is not None:
            arguments["position_ids"] = positions.to(device)
        if mask is not None:
            arguments["attention_mask"] = mask.to(device, self._model.dtype)
        if hidden_layers:
            arguments["output_hidden_states"] = True
        if self._keeps_logits:
            arguments["logits_to_keep"] = logits_to_keep
        with torch.inference_mode():
            result = self._model(tokens.to(device), **arguments)
            hidden = torch.stack([result.hidden_states[layer] for layer in hidden_layers]) if hidden_layers else None
            logits = result.logits[:, -logits_to_keep:].float()
            return Output(logits, hidden, self.said, self.info.vocab_size)


def load(
    source: str, name: str, device: str = "auto", dtype: str = "auto", progress: Progress | None = None
) -> HuggingFaceModel:
    """A causal language model from a local folder or a hub id; `name` is what its header calls it.

    Raises UserError for a folder without a model, a hub id out of reach, a device or dtype that cannot be had.
    """
    place, number = resolve(device, dtype)
    return _read(*locate(source), name, place, number, progress)


def locate(source: str) -> tuple[str, bool]:
    """Where transformers is to look: the folder or hub id, and whether to stay off the network.

    Raises UserError for a folder without a model or a hub id out of reach.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise UserError("model_no_config", path=source)
        return str(folder), True
    if source.startswith(("/", "./", "../", "~", "\\")) or not HUB_ID.fullmatch(source):
        raise UserError("model_no_folder", path=source)
    return source, _reach(source)


def resolve(device: str, dtype: str) -> tuple[torch.device, torch.dtype]:
    """The device and dtype meant. Raises UserError for one that is unknown or not there."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if not DEVICE.fullmatch(device):
        raise UserError("unknown_choice", name="device", value=device, choices="auto, cpu, cuda, cuda:N, mps")
    place = torch.device(device)
    count = {"cpu": 1, "mps": int(torch.backends.mps.is_available()), "cuda": torch.cuda.device_count()}[place.type]
    if (place.index or 0) >= count:
        raise UserError("device_missing", device=device, count=count, kind=place.type)
    if dtype == "auto":
        halved = place.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return place, torch.bfloat16 if halved else torch.float32
    if dtype not in DTYPES:
        raise UserError("unknown_choice", name="dtype", value=dtype, choices=", ".join(["auto", *DTYPES]))
    return place, DTYPES[dtype]


def _read(
    source: str, local: bool, name: str, device: torch.device, dtype: torch.dtype, progress: Progress | None
) -> HuggingFaceModel:
    tell = progress or (lambda stage, done: None)
    tell("loading", 0.0)
    with reading(name):
        tokenizer = read_tokenizer(source, local)
        tell("loading", 0.5)
        loaded = HuggingFaceModel(read_module(source, local, dtype).to(device), tokenizer, name)
    tell("loading", 1.0)
    return loaded


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever a stranger's files make the libraries raise becomes one UserError."""
    try:
        yield
    except Exception as error:
        raise UserError("model_unusable", name=name, reason=sentence_of(error)) from error


def read_module(source: str, local: bool, dtype: torch.dtype) -> Any:
    """The module, for inference. Raises ValueError where weights are missing (transformers makes up random ones)."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model, report = AutoModelForCausalLM.from_pretrained(
        source, dtype=dtype, local_files_only=local, trust_remote_code=False, output_loading_info=True
    )
    if missing := sorted(report["missing_keys"]):
        raise ValueError(f"its weights lack {len(missing)} tensors, {missing[0]} for one")
    return model.eval().requires_grad_(False)


def read_configs(source: str, local: bool) -> tuple[Any, Any]:
    """The config, and the generation config (made from the config where there is no file of it)."""
    from transformers import AutoConfig, GenerationConfig

    options = {"local_files_only": local, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(source, **options)
    try:
        return config, GenerationConfig.from_pretrained(source, local_files_only=local)
    except OSError:
        return config, GenerationConfig.from_model_config(config)


def identity(source: str, local: bool) -> str:
    """What tells the model's files from others: the commit on the hub, or fingerprints of a folder's files."""
    from transformers.utils import cached_file

    from decoding.models.bundled import fingerprint

    folder = Path(source)
    if not folder.is_dir():
        return f"{source} {Path(str(cached_file(source, 'config.json', local_files_only=local))).parent.name}"
    files = sorted(path for path in folder.iterdir() if path.name == "config.json" or path.suffix in WEIGHT_FILES)
    return repr([(path.name, fingerprint(path)) for path in files])


def read_tokenizer(source: str, local: bool) -> Any:
    """The tokenizer as its tokenizer.json says.

    transformers 5 rebuilds some tokenizers from their class and loses parts of the file: read so,
    SmolLM2 no longer splits digits off before spaces and newlines are grouped.
    """
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    from transformers.utils import cached_file

    options = {"local_files_only": local}
    tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False, **options)
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise ValueError(f"its tokenizer is a {type(tokenizer).__name__}, which has no tokenizer.json")
    path = cached_file(source, "tokenizer.json", _raise_exceptions_for_missing_entries=False, **options)
    if path is not None:
        written, used = Tokenizer.from_file(path), tokenizer.backend_tokenizer
        for part in ("normalizer", "pre_tokenizer", "decoder"):
            if repr(getattr(written, part)) != repr(getattr(used, part)):
                setattr(used, part, getattr(written, part))
    return tokenizer


def _reach(hub_id: str) -> bool:
    """Whether to use what the hub cache holds and stay off the network.

    Raises UserError for a model that is neither in the cache nor to be had within HUB_TIMEOUT.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        HfApi().model_info(hub_id, timeout=HUB_TIMEOUT)
        return False
    except GatedRepoError as error:
        raise UserError("model_gated", name=hub_id) from error
    except RepositoryNotFoundError as error:
        raise UserError("model_not_on_hub", name=hub_id) from error
    except Exception as error:
        if isinstance(try_to_load_from_cache(hub_id, "config.json"), str):
            return True
        raise UserError("hub_unreachable", name=hub_id) from error
