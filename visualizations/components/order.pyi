"""The order of the processors: a list whose rows move up and down, by mouse or keyboard."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from visualizations.text import Text

_JS = Path(__file__).with_name("order.js").read_text(encoding="utf-8")

NAMES = (
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "no_repeat_ngram_size",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
)
"""The processors in the usual order (a test compares them with `decoding.processors`)."""

from gradio.events import Dependency

class Order(gr.HTML):
    """Value: JSON text, the processors' names in the order to apply them."""

    def __init__(
        self,
        text: Text | None = None,
        *,
        value: Any = None,
        html_template: str | None = None,
        js_on_load: str | None = _JS,
        **options: Any,
    ) -> None:
        if html_template is None and text is not None:
            labels = {name: text(f"processor.{name}") for name in NAMES}
            words = {"up": text("order.up"), "down": text("order.down"), "labels": labels}
            html_template = (
                f'<div class="lab-order" data-words="{escape(json.dumps(words, ensure_ascii=False))}">'
                f'<p class="lab-small">{escape(text("order.help"))}</p><ol></ol></div>'
            )
        super().__init__(
            value=value or json.dumps(NAMES),
            html_template=html_template or "",
            js_on_load=js_on_load,
            apply_default_css=False,
            **options,
        )

    def get_block_name(self) -> str:
        """The front end knows it as an HTML component."""
        return "html"

    @staticmethod
    def read(value: Any) -> tuple[str, ...]:
        """The names in the value, or the usual order where it is none."""
        try:
            names = json.loads(value)
        except (TypeError, ValueError):
            return NAMES
        known = isinstance(names, list) and all(isinstance(name, str) for name in names)
        return tuple(names) if known and sorted(names) == sorted(NAMES) else NAMES
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component