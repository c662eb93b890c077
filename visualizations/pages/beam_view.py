"""What the page *Beam search* shows at one moment: the tree so far, its queue, the pseudo-code, the comparison.

A run of D depths has 2 D moments: at each depth first the candidates, then the verdict on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from decoding.beam.paths import Lost, path, texts, where_lost
from decoding.errors import UserError
from decoding.models.table import REST
from decoding.trace import BeamNode, BeamStep
from decoding.values import Contest, Exhausted
from visualizations.figures import beam_code, beam_queue, beam_tree
from visualizations.figures.beam_words import joined, share
from visualizations.figures.style import View, decimal, number, running_text, visible
from visualizations.lab import Lab
from visualizations.pages import view
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

ROOT_SHOWN = 12
"""Most characters of the text before the search that stand at the tree's root; of a longer text, the last."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A search as it is looked at: its `steps` under `settings` (plain values, as in a header).

    `until`: the last depth that is exact, where the model must run for the rest. `stale`: what is asked for cannot
    be judged from the record at all.
    """

    steps: tuple[BeamStep, ...]
    settings: Mapping[str, Any]
    until: int | None = None
    stale: bool = False


class Pictures:
    """Makes the panels; a search judged again is kept."""

    def __init__(self, lab: Lab, text: Text, live_options: Callable[[list[Any]], dict[str, Any]]) -> None:
        self._lab = lab
        self._text = text
        self._options = live_options
        self._judge = lru_cache(64)(self._judged)

    def render(self, request: str) -> dict[str, Any]:
        """The panels of one moment."""
        ask = view.read_ask(request)
        run = self._lab.runs.get(ask.run)
        if run.header.method != "beam":
            raise UserError("run_elsewhere")
        if not run.searched():
            return {"panels": dict.fromkeys(("tree", "queue", "pseudo", "compare"), None), "count": 0}
        judged = self._judge(run.id, len(run.packed), self._tuned(ask, run))
        count = 2 * len(judged.steps)
        at = max(0, min(ask.step, count - 1))
        depth, verdict = at // 2 + 1, at % 2 == 1
        lost, best = self._lost(run, judged)
        panels = {
            "tree": self._tree(ask, run, judged, depth, verdict, lost, best),
            "queue": self._queue(ask, run, judged, depth, verdict),
            "pseudo": self._pseudo(ask, judged, depth, verdict),
            "compare": self._compare(run),
        }
        words = "beam.moment_verdict" if verdict else "beam.moment_candidates"
        return {"panels": panels, "count": count, "where": self._text(words, depth=depth, count=len(judged.steps))}

    def _tuned(self, ask: Ask, run: Run) -> tuple[Any, ...] | None:
        """What the live controls say, where they were touched since the run."""
        tuned = ask.details.get("tuned")
        return tuple(tuned) if isinstance(tuned, list) and ask.details.get("tuned_run") == run.id else None

    def _judged(self, id: str, steps: int, tuned: tuple[Any, ...] | None) -> Judged:
        """The run as recorded, or judged again by the controls as they stand; a run that grows has more `steps`."""
        run = self._lab.runs.get(id)
        searched, plain = run.searched(), run.header.settings
        if tuned is None:
            return Judged(searched, plain)
        from decoding.beam.rejudge import rejudge
        from decoding.settings import beam_settings, beam_settings_from

        settings, live = beam_settings_from(plain), beam_settings(**self._options(list(tuned)))
        asked = replace(
            settings,
            num_beams=live.num_beams,
            num_return_sequences=min(settings.num_return_sequences, live.num_beams),
            length_penalty=live.length_penalty,
            early_stopping=live.early_stopping,
            rules=live.rules,
        )
        if asked == settings:
            return Judged(searched, plain)
        if settings.search != "beam" or settings.num_beam_groups > 1:
            return Judged(searched, plain, stale=True)
        info = run.header.model
        again = rejudge(searched, asked, info.end_ids, info.vocab_size)
        return Judged(again.steps, asked.plain(), again.until) if again.steps else Judged(searched, plain, stale=True)

    def _lost(self, run: Run, judged: Judged) -> tuple[Lost | None, Exhausted | None]:
        """Where the search lost the best text of all, and that text, where every text could be looked at."""
        found = self._lab.exhausted(run, judged.settings)
        if found is None or judged.until is not None or judged.steps[-1].ending is None:
            return None, found
        return where_lost(judged.steps, found.best.token_ids), found

    def _tree(
        self, ask: Ask, run: Run, judged: Judged, depth: int, verdict: bool, lost: Lost | None, best: Exhausted | None
    ) -> dict[str, Any]:
        at = ask.view("tree", self._text)
        path = best_path(judged, depth if verdict else depth - 1)
        show = ask.details.get("show")
        common: dict[str, Any] = {
            "upto": depth,
            "verdict": verdict,
            "best": [node.id for node in path],
            "show": show if show in ("kept", "near", "all") else "near",
            "mark": lost.node.id if lost and lost.node and verdict_known(lost, depth, verdict) else None,
        }
        figure = beam_tree.tree(
            judged.steps,
            at,
            root=root_of(run),
            collapsed=[id for id in ask.details.get("folded") or () if isinstance(id, int)],
            places=run.searched(),
            zoom=ask.slider("zoom", 1, 1, 4),
            **common,
        )
        words = path[:-1] if path and path[-1].token.id in run.header.model.end_ids else path
        said = beam_tree.tree_caption(
            judged.steps, at, joiner=run.header.model.joiner, best_text=joined(words, run.header.model.joiner), **common
        )
        ended = depth == len(judged.steps) and verdict
        more = [self._exact(judged), self._missed(judged, path, lost, best) if ended else ""]
        return view.panel({**said, "text": "\n".join(filter(None, [said["text"], *more]))}, figure)

    def _exact(self, judged: Judged) -> str:
        """Up to where the picture answers to the controls, where the model must run again for the rest."""
        if judged.stale:
            return self._text("beam.stale")
        return "" if judged.until is None else self._text("beam.until", depth=judged.until)

    def _missed(self, judged: Judged, path: Sequence[BeamNode], lost: Lost | None, found: Exhausted | None) -> str:
        """Whether the best of all texts was found, and where it was lost."""
        if found is None or judged.until is not None or judged.settings["search"] != "beam":
            return ""
        values = {
            "count": number(found.texts),
            "text": found.best.text,
            "prob": share(math.exp(found.best.logprob)),
            "score": decimal(found.best.score),
        }
        if any(node.token.text == REST for node in path):
            return self._text("beam.rest_note")
        if lost is None:
            said = self._text("beam.best_found", **values)
        else:
            said = self._text("beam.best_lost", width=judged.settings["num_beams"], **values)
        left_out = self._text("beam.left_out", count=number(found.left_out)) if found.left_out else ""
        return f"{said} {left_out}".rstrip()

    def _queue(self, ask: Ask, run: Run, judged: Judged, depth: int, verdict: bool) -> dict[str, Any]:
        at = ask.view("queue", self._text)
        figure = beam_queue.queue(judged.steps, at, depth=depth, verdict=verdict, joiner=run.header.model.joiner)
        said = beam_queue.queue_caption(judged.steps, at, depth=depth, verdict=verdict, joiner=run.header.model.joiner)
        nodes = judged.steps[depth - 1].nodes
        labels = {node.id: self._text("beam.fold", token=visible(node.token.text)) for node in nodes}
        return view.panel(said, figure, rows=view.row_buttons(figure, labels))

    def _pseudo(self, ask: Ask, judged: Judged, depth: int, verdict: bool) -> dict[str, Any]:
        phases: list[beam_code.Phase] = ["prune", "select", "finish"] if verdict else ["expand", "score"]
        if verdict and judged.steps[depth - 1].ending is not None:
            phases.append("stop")
        lit = sorted({number for phase in phases for number in beam_code.lit(phase)})
        made = listing(self._text, ask.view("pseudo", self._text), lit)
        if judged.settings["search"] != "beam" or judged.settings["num_beam_groups"] > 1:
            made["text"] += "\n" + self._text("beam.pseudo_other")
        return made

    def _compare(self, run: Run) -> dict[str, Any]:
        """What other searches found from the same prompt, once somebody asked for it."""
        text = self._text
        compared = run.comparison
        said = text("beam.compare_text", penalty=f"{run.header.settings['length_penalty']:g}")
        if compared and any(REST in contest.text.split() for contest in compared.contests):
            said = f"{said}\n{text('beam.rest_note')}"
        if compared is None:
            return {"title": text("beam.compare_title"), "text": said, "table": None}
        head = [
            text(f"beam.column_{name}")
            for name in ("search", "text", "logprob", "prob", "score", "forwards", "expanded")
        ]
        rows = [self._row(contest, run) for contest in compared.contests]
        return {"title": text("beam.compare_title"), "text": said, "table": {"head": head, "rows": rows}}

    def _row(self, contest: Contest, run: Run) -> list[str]:
        text = self._text
        rules = ", ".join(f"{text('processor.' + name)} {value:g}" for name, value in contest.rules.items())
        own = contest.name != "rules" or run.header.settings["rule_order"]
        name = text(f"beam.contest_{contest.name if own else 'example'}", width=contest.num_beams, rules=rules)
        logprob, prob = decimal(contest.logprob), share(math.exp(contest.logprob))
        counts = number(contest.forwards), number(contest.expanded)
        return [name, contest.text, logprob, prob, decimal(contest.score), *counts]


def listing(text: Text, at: View, lit: Sequence[int]) -> dict[str, Any]:
    """The pseudo-code as a panel; `lit`: the numbers of the lines at work."""
    lines = [{"code": line.text, "note": line.comment, "missing": line.missing} for line in beam_code.code(at)]
    said = {"title": text("beam.pseudo"), "text": text("beam.pseudo_text" if lit else "beam.pseudo_still")}
    return {**said, "listing": {"lines": lines, "lit": list(lit)}}


def verdict_known(lost: Lost, depth: int, verdict: bool) -> bool:
    """Whether the moment shown is not before the one in which the best text was lost."""
    return bool(lost.depth < depth or (lost.depth == depth and verdict))


def root_of(run: Run) -> str:
    """The end of what comes before the search: the prompt and the tokens sampled first."""
    tokens = [
        *run.header.prompt.tokens[run.header.model.is_table :],
        *(token for token, _, _ in run.drawn),
    ]  # a table's first says only start
    if not tokens:
        return "start"
    whole = running_text(tokens, run.header.model.joiner)
    return whole if len(whole) <= ROOT_SHOWN else "…" + whole[-ROOT_SHOWN:]


def best_path(judged: Judged, depth: int) -> tuple[BeamNode, ...]:
    """The nodes of the best text after this many depths, from the root: of the finished and the open ones."""
    steps = judged.steps[:depth]
    found = texts(steps, judged.settings["search"], judged.settings["length_penalty"]) if depth else []
    return path(found[0].node, {node.id: node for step in steps for node in step.nodes}) if found else ()
