"""One depth of a beam search: every group ranks the extensions of its beams, chooses, and leaves a record."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from decoding.beam import options as rank
from decoding.beam import select
from decoding.beam.candidates import count_possible
from decoding.beam.options import Option
from decoding.beam.paths import normalised
from decoding.beam.select import Choice, Ending
from decoding.samplers import gumbel_noise
from decoding.sampling import Uniforms
from decoding.settings import BeamSettings
from decoding.trace import BeamNode, BeamStep, Hypothesis, Token


@dataclass(frozen=True, slots=True)
class Beam:
    """An open beam: its last node (None at the root) and `token`, and its `row` of the forward."""

    node: int | None
    token: int
    row: int
    logprob: float
    score: float


@dataclass(frozen=True, slots=True)
class Group:
    """Beams that compete with each other: those open and the texts finished, best first."""

    open: tuple[Beam, ...]
    finished: tuple[Hypothesis, ...] = ()
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same through one search."""

    settings: BeamSettings
    uniforms: Uniforms
    end_ids: frozenset[int]
    token: Callable[[int], Token]

    @property
    def longest(self) -> int:
        """The last depth there can be."""
        return self.settings.max_new_tokens - self.settings.sample_first

    @property
    def width(self) -> int:
        """Beams of one group."""
        return self.settings.num_beams // self.settings.num_beam_groups

    @property
    def pool(self) -> int:
        """How many options a choice can look at: with as many, `width` of them do not end a text."""
        return self.width if self.settings.search == "stochastic" else self.width * max(2, 1 + len(self.end_ids))

    def position(self, depth: int) -> int:
        """Of the new token at this depth, counted from 0 with those sampled before."""
        return self.settings.sample_first + depth - 1

    def ends(self, option: Option) -> bool:
        """Whether its token ends a text."""
        return option.token in self.end_ids


@dataclass(frozen=True, slots=True)
class Round:
    """What one group did at one depth."""

    number: int
    group: Group
    options: list[Option]
    choice: Choice
    considered: int

    def taken(self) -> Iterator[int]:
        """The tokens of the options that go on or finish."""
        return (o.token for o, (fate, _) in zip(self.options, self.choice.fates, strict=True) if fate != "pruned")

    def recorded(self, search: Search) -> Iterator[int]:
        """Places of the options that the record lists: what could be taken or was drawn, and the `top` of each beam."""
        looked_at, of_parent = 0, Counter[int]()
        for place, option in enumerate(self.options):
            could_be_taken = option.cut is None and looked_at < search.pool
            among_the_top = of_parent[option.parent] < search.settings.top
            if could_be_taken or among_the_top or search.settings.search == "sample":
                yield place
            looked_at += option.cut is None
            of_parent[option.parent] += 1


def start(search: Search) -> tuple[Group, ...]:
    """Every group at the root. Its perturbed score is Gumbel noise, of a position that no token has."""
    noise = 0.0
    if search.settings.search == "stochastic":
        noise = float(gumbel_noise(search.uniforms.at(search.settings.max_new_tokens, 1)))
    return (Group((Beam(None, -1, 0, 0.0, noise),)),) * search.settings.num_beam_groups


def number_rows(groups: Sequence[Group]) -> tuple[tuple[Group, ...], list[int], list[int]]:
    """The groups with the rows of the next forward; the row each comes from, and the token it reads."""
    going = [beam for group in groups if group.ending is None for beam in group.open]
    row = itertools.count()
    numbered = tuple(
        group if group.ending else replace(group, open=tuple(replace(beam, row=next(row)) for beam in group.open))
        for group in groups
    )
    return numbered, [beam.row for beam in going], [beam.token for beam in going]


