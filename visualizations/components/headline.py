"""A page's question and the one sentence under it."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from visualizations.components.prose import prose

_JS = """
element.querySelector(".lab-jump")?.addEventListener("click", (event) => {
  event.preventDefault(); // the document's base is the site's root, where a bare #address would lead
  document.getElementById("lab-controls")?.scrollIntoView();
});
"""


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
            html_template = f'<div class="lab-headline"><h1>{prose(question)}</h1><p>{prose(sentence)}</p>' + (
                f'<a class="lab-jump" href="#lab-controls">{escape(jump)}</a></div>' if jump else "</div>"
            )
        options.setdefault("apply_default_css", False)
        super().__init__(value="", html_template=html_template, js_on_load=_JS, **options)

    def get_block_name(self) -> str:
        """The front end knows it as an HTML component."""
        return "html"
