"""The alias table being built: what each item has left, the columns closed so far, and the two stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.experiments.values import AliasBuild, AliasMove, AliasState
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, cut, hovered, item, made, marks, said
from visualizations.figures.style import SMALL, Figure, View, apart, cells, literal, mix, number, text_px
from visualizations.figures.words import Caption, caption, list_of

GUTTER = 22
"""Room at the left for the height 1, px."""
BAND, TOP = 12, 44
"""y of the words of the move, and of the highest column, px."""
UNIT, MOST = 100, 2.4
"""Height of a full column, px; columns higher than MOST are cut short."""
NAMES, NUMBERS, STACKS, STACK = 13, 30, 58, 22
"""px below the columns: names, numbers, the first stack; and from one stack to the next."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where things stand: `floor` is the columns' foot, `wide` one column, px."""

    build: AliasBuild
    view: View
    index: int

    @property
    def now(self) -> AliasState:
        """The state drawn."""
        return self.build.states[self.index]

    @property
    def move(self) -> AliasMove | None:
        """The move that led to it."""
        return self.build.moves[self.index - 1] if 1 <= self.index <= len(self.build.moves) else None

    @property
    def floor(self) -> float:
        """y of the columns' foot; the highest first mass says how high they are."""
        return TOP + UNIT * min(MOST, max(1.0, *self.build.states[0].mass))

    @property
    def wide(self) -> float:
        """Width of a column with the gap at its right."""
        return (self.view.width - GUTTER) / len(self.now.mass)

    def box(self, column: int, low: float, high: float) -> Box:
        """A column from `low` to `high`, in columns."""
        x = GUTTER + self.wide * column
        right = x + max(1.0, self.wide - (4 if self.wide > 12 else 1))
        return x, self.floor - UNIT * min(high, MOST), right, self.floor - UNIT * min(low, MOST)

    def middle(self, column: int) -> float:
        """x of a column's middle."""
        x0, _, x1, _ = self.box(column, 0, 1)
        return (x0 + x1) / 2


def state_of(build: AliasBuild, state: int) -> int:
    """A state that exists, near `state`."""
    return min(max(state, 0), len(build.states) - 1)


def lab_alias_build(build: AliasBuild, view: View, state: int) -> Figure:
    """The table at `states[state]`, with the move just made; all states are equally high."""
    stage = Stage(build, view, state_of(build, state))
    high = stage.floor + STACKS + STACK + 14
    data = [_hover(stage), *_columns(stage), *_level(stage), *_move(stage), *_names(stage), *_stacks(stage)]
    return made(data, view, high)


def _columns(stage: Stage) -> list[base.Trace]:
    """Own parts, parts given, the part given just now, what the donor had before, and where a column is cut short."""
    view, now, move = stage.view, stage.now, stage.move
    own, given, fresh, before, cut = [], [], [], [], []
    for i, mass in enumerate(now.mass):
        threshold, other = now.thresholds[i], now.aliases[i]
        if threshold is None or other is None:
            own.append(stage.box(i, 0, mass))
            if mass > MOST:
                cut.append(stage.box(i, MOST - 0.16, MOST - 0.1))
            continue
        own.append(stage.box(i, 0, threshold))
        if threshold < 1:
            (fresh if move and move.needy == i else given).append(stage.box(i, threshold, 1))
    if move and move.left < MOST:
        before.append(stage.box(move.donor, move.left, move.left + move.taken))
    return [
        blocks(own, mix(view.color("kept_soft"), view.color("kept"), 0.2)),
        blocks(given, mix(view.color("panel"), view.color("line"), 0.75)),
        blocks(fresh, view.color("kept")),
        base.dashed(before, view.color("kept")),
        blocks(cut, view.color("panel")),
    ]


def _level(stage: Stage) -> list[base.Trace]:
    """The height of a full column, as a dotted line."""
    y, soft = stage.floor - UNIT, stage.view.color("soft")
    return [
        base.lines([((GUTTER - 4, y), (stage.view.width, y))], soft, 1, "2px,3px"),
        base.texts([(0, y, "1")], soft, size=SMALL, mono=True),
    ]


def _move(stage: Stage) -> list[base.Trace]:
    """From the donor's column up, across and down onto the needy one, with the words above."""
    view, move = stage.view, stage.move
    path: list[tuple[float, float]] = []
    words, heads = [], []
    if move:
        x0, x1 = stage.middle(move.donor), stage.middle(move.needy)
        y = BAND + 14
        top = min(stage.box(move.donor, 0, move.left + move.taken)[1] - 2, stage.floor - UNIT)
        path = [(x0, top), (x0, y), (x1, y), (x1, stage.floor - UNIT - 24)]
        heads = [(x1, stage.floor - UNIT - 22)]
        names = [cut(stage.build.law, i, 8, view) for i in (move.donor, move.needy)]
        amount = f"{move.taken:.2f}"
        label = view.text("lab.build.gives", donor=names[0], needy=names[1], amount=amount)
        half = text_px(label, SMALL) / 2 + 2
        safe = view.text("lab.build.gives", donor=literal(names[0]), needy=literal(names[1]), amount=amount)
        words = [(min(max((x0 + x1) / 2, half), view.width - half), BAND - 2, safe)]
    elif stage.index == 0:
        words = [(view.width / 2, BAND - 2, view.text("lab.build.before"))]
    else:
        words = [(view.width / 2, BAND - 2, view.text("lab.build.after"))]
    return [
        base.lines([path] if path else [], view.color("kept"), 1.6),
        marks(heads, "triangle-down", view.color("kept"), 9),
        base.texts(words, view.color("ink"), "middle center", SMALL),
    ]