@torch.inference_mode()
def advance(
    law: Tensor, groups: Sequence[Group], depth: int, first_id: int, search: Search
) -> tuple[tuple[Group, ...], BeamStep]:
    """The groups after this depth, and its record, whose nodes are numbered from `first_id`.

    `law` (R, V): ln p of every next token after each row of the forward.
    """
    rounds = _play(law, groups, depth, search)
    listed = [(played, place) for played in rounds for place in played.recorded(search)]
    listed.sort(key=lambda item: -item[0].options[item[1]].score)
    ids = {(played.number, place): id for id, (played, place) in enumerate(listed, start=first_id)}
    after = {played.number: _after(played, depth, ids, search) for played in rounds}
    groups = tuple(after.get(number, group) for number, group in enumerate(groups))
    nodes = tuple(_node(played, place, ids[played.number, place], search) for played, place in listed)
    credits = [best for number in after if (best := _attainable(groups[number].open, depth, search)) is not None]
    return groups, BeamStep(
        depth=depth,
        nodes=nodes,
        considered=sum(played.considered for played in rounds),
        finished=select.merged([text for group in groups for text in group.finished], ()),
        attainable=max(credits, default=None),
        ending=groups[rounds[-1].number].ending if all(group.ending for group in groups) else None,
    )


def _play(law: Tensor, groups: Sequence[Group], depth: int, search: Search) -> list[Round]:
    """Every group that goes on, each after the tokens that the earlier ones took at this depth."""
    taken: Counter[int] = Counter()
    rounds = []
    for number, group in enumerate(groups):
        if group.ending is None:
            rows = law[[beam.row for beam in group.open]]
            options = _options(rows, group.open, depth, taken, search)
            played = Round(number, group, options, _choice(options, group, depth, search), count_possible(rows))
            taken.update(played.taken())
            rounds.append(played)
    return rounds


def _options(law: Tensor, beams: Sequence[Beam], depth: int, taken: Counter[int], search: Search) -> list[Option]:
    """The extensions that can be taken or are recorded, best first; `law` (R, V) of these beams."""
    asked, position = search.settings, search.position(depth)
    sums = [beam.logprob for beam in beams]
    count = max(asked.top, search.pool)
    if asked.search == "sample":
        uniforms = search.uniforms.at(position, count_possible(law))
        return rank.by_draw(law, sums, asked.top, search.pool, asked.rules, uniforms)
    if asked.search == "stochastic":
        uniforms = search.uniforms.at(position, law.numel()).view(law.shape)
        return rank.by_gumbel(law, sums, [beam.score for beam in beams], count, uniforms)
    return rank.by_probability(law, sums, count, asked.rules, taken, asked.diversity_penalty)


def _choice(options: Sequence[Option], group: Group, depth: int, search: Search) -> Choice:
    held = [text.score for text in group.finished]
    last = depth == search.longest
    if search.settings.search == "stochastic":
        return select.choose_perturbed(options, held, search.width, search.ends, last)

    def rate(option: Option) -> float:
        return normalised(option.logprob, depth, search.settings.length_penalty)

    return select.choose(options, held, search.width, search.ends, rate, last)


def _after(played: Round, depth: int, ids: dict[tuple[int, int], int], search: Search) -> Group:
    """The group with the beams that go on, and the texts it holds."""
    number, options, choice = played.number, played.options, played.choice
    going = tuple(
        Beam(ids[number, place], o.token, played.group.open[o.parent].row, o.logprob, o.score)
        for place, o in enumerate(options)
        if choice.fates[place][0] == "kept"
    )
    new = [Hypothesis(ids[number, place], rating) for place, rating in choice.ratings.items()]
    finished = select.merged(played.group.finished[: choice.held], new)
    best = _attainable(going, depth, search)
    early = search.settings.early_stopping
    return Group(going, finished, select.ending(depth == search.longest, best, finished, search.width, early))


def _attainable(beams: Sequence[Beam], depth: int, search: Search) -> float | None:
    """The score that the best open beam is credited with; None where none is open."""
    if not beams:
        return None
    if search.settings.search == "stochastic":
        return max(beam.score for beam in beams)
    asked = search.settings
    best = max(beam.logprob for beam in beams)
    return select.attainable(best, depth, search.longest, asked.length_penalty, asked.early_stopping)


def _node(played: Round, place: int, id: int, search: Search) -> BeamNode:
    option = played.options[place]
    fate, cut = played.choice.fates[place]
    return BeamNode(
        id=id,
        parent=played.group.open[option.parent].node,
        token=search.token(option.token),
        prob=min(1.0, math.exp(option.local)),
        logprob=option.logprob,
        score=option.score,
        fate=fate,
        rule=cut,
        group=played.number,
    )
