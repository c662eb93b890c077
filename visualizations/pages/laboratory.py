"""The sampler laboratory's panels: a law, one slow draw by each sampler, many draws, the table, the cost, the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from decoding import codec
from decoding.errors import UserError
from decoding.experiments.cost_values import CostTable
from decoding.experiments.values import Law, Play, Tally
from decoding.trace import SCHEMA
from visualizations import quiz
from visualizations.figures import (
    lab_alias_build,
    lab_convergence,
    lab_cost,
    lab_frozen,
    lab_play,
    lab_race,
    lab_race_first,
    lab_tally,
    lab_topk,
)
from visualizations.lab import LESSONS, Lab
from visualizations.pages import sampling, view
from visualizations.pages.view import Ask
from visualizations.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

AMOUNTS = (10, 1_000, 100_000)
CONVERGES_TO = 100_000
RACES = 10_000
RECORDED = "recorded"
"""Name of the cost table that is shown before anything is measured here."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the page's law comes from: a preset of some size, what was typed, or a step of a run; and the seed."""

    kind: str
    size: int
    typed: str
    seed: int
    run: str = ""
    step: int = 0

    @property
    def key(self) -> str:
        """As text, to travel with every request."""
        return orjson.dumps(asdict(self)).decode()


RECORDED_STEP = (sampling.LESSON, sampling.FIRST_STEP)
"""The model's step that is drawn from where the address names no other."""


def read(kind: Any, size: Any, typed: Any, seed: Any, origin: Any = RECORDED_STEP) -> Source:
    """The controls' values, checked; `origin`: run and step of the model's law."""
    from decoding.settings import check_seed

    number = int(seed) if isinstance(seed, (int, float)) and float(seed).is_integer() else seed
    check_seed(number)
    if kind == "model":
        return Source(kind, 0, "", number, str(origin[0]), int(origin[1]))
    return Source(str(kind), int(size), str(typed or "") if kind == "typed" else "", number)


def of_step(lab: Lab, run: str, step: str, seed: int) -> Source:
    """A step of a run, named in an address; raises UserError where the run is no longer here."""
    found = lab.runs.get(run)
    return Source("model", 0, "", seed, found.id, view.index_of(step, found))


def law_of(lab: Lab, source: Source) -> Law:
    """The law itself."""
    from decoding.experiments import laws

    if source.kind == "model":
        run = lab.runs.get(source.run)
        return laws.of_distribution(run.step(min(source.step, len(run.packed) - 1)).stages[-1].result)
    return laws.parse(source.typed) if source.kind == "typed" else laws.preset(source.kind, source.size)


def shown(lab: Lab, text: Text, source: Source) -> dict[str, Any]:
    """A viewer value for a law: made here, so that a mistake in it is said before anything changes."""
    law = law_of(lab, source)
    about = f"{text('law.' + source.kind)} · {text('samplers.items', count=len(law.items))} · "
    return {"run": source.key, "count": 1, "step": -1, "about": about + f"{text('controls.seed')} {source.seed}"}


# --- panels --------------------------------------------------------------------------------------------


def server(lab: Lab, text: Text, samplers: Sequence[str]) -> list[Callable[[str], str]]:
    """The functions that the browser calls without the queue."""
    make = _Panels(lab, tuple(samplers))

    def render(request: str) -> dict[str, Any]:
        return make.all(view.read_ask(request), text)

    def code(request: str) -> dict[str, Any]:
        return {"code": view.source_text(_sources(view.read_ask(request).panel))}

    def quiz_(request: str) -> dict[str, Any]:
        return view.ask_quiz(view.read_ask(request), [quiz.cheapest_one, quiz.cheapest_many, quiz.frozen_noise], text)

    def save(request: str) -> dict[str, Any]:
        ask = view.read_ask(request)
        saved = {
            "schema": SCHEMA,
            "source": asdict(_source(ask.run)),
            "round": _round(ask),
            "tallies": list(make.tallies(ask).values()),
        }
        return {"name": "decoding-lab-samplers.json", "json": codec.dumps(saved)}

    named: Mapping[str, Any] = {"render": render, "code": code, "quiz": quiz_, "save": save}
    return [view.answering(text, answer, name) for name, answer in named.items()]


