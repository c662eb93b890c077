"""Captions: the title and the sentences beside a figure, which are also its text for screen readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

from visualizations.figures.style import View

HAN = "\u4e00-\u9fff"


class Caption(TypedDict):
    """Plain text, nothing escaped: a page writes it as text, never as HTML."""

    title: str
    text: str


def caption(title: str, sentences: Sequence[str], view: View) -> Caption:
    """The sentences that are not empty, joined as the language joins them; 12 % does not break."""
    text = view.text("join").join(s for s in sentences if s)
    return {"title": _unbroken(spaced(title)), "text": _unbroken(text)}


def list_of(items: Sequence[str], view: View) -> str:
    """a, b and c"""
    if len(items) < 2:
        return "".join(items)
    return spaced(view.text("list.last", first=view.text("list.comma").join(items[:-1]), last=items[-1]))


def spaced(text: str) -> str:
    """One space between Chinese and Latin or digits, none between Chinese and Chinese. Not for token text."""
    text = re.sub(rf"(?<=[{HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{HAN}])", " ", text)
    return re.sub(rf"(?<=[{HAN}]) (?=[{HAN}])", "", text)


def _unbroken(text: str) -> str:
    return text.replace(" %", "\u00a0%").replace("< 0", "<\u00a00").replace("> 99", ">\u00a099")
