"""Every rule in order, one row a stage: the same tokens in the same columns, cut ones hollow where they fell."""

from __future__ import annotations

from dataclasses import dataclass

from decoding.trace import SampleStep, Stage, Token
from visualizations.figures import base
from visualizations.figures.rules import Fate, Story, rule_name, story
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    mix,
    number,
    percent,
    percent_label,
    quoted,
    text_px,
    token_label,
)
from visualizations.figures.words import Caption, caption, spaced

HEAD = 34
"""Height of the token labels on top, px."""
BAR = 42
"""Height of a bar of probability `y_max`, px."""
WIDE = 640
"""From this width on, names and numbers stand beside the rows, not above them."""
NAMES, FACTS, COLUMN = 132, 128, 56
"""Least width of the names and width of the numbers beside the rows, and least width of a column, px."""
BOLD = 1.1
"""How much wider bold letters are than `text_px` takes them to be."""
THICK = 0.5
"""Width of a bar, in columns."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Places in px from the top left corner; the figure's hidden axes are in px too."""

    width: float
    names: float
    facts: float
    count: int
    row: float
    y_max: float

    @property
    def column(self) -> float:
        """Width of a column."""
        return (self.width - self.names - self.facts) / self.count

    def x(self, index: int) -> float:
        """Centre of a column."""
        return self.names + self.column * (index + 0.5)

    def ground(self, stage: int) -> float:
        """Where a row's bars stand."""
        return HEAD + self.row * (stage + 1) - 10

    def tall(self, prob: float) -> float:
        """Height of a bar."""
        return BAR * min(1.0, prob / self.y_max)


def stages(step: SampleStep, view: View, top_n: int = 8) -> Figure:
    """Small multiples: rows are stages, columns the likeliest tokens, the drawn one and the others."""
    told = story(step.stages, view)
    names = _names_width(told)
    tokens = _tokens(told, step.token, min(top_n, _room(view, names)))
    fates = [[told.fate(token, s) for token in tokens] for s in range(len(step.stages))]
    rest = [_rest(stage, tokens) for stage in step.stages]
    most = max([f.prob for row in fates for f in row] + [mass for _, mass in rest])
    grid = _grid(view, names, len(tokens) + 1, most)
    data = [
        _targets(told, tokens, rest, grid),
        *_bars(fates, rest, view, grid),
        *_amounts(fates, rest, view, grid),
        *_heads(tokens, step.token, view, grid),
        *_names(told, view, grid),
        *_facts(told, view, grid),
    ]
    high = HEAD + grid.row * len(step.stages)
    frame = base.layout(
        view, high, xaxis=base.axis(0, view.width), yaxis=base.axis(high, 0), shapes=_shapes(tokens, step, view, grid)
    )
    return base.figure(data, frame)


def _tokens(told: Story, drawn: Token, count: int) -> list[Token]:
    """The drawn token, the likeliest of the final law, and the model's likeliest, in the model's order."""
    top = [c.token for c in told.stages[0].result.top]
    best = next((f.token for f in told.fates(len(told.stages) - 1) if f.kept), drawn)
    ids = {drawn.id, best.id}
    for token in top:
        if len(ids) >= count:
            break
        ids.add(token.id)
    return [token for token in top if token.id in ids]


def _rest(stage: Stage, tokens: list[Token]) -> tuple[int, float]:
    ids = {token.id for token in tokens}
    hidden = [c.prob for c in stage.result.top if c.kept and c.token.id not in ids]
    return stage.result.tail_count + len(hidden), stage.result.tail_mass + sum(hidden)


def _names_width(told: Story) -> float:
    """Room for the longest name or note beside the rows, px."""
    notes = [told.view.text(f"note.{note}") for stage in told.stages for note in stage.notes]
    wide = [BOLD * text_px(name, BODY) for name in told.names] + [text_px(note, SMALL) for note in notes]
    return max(NAMES, max(wide) + 10)


def _room(view: View, names: float) -> int:
    """How many tokens fit beside the column of the others."""
    beside = 0 if view.width < WIDE else names + FACTS
    return max(2, int((view.width - beside) / COLUMN) - 1)


def _grid(view: View, names: float, columns: int, y_max: float) -> Grid:
    if view.width < WIDE:
        return Grid(view.width, 0, 0, columns, BAR + 72, y_max)
    return Grid(view.width, names, FACTS, columns, BAR + 36, y_max)