class _Panels:
    """Makes the panels; what took long is kept."""

    def __init__(self, lab: Lab, samplers: tuple[str, ...]) -> None:
        self._lab = lab
        self._samplers = samplers
        self.law = lru_cache(256)(lambda source: law_of(lab, source))
        self.tally = lru_cache(256)(self._tally)
        self._convergence = lru_cache(64)(self._converge)
        self._race = lru_cache(64)(self._races)
        self._frozen = lru_cache(64)(self._freeze)
        self._topk = lru_cache(64)(self._top_k)

    def all(self, ask: Ask, text: Text) -> dict[str, Any]:
        """Every panel of the page."""
        source = _source(ask.run)
        law, round_ = self.law(source), _round(ask)
        plays = self._plays(source, round_)
        panels: dict[str, Any] = {}
        for name, play in plays.items():
            at, moment = ask.view(f"play_{name}", text), ask.step
            figure = lab_play.lab_play(play, law, at, moment)
            panels[f"play_{name}"] = view.panel(lab_play.lab_play_caption(play, law, at, moment), figure)
        tallies = self.tallies(ask)
        scale = lab_tally.tally_scale(*tallies.values())
        for name, found in tallies.items():
            at = ask.view(f"tally_{name}", text)
            figure = lab_tally.lab_tally(found, at, scale)
            panels[f"tally_{name}"] = view.panel(lab_tally.lab_tally_caption(found, at), figure)
        panels["convergence"] = None
        if sum(prob > 0 for prob in law.probs) > 1:  # with one possible item there is no distance to shrink
            at, curves = ask.view("convergence", text), self._convergence(source, round_)
            panels["convergence"] = view.panel(
                lab_convergence.lab_convergence_caption(curves, at), lab_convergence.lab_convergence(curves, at)
            )
        limits = self._table(panels, ask, text, law)
        self._cost(panels, ask, text)
        self._proof(panels, ask, text, source)
        count = max(lab_play.play_length(play) for play in plays.values())
        return {"panels": panels, "count": count, "limits": limits}

    def tallies(self, ask: Ask) -> dict[str, Tally]:
        """Many draws by each sampler, as many and with the noise that were asked for."""
        source, amount, round_ = _source(ask.run), _amount(ask), _round(ask)
        frozen = ask.details.get("noise") == "frozen"
        return {name: self.tally(source, name, amount, round_, frozen and name == "gumbel") for name in self._samplers}

    def _plays(self, source: Source, round_: int) -> dict[str, Play]:
        """One draw by each sampler, from the same stream of uniforms."""
        from decoding.experiments.play import needed, play
        from decoding.sampling import Uniforms

        law = self.law(source)
        most = max(needed(name, law) for name in self._samplers)
        uniforms = Uniforms(source.seed).at(round_, most).tolist()
        return {name: play(name, law, uniforms) for name in self._samplers}

    def _table(self, panels: dict[str, Any], ask: Ask, text: Text, law: Law) -> dict[str, int]:
        from decoding.experiments.alias_build import build

        at, made = ask.view("alias_build", text), build(law)
        last = len(made.states) - 1
        state = int(ask.slider("state", 0, 0, last))
        panels["alias_build"] = view.panel(
            lab_alias_build.lab_alias_build_caption(made, at, state), lab_alias_build.lab_alias_build(made, at, state)
        )
        return {"state": last}

    def _cost(self, panels: dict[str, Any], ask: Ask, text: Text) -> None:
        at, table = ask.view("cost", text), _cost_table(self._lab, str(ask.details.get("measured", RECORDED)))
        against = "n" if ask.details.get("against") == "n" else "k"
        what = "seconds" if ask.details.get("what") == "seconds" else "operations"
        caption = lab_cost.lab_cost_caption(table, at, against, what)
        where = "samplers.recorded_on" if table is recorded_cost() else "samplers.measured_on"
        caption["text"] += text("join") + text(where, machine=table.machine, threads=table.threads)
        panels["cost"] = view.panel(caption, lab_cost.lab_cost(table, at, against, what))

    def _proof(self, panels: dict[str, Any], ask: Ask, text: Text, source: Source) -> None:
        weights = tuple(ask.slider(f"weight_{name}", 1.0, 0.1, 5) for name in "abc")
        race, at = self._race(weights, source.seed), ask.view("race", text)
        panels["race"] = view.panel(lab_race.lab_race_caption(race, at), lab_race.lab_race(race, at))
        at = ask.view("race_first", text)
        figure = lab_race_first.lab_race_first(race, at)
        panels["race_first"] = view.panel(lab_race_first.lab_race_first_caption(race, at), figure)
        at, frozen = ask.view("frozen", text), self._frozen(source)
        panels["frozen"] = view.panel(lab_frozen.lab_frozen_caption(frozen, at), lab_frozen.lab_frozen(frozen, at))
        at, topk = ask.view("topk", text), self._topk(source, _topk_size(ask))
        panels["topk"] = view.panel(lab_topk.lab_topk_caption(topk, at), lab_topk.lab_topk(topk, at))

    def _tally(self, source: Source, name: str, amount: int, round_: int, frozen: bool = False) -> Tally:
        from decoding.experiments import gumbel
        from decoding.experiments.tally import sample

        if frozen:
            return gumbel.frozen(self.law(source), amount, source.seed + round_).frozen
        return sample(name, self.law(source), amount, source.seed + round_)

    def _converge(self, source: Source, round_: int) -> Any:
        from decoding.experiments.tally import converge

        return converge(self.law(source), self._samplers, CONVERGES_TO, source.seed + round_)

    def _races(self, weights: tuple[float, ...], seed: int) -> Any:
        from decoding.experiments.gumbel import race

        return race(weights, RACES, seed)

    def _freeze(self, source: Source) -> Any:
        from decoding.experiments.gumbel import frozen

        return frozen(self.law(source), 1_000, source.seed)

    def _top_k(self, source: Source, size: int) -> Any:
        from decoding.experiments.gumbel import largest_size, top_k

        law = self.law(source)
        return top_k(law, max(1, min(size, largest_size(law))), 10_000, source.seed)


