"""The room that a figure's labels take, where its hidden axes are in px from the top left corner."""

from __future__ import annotations

import html
import itertools
import re
from typing import Any

from visualizations.figures.style import MONO, SMALL, text_px

Box = tuple[float, float, float, float]


def boxes(figure: dict[str, Any]) -> list[tuple[str, Box]]:
    """Each label as read, with its left, top, right and bottom; widths are upper estimates."""
    found = []
    for trace in figure["data"]:
        if trace.get("mode") != "text":
            continue
        font, side = trace["textfont"], trace["textposition"]
        for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
            words = html.unescape(re.sub("</?b>", "", text))
            room = text_px(words, font["size"], mono=font["family"] == MONO)
            left = x - {"middle right": 0.0, "middle center": room / 2, "middle left": room}[side]
            found.append((words, (left, y - SMALL / 2, left + room, y + SMALL / 2)))
    return found


def faults(figure: dict[str, Any], width: float) -> list[str]:
    """Labels that lie over one another or outside the figure."""
    found, height = boxes(figure), figure["layout"]["height"]
    over = [
        f"{one!r} over {other!r}"
        for (one, a), (other, b) in itertools.combinations(found, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    out = [
        f"{words!r} outside"
        for words, (left, top, right, bottom) in found
        if left < -1 or top < 0 or right > width + 1 or bottom > height
    ]
    return over + out


def words(figure: dict[str, Any]) -> list[str]:
    """All labels as read."""
    return [text for text, _ in boxes(figure)]
