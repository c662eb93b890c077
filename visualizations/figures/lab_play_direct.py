"""One slow direct draw: the items end to end, and a row for each item that the scan has looked at."""

from __future__ import annotations

from decoding.experiments.values import DirectPlay, Law, ScanStep
from visualizations.figures import base, lab_line
from visualizations.figures.lab_marks import made, padded, plain
from visualizations.figures.style import SMALL, Figure, View, apart, literal, mix, number

ROWS, ROW, MOST = 106, 20, 12
"""y of the first row, height of a row, px; most rows."""


def direct(play: DirectPlay, law: Law, view: View, moment: int) -> Figure:
    """After `moment` items were looked at."""
    digits = apart(play.draw.uniform, *(step.high for step in play.steps))
    name, mark = (6, 1) if view.narrow else (9, 5)
    bar = view.width - (2 + name + 1 + digits + 2 + 1 + mark) * SMALL * 0.61 - 14
    done = play.steps[:moment]
    at = done[-1].index if done else None
    chosen = play.chosen if done and done[-1].passed else None
    line = lab_line.Line(law, view, bar, moment, at, chosen)
    height = ROWS + ROW * min(MOST, len(law.items))
    data = lab_line.draw(line)
    data += _stairs(play, law, line, digits, name, moment)
    data += lab_line.pin(line, play.draw.uniform, digits, ROWS - 12, height - 8)
    data.append(base.texts([(bar + 12, ROWS - 20, view.text("lab.direct.head"))], view.color("soft"), size=SMALL))
    return made(data, view, height)


def _stairs(play: DirectPlay, law: Law, line: lab_line.Line, digits: int, name: int, moment: int) -> list[base.Trace]:
    """For each item looked at: the sum before it, its own part, and the two as a number beside u."""
    view, done = line.view, play.steps[:moment]
    skipped, shown = _window(len(law.items), moment)
    before, own, drawn, words, colors = [], [], [], [], []
    if skipped:
        words.append((line.bar + 12, ROWS, literal(f"  ⋯ {number(skipped)}")))
        colors.append(view.color("soft"))
    for place, index in enumerate(shown, start=bool(skipped)):
        y = ROWS + ROW * place
        if index < moment:
            step = done[index]
            low, high = step.low * line.bar, step.high * line.bar
            before.append(((0, y), (low, y)))
            (drawn if step.passed else own).append(((low, y), (max(high, low + 1), y)))
        here = index == moment - 1
        words.append((line.bar + 12, y, _words(law, index, done, digits, name, view)))
        colors.append(view.color("ink" if here else "soft"))
    return [
        base.lines(before, view.color("kept_soft"), 7),
        base.lines(own, mix(view.color("kept"), view.color("panel"), 0.45), 7),
        base.lines(drawn, view.color("kept"), 7),
        base.texts(words, colors, size=SMALL, mono=True),
    ]


def _window(count: int, moment: int) -> tuple[int, range]:
    """How many items have no row any more, and those that have one."""
    if count <= MOST:
        return 0, range(count)
    skipped = max(0, moment - (MOST - 1))
    return skipped, range(skipped, skipped + MOST - bool(skipped))


def _words(law: Law, index: int, done: tuple[ScanStep, ...], digits: int, name: int, view: View) -> str:
    label = padded(plain(law, index, view), name)
    if index >= len(done):
        return literal(f"  {label} –")
    step = done[index]
    if view.narrow:
        mark = "✓" if step.passed else "→"
    else:
        mark = "> u ✓" if step.passed else "≤ u →"
    here = index == len(done) - 1
    text = literal(f"{'▸' if here else ' '} {label} {step.high:.{digits}f} {mark}")
    return f"<b>{text}</b>" if here else text
