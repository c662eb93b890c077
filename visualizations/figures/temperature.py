"""The probability of the likeliest tokens as the temperature goes from 0 to 3."""

from __future__ import annotations

from typing import Any

from decoding.values import Effects
from visualizations.figures import base, curves
from visualizations.figures.style import (
    SMALL,
    Figure,
    View,
    mix,
    percent,
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
HAIR, SAMPLE = 14, 20
"""Width of a hair from a line's end, and of the sample of the line before its name, px."""
TOP = 1.02
"""Highest probability of the axis: a little air above 100 %."""
TICKS = ["0", "25 %", "50 %", "75 %", "100 %"]
DASHES = ("solid", "7px,3px", "2px,2px", "9px,3px,2px,3px")


def temperature_curves(effects: Effects, view: View, temperature: float, top_n: int = 8) -> Figure:
    """One line a token, named at its right end; the cursor stands at T."""
    count = min(top_n, len(effects.tokens))
    limit = 9 if view.narrow else 14
    labels = [token_label(token.text, limit) for token in effects.tokens[:count]]
    widest = max(text_px(short(visible(t.text), limit), SMALL, mono=True) for t in effects.tokens[:count])
    right = HAIR + SAMPLE + 13 + widest
    wide, _ = curves.size(view, HEIGHT, right)
    data = [_line(effects, i, label, view, count) for i, label in enumerate(labels)]
    data += _names(effects, labels, view)
    low, high = effects.temperatures[0], effects.temperatures[-1]
    share = wide / (wide + right)
    frame = curves.frame(
        view,
        HEIGHT,
        0,
        xaxis={**curves.temperature_axis(view, effects.temperatures), "domain": [0, share]},
        xaxis2=base.axis(0, right, domain=[share, 1], anchor="y"),
        yaxis=base.ruled(
            view, 0, TOP, tickvals=[0, 0.25, 0.5, 0.75, 1], ticktext=["0", "25 %", "50 %", "75 %", "100 %"]
        ),
        shapes=[
            *curves.cursor(view, temperature),
            _dots(effects, view, temperature, count),
            curves.cursor_label(view, temperature, low, high, wide, right),
        ],
        hovermode="x unified",
    )
    ids = [token.id for token in effects.tokens[:count]]
    return curves.keyed(data, frame, [effects.temperatures, effects.probs, ids], ["p", view.theme, right, *labels])


def _dots(effects: Effects, view: View, temperature: float, count: int) -> dict[str, Any]:
    """Where the cursor meets the lines, as one shape: it moves in one stroke."""
    _, tall = curves.size(view, HEIGHT, 0)
    heights = [curves.at(effects.temperatures, effects.probs[i], temperature) / TOP * tall for i in range(count)]
    path = "".join(f"M-4.5,{y:.1f}L0,{y + 4.5:.1f}L4.5,{y:.1f}L0,{y - 4.5:.1f}Z" for y in heights)
    where = {"xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": temperature, "yanchor": 0}
    line = {"color": view.color("panel"), "width": 1.2}
    return {"type": "path", "path": path, **where, "fillcolor": view.color("kept"), "line": line}


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


def _names(effects: Effects, labels: list[str], view: View) -> list[base.Trace]:
    """From each line's end a hair to its name, and before the name a sample of the line."""
    _, tall = curves.size(view, HEIGHT, 0)
    count = len(labels)
    hairs, samples, names = [], [], []
    for i, place in enumerate(_places(effects, view, count)):
        y = place / tall * TOP
        hairs.append([(1, effects.probs[i][-1]), (HAIR, y)])
        sample, dash = [[(HAIR, y), (HAIR + SAMPLE, y)]], DASHES[i % len(DASHES)]
        samples.append(base.lines(sample, _color(view, i, count), _width(i), dash, xaxis="x2"))
        names.append((HAIR + SAMPLE + 5, y, labels[i]))
    joined = base.lines(hairs, mix(view.color("soft"), view.color("panel"), 0.5), 1, xaxis="x2")
    colors = [mix(_color(view, i, count), view.color("ink"), 0.35) for i in range(count)]
    return [joined, *samples, {**base.texts(names, colors, size=SMALL, mono=True), "xaxis": "x2"}]


def _width(index: int) -> float:
    return 2.6 if index == 0 else 1.8


def temperature_caption(effects: Effects, view: View, temperature: float) -> Caption:
    """What T does to the most likely token, then to all."""
    now = curves.at(effects.temperatures, effects.probs[0], temperature)
    own = curves.at(effects.temperatures, effects.probs[0], 1.0)
    shown = percent(now) if curves.on_grid(effects.temperatures, temperature) else f"≈ {percent(now)}"
    values = {"t": f"{temperature:.2f}", "token": quoted(effects.tokens[0].text), "prob": shown, "own": percent(own)}
    return caption(
        view.text("temperature.title"), [view.text("temperature.now", **values), view.text("temperature.why")], view
    )