def _source(key: str) -> Source:
    """A request's law; raises UserError where it is none of ours."""
    try:
        return Source(**orjson.loads(key))
    except (orjson.JSONDecodeError, TypeError):
        raise UserError("law_forgotten") from None


def _amount(ask: Ask) -> int:
    amount = str(ask.details.get("amount", ""))
    return int(amount) if amount in map(str, AMOUNTS) else AMOUNTS[1]


def _topk_size(ask: Ask) -> int:
    size = str(ask.details.get("size", ""))
    return int(size) if size in ("1", "2", "3") else 2


def _round(ask: Ask) -> int:
    draws = ask.details.get("draws")
    return draws if isinstance(draws, int) and 0 <= draws < 1_000_000 else 0


def _sources(panel: str) -> list[Any]:
    """What computed a panel."""
    from decoding import samplers
    from decoding.experiments import alias_build, batch, cost, gumbel, tally

    table: dict[str, list[Any]] = {
        "play_direct": [samplers.direct],
        "play_binary": [samplers.cumulate, samplers.binary_search],
        "play_alias": [samplers.alias],
        "play_gumbel": [samplers.gumbel_noise, samplers.gumbel_max],
        "tally_direct": [batch.direct, tally.fit],
        "tally_binary": [batch.binary, tally.fit],
        "tally_alias": [batch.from_columns, tally.fit],
        "tally_gumbel": [batch.gumbel, tally.fit],
        "convergence": [tally.converge],
        "alias_build": [alias_build.build],
        "cost": [cost.point],
        "race": [gumbel.race],
        "race_first": [gumbel.race],
        "frozen": [gumbel.frozen],
        "topk": [gumbel.top_k, gumbel.orders],
    }
    return table.get(panel, [samplers.build_alias])


# --- the cost ------------------------------------------------------------------------------------------


def measure(lab: Lab) -> Iterator[float]:
    """Measure the cost table on this machine; yields the fraction done, and leaves the table in `lab.costs`."""
    from decoding.experiments import cost

    plan = cost.Plan()
    jobs, points = len(plan.jobs()), []
    for point in cost.measure(plan):
        points.append(point)
        yield len(points) / jobs
    lab.costs.append(cost.table(plan, points))
    del lab.costs[:-MOST_TABLES]


MOST_TABLES = 8


def latest(lab: Lab) -> str:
    """The name of the table measured last."""
    return str(id(lab.costs[-1]))


def _cost_table(lab: Lab, name: str) -> CostTable:
    for table in lab.costs:
        if str(id(table)) == name:
            return table
    return recorded_cost()


@lru_cache(1)
def recorded_cost() -> CostTable:
    """The cost table that comes with the app."""
    return codec.loads((LESSONS / "samplers" / "cost.json").read_bytes(), CostTable)
