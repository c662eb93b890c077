"""How open the choice is, in bits, as the temperature goes from 0 to 3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from decoding.trace import Effects
from visualizations.figures import base, curves
from visualizations.figures.style import SMALL, Figure, View, number, text_px
from visualizations.figures.words import Caption, caption

HEIGHT = 240
RIGHT = 16
SPOTS = (
    *((12, -14), (12, 12), (-12, 14), (12, 26), (-12, 28), (12, -28), (-12, -16)),
    *((32, 4), (44, 4), (60, 4), (80, 6), (-12, -30), (-12, -46), (-12, -62), (-12, 42), (12, 42)),
)
"""Where a label may stand, from the dot it names, px right and up; the first free one is taken."""


def entropy_curve(effects: Effects, view: View, temperature: float, entropy: float | None = None) -> Figure:
    """Entropy against T with its value at the cursor; `entropy` is that value where T is off the grid."""
    bits = curves.at(effects.temperatures, effects.entropies, temperature)
    exact = curves.on_grid(effects.temperatures, temperature)
    total = vocabulary(effects)
    most = math.log2(total) if total > 1 else 0.0
    top = max(max(effects.entropies), most, 0.1) * 1.12
    value = view.text("entropy.value", bits=_bits(bits, exact, entropy))
    shapes = [*curves.cursor(view, temperature), curves.dot(view, temperature, bits, view.color("kept"))]
    wide, tall = curves.size(view, HEIGHT, RIGHT)
    low, high = effects.temperatures[0], effects.temperatures[-1]
    scale = (wide / ((high - low) or 1), tall / top)
    line = [((t - low) * scale[0], e * scale[1]) for t, e in zip(effects.temperatures, effects.entropies, strict=True)]
    dx, dy, anchor = _spot(
        ((temperature - low) * scale[0], bits * scale[1]), line, text_px(value, SMALL), (wide, tall, most * scale[1])
    )
    notes = [
        curves.cursor_label(view, temperature, low, high, wide, RIGHT),
        curves.note(view, temperature, bits, f"<b>{value}</b>", xshift=dx, yshift=dy, xanchor=anchor),
    ]
    data = [_line(effects, view)]
    if most:
        data.append(base.lines([((low, most), (high, most))], view.color("soft"), 1, "4px,3px"))
        notes.append(_most(view, (temperature - low) * scale[0], wide, most, total))
    frame = curves.frame(
        view,
        HEIGHT,
        RIGHT,
        xaxis=curves.temperature_axis(view, effects.temperatures),
        yaxis=base.ruled(view, 0, top, nticks=5, title=curves.title(view, "entropy.axis")),
        shapes=shapes,
        annotations=notes,
    )
    numbers = [effects.temperatures, effects.entropies, [most]]
    return curves.keyed(data, frame, numbers, ["H", view.theme, data[0]["hovertemplate"]])


def vocabulary(effects: Effects) -> int:
    """How many tokens top-p 1 keeps, which is all; 0 where the grid does not say."""
    return max(effects.kept[-1], default=0) if effects.top_ps and effects.top_ps[-1] >= 1 else 0


def _line(effects: Effects, view: View) -> base.Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(effects.temperatures),
        "y": list(effects.entropies),
        "line": {"color": view.color("kept"), "width": 2.4},
        "hovertemplate": view.text("curves.cursor", t="%{x:.2f}")
        + "<br>"
        + view.text("entropy.value", bits="%{y:.2f}")
        + "<extra></extra>",
    }


def _bits(bits: float, exact: bool, entropy: float | None) -> str:
    if entropy is not None:
        return f"{entropy:.2f}"
    return f"{bits:.2f}" if exact else f"≈ {bits:.2f}"


def _spot(
    dot: tuple[float, float], line: Sequence[tuple[float, float]], wide: float, limits: tuple[float, float, float]
) -> tuple[float, float, str]:
    """Where a label beside the dot crosses neither the line, nor the cursor, nor the edges: dx, dy, anchor.

    All in px from the lower left corner; `limits`: the plot's width and height, and the height of the dashed line.
    """
    for dx, dy in SPOTS:
        left = dot[0] + dx - (wide if dx < 0 else 0)
        low = dot[1] + dy - 9
        inside = left >= 2 and left + wide <= limits[0] + RIGHT and low >= 1 and low + 18 <= limits[1]
        clear = all(
            b[0] < left - 3 or a[0] > left + wide + 3 or max(a[1], b[1]) < low - 2 or min(a[1], b[1]) > low + 20
            for a, b in pairwise(line)
        )
        apart = not limits[2] or low + 20 < limits[2] or low > limits[2] + 18
        if inside and clear and apart:
            return dx, dy, "left" if dx > 0 else "right"
    return 12, 14, "left"


def _most(view: View, cursor: float, wide: float, most: float, total: int) -> dict[str, Any]:
    """Names the dashed line of the greatest entropy, on the side where the cursor leaves room."""
    for key in ("entropy.most", "entropy.most_short"):
        said = view.text(key, count=number(total), bits=f"{most:.2f}")
        room = text_px(said, SMALL) + 8
        if cursor < wide - room or cursor > room:
            break
    right = cursor < wide - room or wide - cursor > cursor
    side: dict[str, Any] = {"xref": "paper", "xanchor": "right" if right else "left", "yanchor": "bottom", "yshift": 1}
    return curves.note(view, 1 if right else 0, most, said, color="soft", **side, xshift=-2 if right else 4)


def entropy_caption(effects: Effects, view: View, temperature: float, entropy: float | None = None) -> Caption:
    """The entropy now, what it is like, and what it means."""
    bits = curves.at(effects.temperatures, effects.entropies, temperature)
    exact = curves.on_grid(effects.temperatures, temperature)
    choices = 2 ** (bits if entropy is None else entropy)
    said = f"{choices:.1f}" if choices < 10 else number(round(choices))
    values = {"t": f"{temperature:.2f}", "bits": _bits(bits, exact, entropy), "choices": said}
    here = view.text("entropy.now" if choices >= 1.05 else "entropy.sure", **values)
    return caption(view.text("entropy.title"), [here, view.text("entropy.why")], view)
