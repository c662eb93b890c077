"""How open the choice is, in bits, as the temperature goes from 0 to 3."""

from __future__ import annotations

import math
from typing import Any

from decoding.values import Effects
from visualizations.figures import base, curves
from visualizations.figures.style import SMALL, Figure, View, number, text_px
from visualizations.figures.words import Caption, caption

HEIGHT = 240
RIGHT = 16


def entropy_curve(effects: Effects, view: View, temperature: float, entropy: float | None = None) -> Figure:
    """Entropy against T with its value at the cursor; `entropy` is that value where T is off the grid."""
    bits = curves.at(effects.temperatures, effects.entropies, temperature)
    exact = curves.on_grid(effects.temperatures, temperature)
    total = vocabulary(effects)
    most = math.log2(total) if total > 1 else 0.0
    top = max(max(effects.entropies), most, 0.1) * 1.12
    value = " · " + view.text("entropy.value", bits=_bits(bits, exact, entropy))
    wide, _ = curves.size(view, HEIGHT, RIGHT)
    low, high = effects.temperatures[0], effects.temperatures[-1]
    notes = [curves.cursor_label(view, temperature, low, high, wide, RIGHT, value)]
    data = [_line(effects, view)]
    if most:
        data.append(base.lines([((low, most), (high, most))], view.color("soft"), 1, "4px,3px"))
        notes.append(_most(view, (temperature - low) / ((high - low) or 1) * wide, wide, most, total))
    frame = curves.frame(
        view,
        HEIGHT,
        RIGHT,
        xaxis=curves.temperature_axis(view, effects.temperatures),
        yaxis=base.ruled(view, 0, top, nticks=5, title=curves.title(view, "entropy.axis", standoff=6)),
        shapes=[*curves.cursor(view, temperature), curves.dot(view, temperature, bits, view.color("kept")), *notes],
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


def _most(view: View, cursor: float, wide: float, most: float, total: int) -> dict[str, Any]:
    """Names the dashed line of the greatest entropy, on the side where the cursor leaves room."""
    for key in ("entropy.most", "entropy.most_short"):
        said = view.text(key, count=number(total), bits=f"{most:.2f}")
        room = text_px(said, SMALL) + 8
        if cursor < wide - room or cursor > room:
            break
    right = cursor < wide - room or wide - cursor > cursor
    side: dict[str, Any] = {"side": "right", "aside": -2} if right else {"side": "left", "aside": 4}
    return curves.note(view, int(right), most, said, room, up=9, color="soft", xref="x domain", **side)


def entropy_caption(effects: Effects, view: View, temperature: float, entropy: float | None = None) -> Caption:
    """The entropy now, what it is like, and what it means."""
    bits = curves.at(effects.temperatures, effects.entropies, temperature)
    exact = curves.on_grid(effects.temperatures, temperature)
    choices = 2 ** (bits if entropy is None else entropy)
    said = f"{choices:.1f}" if choices < 10 else number(round(choices))
    values = {"t": f"{temperature:.2f}", "bits": _bits(bits, exact, entropy), "choices": said}
    here = view.text("entropy.now" if choices >= 1.05 else "entropy.sure", **values)
    return caption(view.text("entropy.title"), [here, view.text("entropy.why")], view)
