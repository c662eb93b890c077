"""Which rule removed which token, and how a rule is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.trace import Candidate, Stage, Token
from visualizations.figures.style import View, decimal, literal, percent_label, token_label


@dataclass(frozen=True, slots=True)
class Fate:
    """A token at one stage: its probability there, or, once removed, just before `cut_by` took it."""

    token: Token
    prob: float
    kept: bool
    cut_by: int | None = None


def value_text(value: Any) -> str:
    """A setting's value: 0.90, 0.0003, 50."""
    if isinstance(value, float):
        plain = f"{value:.6g}"
        return plain if "e" in plain or len(plain.partition(".")[2]) > 2 else decimal(value)
    return str(value)


def name_of(name: str, params: Mapping[str, Any], view: View) -> str:
    """`top-p 0.90`, in the reader's language; an unknown rule by its own name."""
    values = " ".join(value_text(value) for value in params.values())
    try:
        return view.text(f"rule.{name}", value=values)
    except KeyError:
        return literal(f"{name} {values}".strip())


def rule_name(stage: Stage, view: View) -> str:
    """The rule behind a stage, with its setting."""
    return name_of(stage.name, stage.params, view)


def candidates(stages: Sequence[Stage]) -> list[dict[int, Candidate]]:
    """Token id -> candidate, for each stage."""
    return [{c.token.id: c for c in stage.result.top} for stage in stages]


@dataclass(frozen=True, slots=True)
class Story:
    """All stages of one step, their names in words, their candidates by token id.

    `said`: for each stage, the words of a hover text before, between and after probability and logit.
    """

    stages: Sequence[Stage]
    names: Sequence[str]
    tables: Sequence[Mapping[int, Candidate]]
    said: Sequence[Sequence[str]]
    view: View

    def fates(self, last: int) -> list[Fate]:
        """What became of each listed token by stage `last`, the most probable first."""
        found = [self.fate(c.token, last) for c in self.stages[last].result.top]
        return sorted(found, key=lambda f: (-f.prob, not f.kept, f.token.id))

    def fate(self, token: Token, last: int) -> Fate:
        """What became of this token by stage `last`."""
        prob = 0.0
        for index, table in enumerate(self.tables[: last + 1]):
            here = table.get(token.id)
            if here is not None and not here.kept:
                return Fate(token, prob, False, index)
            prob = here.prob if here is not None else prob
        return Fate(token, prob, True)

    def hover(self, token: Token) -> str:
        """Everything known about a token: id, bytes, and its logit and probability after each stage."""
        lines = token_lines(token, self.view)
        for name, (before, between, after), table in zip(self.names, self.said, self.tables, strict=True):
            here = table.get(token.id)
            if here is None:
                continue
            if not here.kept or here.logit is None:
                lines.append(self.view.text("hover.removed", name=name))
                break
            lines.append(f"{before}{percent_label(here.prob)}{between}{decimal(here.logit)}{after}")
        return "<br>".join(lines)


def story(stages: Sequence[Stage], view: View, names: Sequence[str] | None = None) -> Story:
    """The story of these stages; `names` replace those of the rules."""
    called = [rule_name(stage, view) for stage in stages] if names is None else names
    said = [view.text("hover.stage", name=name, prob="\0", logit="\0").split("\0") for name in called]
    return Story(stages, called, candidates(stages), said, view)


@dataclass(frozen=True, slots=True)
class Others:
    """The tokens without a row of their own: how many, how many of them kept, and their mass.

    Where none is kept, `mass` is what they held when they last held any.
    """

    count: int
    kept: int
    mass: float


def others(stages: Sequence[Stage], shown: Sequence[int]) -> Others:
    """What the tokens not in `shown` (ids) have at the last of `stages`."""
    listed = set(shown)
    count = max(0, stages[0].kept_count - len(listed))
    rests = [_rest(stage, listed) for stage in stages]
    kept, mass = rests[-1]
    if not kept:
        mass = next((m for k, m in reversed(rests) if k), 0.0)
    return Others(max(count, kept), kept, mass)


def _rest(stage: Stage, listed: set[int]) -> tuple[int, float]:
    hidden = [c.prob for c in stage.result.top if c.kept and c.token.id not in listed]
    return stage.result.tail_count + len(hidden), stage.result.tail_mass + sum(hidden)


def token_lines(token: Token, view: View) -> list[str]:
    """The token in full, its id and its bytes, as lines of a hover text."""
    raw = token.bytes
    shown = " ".join(f"{byte:02X}" for byte in raw[:12]) + (" …" if len(raw) > 12 else "")
    return [f"<b>{token_label(token.text, 48)}</b>", view.text("hover.token", id=token.id, bytes=shown)]
