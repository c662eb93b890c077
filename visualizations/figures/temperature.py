"""The probability of the likeliest tokens as the temperature goes from 0 to 3."""

from __future__ import annotations

from typing import Any

from decoding.trace import Effects
from visualizations.figures import base, curves
from visualizations.figures.style import (
    SMALL,
    Figure,
    View,
    mix,
    percent,
    percent_label,
    quoted,
    short,
    spread,
    text_px,
    token_label,
    visible,
)
from visualizations.figures.words import Caption, caption

HEIGHT = 320
GAP = 16
"""Least distance of two names, px."""
HAIR, SWATCH = 14, 20
"""Width of a hair from a line's end, and of the sample of the line before its name, px."""
TOP = 1.02
"""Highest probability of the axis: a little air above 100 %."""
DASHES = ("solid", "7px,3px", "2px,2px", "9px,3px,2px,3px")


def temperature_curves(effects: Effects, view: View, temperature: float, top_n: int = 8) -> Figure:
    """One line a token, named at its right end; the cursor stands at T."""
    count = min(top_n, len(effects.tokens))
    limit = 9 if view.narrow else 14
    labels = [token_label(token.text, limit) for token in effects.tokens[:count]]
    widest = max(text_px(short(visible(t.text), limit), SMALL, mono=True) for t in effects.tokens[:count])
    values = [curves.at(effects.temperatures, effects.probs[i], temperature) for i in range(count)]
    read = not view.narrow and all(exact for _, exact in values)
    right = HAIR + SWATCH + 8 + widest + (68 if not view.narrow else 0)
    data = [_line(effects, i, label, view, count) for i, label in enumerate(labels)]
    shapes = curves.cursor(view, temperature)
    for i, (value, _) in enumerate(values):
        shapes.append(curves.dot(view, temperature, value, _color(view, i, count), 4))
    places = _places(effects, view, count)
    shapes += [shape for i in range(count) for shape in _leader(effects, view, i, count, places[i])]
    low, high = effects.temperatures[0], effects.temperatures[-1]
    wide = curves.size(view, HEIGHT, right)[0]
    notes = [curves.cursor_label(view, temperature, low, high, wide, right)]
    for i, label in enumerate(labels):
        shown = percent_label(values[i][0]) if read else ""
        notes += _name(view, label, shown, places[i], _color(view, i, count), right)
    frame = curves.frame(
        view,
        HEIGHT,
        right,
        xaxis=curves.temperature_axis(view, effects.temperatures),
        yaxis=base.ruled(
            view, 0, TOP, tickvals=[0, 0.25, 0.5, 0.75, 1], ticktext=["0", "25 %", "50 %", "75 %", "100 %"]
        ),
        shapes=shapes,
        annotations=notes,
        hovermode="x unified",
    )
    ids = [token.id for token in effects.tokens[:count]]
    return curves.keyed(data, frame, [effects.temperatures, effects.probs, ids], ["p", view.theme, *labels])


def _color(view: View, index: int, count: int) -> str:
    return mix(view.color("kept"), view.color("soft"), index / max(1, count - 1))


def _line(effects: Effects, index: int, label: str, view: View, count: int) -> base.Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(effects.temperatures),
        "y": list(effects.probs[index]),
        "name": label,
        "customdata": [effects.tokens[index].id] * len(effects.temperatures),
        "line": {
            "color": _color(view, index, count),
            "width": 2.6 if index == 0 else 1.8,
            "dash": DASHES[index % len(DASHES)],
        },
        "hovertemplate": "%{y:.2%}<extra>" + label + "</extra>",
    }


def _places(effects: Effects, view: View, count: int) -> list[float]:
    """Height of each name, px from the axis: near its line's end, at least GAP from the others."""
    _, tall = curves.size(view, HEIGHT, 0)
    ends = [effects.probs[i][-1] / TOP * tall for i in range(count)]
    order = sorted(range(count), key=lambda i: (ends[i], -i))
    found = spread([ends[i] for i in order], GAP, 6, tall - 6)
    return [place for _, place in sorted(zip(order, found, strict=True))]


def _leader(effects: Effects, view: View, index: int, count: int, place: float) -> list[dict[str, Any]]:
    """From the line's end a hair to its name, and before the name a sample of the line."""
    _, tall = curves.size(view, HEIGHT, 0)
    end = effects.probs[index][-1]
    rise = place - end / TOP * tall
    where = {"xref": "paper", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": 1, "yanchor": end}
    color = _color(view, index, count)
    sample = {"color": color, "width": 2.6 if index == 0 else 1.8, "dash": DASHES[index % len(DASHES)]}
    return [
        {
            "type": "line",
            **where,
            **{"x0": 1, "y0": 0, "x1": HAIR, "y1": rise},
            "line": {"color": mix(color, view.color("panel"), 0.55), "width": 1},
        },
        {"type": "line", **where, **{"x0": HAIR, "y0": rise, "x1": HAIR + SWATCH, "y1": rise}, "line": sample},
    ]


def _name(view: View, label: str, value: str, place: float, color: str, right: float) -> list[dict[str, Any]]:
    """The token, and where there is room its probability at the cursor."""
    at: dict[str, Any] = {"xref": "paper", "yref": "paper", "yshift": place, "yanchor": "middle", "mono": True}
    name = curves.note(view, 1, 0, label, xanchor="left", xshift=HAIR + SWATCH + 4, **at)
    name["font"]["color"] = mix(color, view.color("ink"), 0.35)
    if not value:
        return [name]
    return [name, curves.note(view, 1, 0, value, color="soft", xanchor="right", xshift=right - 2, **at)]


def temperature_caption(effects: Effects, view: View, temperature: float) -> Caption:
    """What T does to the most likely token, then to all."""
    now, exact = curves.at(effects.temperatures, effects.probs[0], temperature)
    own, _ = curves.at(effects.temperatures, effects.probs[0], 1.0)
    shown = percent(now) if exact else f"≈ {percent(now)}"
    values = {"t": f"{temperature:.2f}", "token": quoted(effects.tokens[0].text), "prob": shown, "own": percent(own)}
    return caption(
        view.text("temperature.title"), [view.text("temperature.now", **values), view.text("temperature.why")], view
    )