def _names(stage: Stage) -> list[base.Trace]:
    """Below each column its item and how much of it is there; above a closed one the item that filled it."""
    view, now, law = stage.view, stage.now, stage.build.law
    room = int((stage.wide - 3) / (SMALL * 0.61))
    own, others, numbers, soft = [], [], [], []
    for i, mass in enumerate(now.mass if room >= 1 else ()):
        x, threshold, other = stage.middle(i), now.thresholds[i], now.aliases[i]
        if cut(law, i, room, view) != "…":
            own.append((x, stage.floor + NAMES, item(law, i, room, view)))
            soft.append(view.color("ink" if threshold is None else "soft"))
        amount = f"{mass if threshold is None else threshold:.2f}"
        if room >= len(amount):
            numbers.append((x, stage.floor + NUMBERS, amount))
        if threshold is not None and other is not None and other != i and cut(law, other, room, view) != "…":
            others.append((x, stage.floor - UNIT - 9, item(law, other, room, view)))
    return [
        base.texts(own, soft, "middle center", SMALL, mono=True),
        base.texts(numbers, view.color("soft"), "middle center", SMALL, mono=True),
        base.texts(others, view.color("soft"), "middle center", SMALL, mono=True),
    ]


def _stacks(stage: Stage) -> list[base.Trace]:
    """The two stacks as lists, their top at the right."""
    view, now = stage.view, stage.now
    heads = [view.text("lab.build.small"), view.text("lab.build.large")]
    left = max(text_px(head, SMALL) for head in heads) + 12
    points, lists = [], []
    for i, (head, stack) in enumerate(zip(heads, (now.small, now.large), strict=True)):
        y = stage.floor + STACKS + STACK * i
        points.append((0, y, head))
        lists.append((left, y, stack_words(stage.build, stack, view, int((view.width - left) / (SMALL * 0.61)))))
    return [
        base.texts(points, view.color("soft"), size=SMALL),
        base.texts(lists, view.color("ink"), size=SMALL, mono=True),
    ]


def stack_words(build: AliasBuild, stack: Sequence[int], view: View, columns: int) -> str:
    """`B · D · <b>F ◂</b>`: the top last; what has no room at the bottom is counted."""
    if not stack:
        return view.text("lab.build.empty")
    names = [cut(build.law, i, 8, view) for i in stack]
    shown: list[str] = []
    while len(shown) < len(names) and cells(" · ".join([*shown, names[-1 - len(shown)]])) <= columns - 10:
        shown.insert(0, names[-1 - len(shown)])
    hidden = len(names) - len(shown)
    parts = [f"⋯ {number(hidden)}"] if hidden else []
    parts += [literal(name) for name in shown[:-1]] + [f"<b>{literal(shown[-1])} ◂</b>"]
    return " · ".join(parts)


def _hover(stage: Stage) -> base.Trace:
    now, view, hover = stage.now, stage.view, []
    for i, mass in enumerate(now.mass):
        lines = [hovered(stage.build.law, i, view)]
        threshold, other = now.thresholds[i], now.aliases[i]
        if threshold is None or other is None:
            lines.append(view.text("lab.build.left", mass=f"{mass:.4f}"))
        else:
            values = {"threshold": f"{threshold:.4f}", "token": item(stage.build.law, other, 32, view)}
            lines += [view.text("draw.part_above", **values)] if other != i else []
            lines.append(view.text("draw.part_below", **{**values, "token": item(stage.build.law, i, 32, view)}))
        hover.append("<br>".join(lines))
    edges = [GUTTER + stage.wide * i for i in range(len(hover) + 1)]
    return base.targets(edges, [TOP, stage.floor], [hover], [list(range(len(hover)))])


def lab_alias_build_caption(build: AliasBuild, view: View, state: int) -> Caption:
    """The move just made, with its numbers; before and after, what is there to do and what it cost."""
    index = state_of(build, state)
    text, law, last = view.text, build.law, len(build.states) - 1
    if index == 0:
        first = build.states[0]
        values = {"k": number(len(law.items)), "small": number(len(first.small)), "large": number(len(first.large))}
        parts = [text("lab.build.start", **values), text("lab.build.start_why")]
    elif index == last:
        names = list_of([said(law, i, view) for i in build.leftover], view)
        key = "lab.build.leftover_one" if len(build.leftover) == 1 else "lab.build.leftover"
        full = text(key, names=names) if build.leftover else ""
        parts = [full, text("lab.build.end", moves=number(len(build.moves))), text("lab.build.end_why")]
    else:
        move = build.moves[index - 1]
        digits = apart(move.threshold, 1.0)
        values = {"taken": f"{move.taken:.{digits}f}", "threshold": f"{move.threshold:.{digits}f}"}
        names = {"needy": said(law, move.needy, view), "donor": said(law, move.donor, view)}
        left = _left(move, names["donor"], view)
        parts = [text("lab.build.move", **names, **values), left]
    title = "lab.build.title" if index else "lab.build.title_start"
    return caption(text(title, move=number(index), last=number(last)), parts, view)


def _left(move: AliasMove, donor: str, view: View) -> str:
    """What the donor has after the move."""
    if abs(move.left - 1) < 1e-9:
        return view.text("lab.build.even", donor=donor)
    left = f"{move.left:.{apart(move.left, 1.0)}f}"
    return view.text("lab.build.shrank" if move.donor_shrank else "lab.build.stays", donor=donor, left=left)
