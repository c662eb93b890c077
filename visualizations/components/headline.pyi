"""A page's question and the one sentence under it."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from gradio.events import Dependency

class Headline(gr.HTML):
    """Static words of ours."""

    def __init__(
        self,
        question: str = "",
        sentence: str = "",
        jump: str = "",
        *,
        html_template: str | None = None,
        **options: Any,
    ) -> None:
        if html_template is None:
            html_template = (
                f'<div class="lab-headline"><h1>{escape(question)}</h1><p>{escape(sentence)}</p>'
                f'<a class="lab-jump" href="#lab-controls">{escape(jump)}</a></div>'
            )
        options.setdefault("apply_default_css", False)
        super().__init__(value="", html_template=html_template, js_on_load=None, **options)

    def get_block_name(self) -> str:
        """The front end knows it as an HTML component."""
        return "html"
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component