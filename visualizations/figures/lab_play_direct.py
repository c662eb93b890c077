"""One slow direct draw: the items end to end, and a row for each item that the scan has looked at."""

from __future__ import annotations

from decoding.experiments.values import DirectPlay, Law, ScanStep
from visualizations.figures import base, lab_line
from visualizations.figures.lab_marks import columns, item, made
from visualizations.figures.style import SMALL, Figure, View, apart, literal, mix, number, text_px

ROWS, ROW, MOST = 106, 20, 12
"""y of the first row, height of a row, px; most rows."""
EM = SMALL * 0.61
"""Width of a column of words, px."""


def direct(play: DirectPlay, law: Law, view: View, moment: int) -> Figure:
    """After `moment` items were looked at."""
    digits = apart(play.draw.uniform, *(step.high for step in play.steps))
    head = view.text("lab.direct.head_narrow" if view.narrow else "lab.direct.head")
    name = columns(law, 6 if view.narrow else 10, view)
    sums = (digits + 4 if view.narrow else digits + 8) * EM
    gap = 3 if view.narrow else 4
    bar = view.width - 12 - (name + gap) * EM - max(sums, text_px(head, SMALL) + 4)
    done = play.steps[:moment]
    at = done[-1].index if done else None
    chosen = play.chosen if done and done[-1].passed else None
    line = lab_line.Line(law, view, bar, moment, at, chosen)
    height = ROWS + ROW * min(MOST, len(law.items))
    beside = bar + 12 + (name + gap) * EM
    data = [*lab_line.draw(line), *_stairs(play, line, moment), *_words(play, line, moment, digits, name, beside)]
    data += lab_line.pin(line, play.draw.uniform, digits, ROWS - 12, height - 8)
    data.append(base.texts([(beside, ROWS - 20, head)], view.color("soft"), size=SMALL))
    return made(data, view, height)


def window(count: int, moment: int) -> tuple[int, range, int]:
    """How many items have no row any more, those that have one, and how many have none yet."""
    if count <= MOST:
        return 0, range(count), 0
    if moment <= MOST - 2:
        return 0, range(MOST - 1), count - MOST + 1
    last = moment + 1
    if last >= count - 1:
        return count - MOST + 1, range(count - MOST + 1, count), 0
    return last - MOST + 2, range(last - MOST + 2, last), count - last


def _stairs(play: DirectPlay, line: lab_line.Line, moment: int) -> list[base.Trace]:
    """For each item looked at: the sum before it, and its own part."""
    view, (skipped, shown, _) = line.view, window(len(line.law.items), moment)
    before, own, drawn = [], [], []
    for place, index in enumerate(shown, start=bool(skipped)):
        if index >= moment:
            break
        y, step = ROWS + ROW * place, play.steps[index]
        low, high = step.low * line.bar, step.high * line.bar
        if low > 0:
            before.append(((0, y), (low, y)))
        (drawn if step.passed else own).append(((low, y), (max(high, low + 1.5), y)))
    return [
        base.lines(before, view.color("kept_soft"), 7),
        base.lines(own, mix(view.color("kept"), view.color("panel"), 0.45), 7),
        base.lines(drawn, view.color("kept"), 7),
    ]


def _words(
    play: DirectPlay, line: lab_line.Line, moment: int, digits: int, name: int, beside: float
) -> list[base.Trace]:
    """The items' names, and beside each its sum against u; – where it was not looked at."""
    view, left = line.view, line.bar + 12
    skipped, shown, waiting = window(len(line.law.items), moment)
    names = [(left + 2 * EM, ROWS, f"⋯ {number(skipped)}")] if skipped else []
    sums: list[tuple[float, float, str]] = []
    colors, strong = [view.color("soft")] * len(names), []
    for place, index in enumerate(shown, start=bool(skipped)):
        y, here = ROWS + ROW * place, index == moment - 1
        label = item(line.law, index, name, view)
        names.append((left + 2 * EM, y, f"<b>{label}</b>" if here else label))
        text = _sum(play.steps[index], digits, view) if index < moment else "–"
        sums.append((beside, y, f"<b>{text}</b>" if here else text))
        colors.append(view.color("ink" if here else "soft"))
        strong += [(left, y, "▸")] if here else []
    if waiting:
        names.append((left + 2 * EM, ROWS + ROW * (MOST - 1), f"⋯ {number(waiting)}"))
        colors.append(view.color("soft"))
    first = bool(skipped)
    return [
        base.texts(names, colors, size=SMALL, mono=True),
        base.texts(sums, colors[first : first + len(sums)], size=SMALL, mono=True),
        base.texts(strong, view.color("ink"), size=SMALL, mono=True),
    ]


def _sum(step: ScanStep, digits: int, view: View) -> str:
    if view.narrow:
        return f"{step.high:.{digits}f} {'✓' if step.passed else '→'}"
    return literal(f"{step.high:.{digits}f} {'> u ✓' if step.passed else '≤ u →'}")