def _bars(fates: list[list[Fate]], rest: list[tuple[int, float]], view: View, grid: Grid) -> list[base.Trace]:
    kept: list[tuple[float, float, float]] = []
    cut: list[tuple[float, float, float, float]] = []
    half = grid.column * THICK / 2
    for s, row in enumerate(fates):
        for i, fate in enumerate(row):
            x, ground, tall = grid.x(i), grid.ground(s), grid.tall(fate.prob)
            if fate.kept:
                kept.append((x, -tall, ground))
            elif fate.cut_by == s:
                cut.append((x - half, ground - tall, x + half, ground))
    x = grid.x(grid.count - 1)
    others = [(x, -grid.tall(mass), grid.ground(s)) for s, (_, mass) in enumerate(rest)]
    cut += [(x - half, grid.ground(s) - grid.tall(mass), x + half, grid.ground(s)) for s, mass in _gone(rest)]
    return [
        _upright(kept, view, grid),
        base.hatched(_upright(others, view, grid), view),
        base.dashed(cut, view.color("cut")),
    ]


def _gone(rest: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The stage that cut all of the others, and what they held before it; nothing where none did."""
    return [(s, rest[s - 1][1]) for s in range(1, len(rest)) if rest[s - 1][0] and not rest[s][0]]


def _upright(boxes: list[tuple[float, float, float]], view: View, grid: Grid) -> base.Trace:
    xs, heights, grounds = ([box[i] for box in boxes] for i in range(3))
    return base.bars(xs, heights, view.color("kept"), grid.column * THICK, grounds, upright=True)


def _amounts(fates: list[list[Fate]], rest: list[tuple[int, float]], view: View, grid: Grid) -> list[base.Trace]:
    kept, cut, gone = [], [], []
    fell = dict(_gone(rest))
    for s, row in enumerate(fates):
        for i, fate in enumerate(row):
            place = (grid.x(i), grid.ground(s) - grid.tall(fate.prob) - 9)
            if fate.kept:
                kept.append((*place, _brief(fate.prob)))
            elif fate.cut_by == s:
                cut.append((*place, f"✕ {_brief(fate.prob)}"))
            else:
                gone.append((grid.x(i), grid.ground(s) - 7, "✕"))
        count, mass = rest[s]
        x, y = grid.x(grid.count - 1), grid.ground(s)
        if count:
            kept.append((x, y - grid.tall(mass) - 9, _brief(mass)))
        elif s in fell:
            cut.append((x, y - grid.tall(fell[s]) - 9, f"✕ {_brief(fell[s])}"))
        elif rest[0][0]:
            gone.append((x, y - 7, "✕"))
    center = "middle center"
    return [
        base.texts(kept, view.color("soft"), center, SMALL),
        base.texts(cut, view.color("cut"), center, SMALL),
        base.texts(gone, mix(view.color("cut"), view.color("panel"), 0.3), center, SMALL),
    ]


def _brief(prob: float) -> str:
    """A percentage for a small cell: with narrow spaces."""
    return percent_label(prob).replace(" ", "\u202f")


def _heads(tokens: list[Token], drawn: Token, view: View, grid: Grid) -> list[base.Trace]:
    room = int((grid.column - 4) / (SMALL * 0.61))
    heads, marks = [], []
    for i, token in enumerate(tokens):
        label = token_label(token.text, max(3, room))
        heads.append((grid.x(i), HEAD - 10, f"<b>{label}</b>" if token.id == drawn.id else label))
        if token.id == drawn.id:
            marks.append((grid.x(i), 8, "▾"))
    words = [(grid.x(grid.count - 1), HEAD - 10, view.text("stages.others"))]
    center = "middle center"
    return [
        base.texts(heads, view.color("ink"), center, SMALL, mono=True),
        base.texts(marks, view.color("ink"), center, BODY),
        base.texts(words, view.color("soft"), center, SMALL),
    ]


def _names(told: Story, view: View, grid: Grid) -> list[base.Trace]:
    names, notes = [], []
    for s, stage in enumerate(told.stages):
        said = [view.text(f"note.{note}") for note in stage.notes]
        if grid.names:
            y = grid.ground(s) - (28 if said else 18)
            names.append((0, y, f"<b>{told.names[s]}</b>"))
            notes += [(0, y + 16 * (k + 1), text) for k, text in enumerate(said)]
        else:
            y = grid.ground(s) - BAR - 48
            names.append((0, y, f"<b>{told.names[s]}</b>" + "".join(f" · {text}" for text in said)))
    return [
        base.texts(names, view.color("ink"), size=BODY),
        base.texts(notes, view.color("soft"), size=SMALL),
    ]


def _facts(told: Story, view: View, grid: Grid) -> list[base.Trace]:
    points, cuts = [], []
    for s, stage in enumerate(told.stages):
        bits = view.text("stages.bits", bits=f"{stage.result.entropy:.2f}")
        kept = view.text("stages.kept", count=number(stage.kept_count))
        gone = told.stages[s - 1].kept_count - stage.kept_count if s else 0
        mass = view.text("stages.mass", mass=percent_label(stage.kept_mass)) if gone else ""
        if grid.facts:
            x, y = grid.width - grid.facts + 14, grid.ground(s) - 34
            points += [(x, y, bits), (x, y + 17, kept)]
            cuts.append((x, y + 34, mass or " "))  # of texts that are all empty Plotly never draws a later one
        else:
            y = grid.ground(s) - BAR - 31
            points.append((0, y, " · ".join(part for part in (bits, kept, mass) if part)))
    return [
        base.texts(points, view.color("soft"), size=SMALL),
        base.texts(cuts, view.color("soft"), size=SMALL),
    ]


def _shapes(tokens: list[Token], step: SampleStep, view: View, grid: Grid) -> list[dict[str, object]]:
    """The drawn token's column, and a ground line for each row."""
    line = {"color": view.color("line"), "width": 1}
    right = grid.width - grid.facts
    made: list[dict[str, object]] = []
    count = len(step.stages)
    for i, token in enumerate(tokens):
        if token.id == step.token.id:
            left = grid.x(i) - grid.column * 0.44
            soft = {"fillcolor": view.color("kept_soft"), "opacity": 0.35, "line": {"width": 0}, "layer": "below"}
            places = {"type": "rect", "x0": left, "x1": left + grid.column * 0.88, **soft}
            made.append({**places, "y0": 0, "y1": HEAD if view.width < WIDE else grid.ground(count - 1) + 6})
            if view.width < WIDE:  # there, text stands between the rows
                made += [{**places, "y0": grid.ground(s) - BAR - 18, "y1": grid.ground(s) + 6} for s in range(count)]
    for s in range(count):
        y = grid.ground(s)
        made.append({"type": "line", "x0": grid.names, "x1": right, "y0": y, "y1": y, "line": line, "layer": "below"})
    return made


def _targets(told: Story, tokens: list[Token], rest: list[tuple[int, float]], grid: Grid) -> base.Trace:
    xs = [grid.names + grid.column * i for i in range(grid.count + 1)]
    ys = [HEAD + grid.row * s for s in range(len(told.stages) + 1)]
    hovers = [told.hover(token) for token in tokens]
    ids: list[int | None] = [token.id for token in tokens]
    rows = []
    for count, mass in rest:
        values = {"count": number(count), "mass": percent_label(mass)}
        rows.append([*hovers, told.view.text("stages.hover_others", **values)])
    return base.targets(xs, ys, rows, [[*ids, None] for _ in rest])


def stages_caption(step: SampleStep, view: View) -> Caption:
    """How the rules together changed the drawn token's chance and the whole law."""
    first, last, text = step.stages[0], step.stages[-1], view.text
    token = quoted(step.token.text)
    count = len(step.stages) - 1
    key = "stages.token" if count else "stages.token_model"
    parts = [text(key, token=token, model=percent(step.model_prob), prob=percent(step.prob))]
    if count:
        values = {"kept": number(last.kept_count), "total": number(first.kept_count)}
        bits = {"before": f"{first.result.entropy:.2f}", "after": f"{last.result.entropy:.2f}"}
        parts.append(text("stages.law", **values, **bits))
    for stage in step.stages:
        parts += [spaced(text(f"note.{note}.long", rule=rule_name(stage, view))) for note in stage.notes]
    title = (
        text("stages.title", step=step.position + 1, count=count)
        if count
        else text("stages.title_none", step=step.position + 1)
    )
    return caption(title, parts, view)
