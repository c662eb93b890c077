"""The models a decoder can run on, behind one protocol. Importing this loads neither torch nor transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel, Progress

DEFAULT_MODEL = "smollm2"
DEFAULT_HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""Where `smollm2` comes from when the package that bundles it is not installed."""


def load(
    name: str = DEFAULT_MODEL,
    device: str = "auto",
    dtype: str = "auto",
    progress: Progress | None = None,
    engine: str = "auto",
    precision: str = "auto",
) -> LanguageModel:
    """A model by name: `smollm2`, `toy:NAME`, `toy:PATH.json`, a local folder, or a Hugging Face hub id.

    `device`: auto (CUDA where there is one, else CPU), cpu, cuda, cuda:N, mps.
    `dtype`: auto (float32; bfloat16 on a CUDA device that has it), float32, bfloat16, float16.
    `engine`: auto (ONNX Runtime on a CPU where it knows the architecture, else torch), torch, onnx.
    `precision` of ONNX Runtime's weights: auto (float32), float32, int4.
    Raises UserError for a name, device, dtype, engine or precision that cannot be had. Toy models ignore all but
    the name.
    """
    if name.startswith("toy:"):
        from decoding.models import toy

        return toy.load(name)
    if name == DEFAULT_MODEL:
        from decoding.models import bundled

        if (gguf := bundled.find()) is not None:
            return bundled.load(gguf, name, device, dtype, progress, engine, precision)
    from decoding.models import engines

    source = DEFAULT_HUB_ID if name == DEFAULT_MODEL else name
    return engines.load(source, name, device, dtype, progress, engine, precision)
