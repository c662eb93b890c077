"""What a page tells its viewer, as JSON text: the run, a message, or the pictures of one step."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from decoding import codec
from decoding.errors import UserError
from decoding.report import how
from decoding.trace import SampleStep, Token
from visualizations.figures.rows import EDGE, ROW
from visualizations.figures.rules import rule_name, story
from visualizations.figures.style import Theme, View, percent, running_text, visible
from visualizations.lab import Lab, Loading
from visualizations.quiz import Card, Question
from visualizations.runs import Run
from visualizations.text import STRINGS, Text

PROMPT_SHOWN = 300
"""Most prompt tokens shown before the new ones; of a longer prompt, the last."""
KNOWN_RUNS = 50
"""Most earlier runs of a page that are looked up."""
BEFORE_SHOWN = 200
"""Most characters of the text before a step that are shown; of a longer text, the last."""

log = logging.getLogger("decoding_lab")


@dataclass(frozen=True, slots=True)
class Ask:
    """A browser's request for pictures, checked: whose step, how it looks there, the sliders' values."""

    run: str
    step: int
    theme: Theme
    widths: dict[str, int]
    sliders: dict[str, float]
    details: dict[str, Any]
    panel: str = ""

    def view(self, panel: str, text: Text) -> View:
        """The view of one panel."""
        return View(text, self.theme, max(240, min(2000, self.widths.get(panel, 800))))

    def slider(self, name: str, default: float, low: float, high: float) -> float:
        """A slider's value within its bounds."""
        return max(low, min(high, self.sliders.get(name, default)))


def read_ask(request: str) -> Ask:
    """Check a request; anything odd becomes a default, since only our own script sends them."""
    plain = orjson.loads(request)
    numbers = {k: float(v) for k, v in dict(plain.get("sliders") or {}).items() if isinstance(v, (int, float))}
    widths = {k: int(v) for k, v in dict(plain.get("widths") or {}).items() if isinstance(v, (int, float))}
    step = plain.get("step")
    return Ask(
        run=plain.get("run"),
        step=step if isinstance(step, int) and step >= 0 else 0,
        theme="dark" if plain.get("theme") == "dark" else "light",
        widths=widths,
        sliders=numbers,
        details=dict(plain.get("details") or {}),
        panel=str(plain.get("panel", "")),
    )


def index_of(asked: Any, run: Run) -> int:
    """The step that an address names, within the run; the first where it names none."""
    text = str(asked)
    return min(int(text), len(run.packed) - 1) if text.isdecimal() and len(text) < 10 else 0


def known_runs(ids: Any) -> list[str]:
    """The ids of runs that a page says it has shown, checked."""
    return [id for id in ids if isinstance(id, str)][-KNOWN_RUNS:] if isinstance(ids, list) else []


def dumps(value: Any) -> str:
    """JSON text of plain values and numpy arrays."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def answering(text: Text, answer: Callable[[str], dict[str, Any]], name: str) -> Callable[[str], str]:
    """`answer` as a server function called `name`: a user's mistake, or ours, becomes a sentence."""

    def serve(request: str) -> str:
        try:
            return dumps(answer(request))
        except UserError as error:
            return dumps({"message": text.error(error)})
        except Exception:
            log.exception("server function %s", name)
            return dumps({"message": text("error.unexpected")})

    serve.__name__ = name
    return serve


Sources = Callable[[str, SampleStep], list[Any]]
"""A panel's name and its step -> the functions and classes that computed the panel's numbers."""


Cards = Callable[[Run], Sequence[Card]]
"""The quiz cards about a run."""


def server(
    lab: Lab, text: Text, render: Callable[[str], dict[str, Any]], sources: Sources, cards: Cards
) -> list[Callable[[str], str]]:
    """A page's server functions: its own `render`; and `reopen`, `save`, `code`, `quiz`, `turn`, `halt`, all alike."""

    def reopen(request: str) -> dict[str, Any]:
        ask = read_ask(request)
        run, known = lab.runs.get(ask.run), known_runs(ask.details.get("known"))
        return shown(lab, text, run, step=max(0, min(ask.step, run.moments - 1)), known=known)

    def save(request: str) -> dict[str, Any]:
        run = lab.runs.get(read_ask(request).run)
        return {"name": f"decoding-lab-{run.id}.json", "json": codec.dumps(run.trace())}

    def code(request: str) -> dict[str, Any]:
        ask = read_ask(request)
        run = lab.runs.get(ask.run)
        found = sources(ask.panel, run.at(ask.step))
        return {"code": source_text(found)}

    def quiz(request: str) -> dict[str, Any]:
        ask = read_ask(request)
        return ask_quiz(ask, cards(lab.runs.get(ask.run)), text)

    def turn(request: str) -> dict[str, Any]:
        details = read_ask(request).details
        name = details.get("turn") or lab.turns.take(details.get("before"))
        ahead = lab.turns.ahead(name)
        return {"turn": name, "words": text("viewer.ahead", count=ahead) if ahead else text("viewer.waiting")}

    def halt(request: str) -> dict[str, Any]:
        lab.turns.halt(read_ask(request).details.get("turn"))
        return {}

    return [answering(text, answer, answer.__name__) for answer in (render, reopen, save, code, quiz, turn, halt)]


def ask_quiz(ask: Ask, cards: Sequence[Card], text: Text) -> dict[str, Any]:
    """The questions; or, where the request names one (`panel`) and a choice (`step`), whether it is right, and why."""
    if not ask.panel:
        asked = [card(text) for card in cards]
        return {"cards": [{"question": each.ask, "choices": each.choices} for each in asked]}
    index = int(ask.panel) if ask.panel in map(str, range(len(cards))) else 0
    question: Question = cards[index](text)
    right = ask.step == question.answer
    word = text("quiz.right") if right else text("quiz.wrong")
    return {"answer": question.answer, "verdict": word, "because": question.because}


def source_text(things: Sequence[Any]) -> str:
    """The source of functions and classes, each headed by its file and line."""
    found = [(thing.__module__.replace(".", "/"), *inspect.getsourcelines(thing)) for thing in things]
    return "\n\n".join(f"# {path}.py, line {first}\n" + "".join(lines) for path, lines, first in found)


def trouble(text: Text, error: Exception, **more: Any) -> str:
    """A viewer value that says what went wrong and leaves everything else as it is."""
    if isinstance(error, UserError):
        return dumps({"message": text.error(error), "running": False, **more})
    log.error("run failed", exc_info=error)
    return dumps({"message": text("error.unexpected"), "running": False, **more})


def model_label(text: Text, name: str) -> str:
    """An offered model as people call it."""
    return text(key) if (key := f"model.{name}") in STRINGS else name


def loading(text: Text, model: str, news: Loading) -> dict[str, Any]:
    """A viewer value that shows a model being made ready."""
    key = f"viewer.{news.what}" if news.what in ("converting", "building") else "viewer.loading"
    words = text(key, model=model_label(text, model))
    return {"progress": {"text": words, "fraction": news.fraction}, "running": True}


def shown(
    lab: Lab, text: Text, run: Run, *, running: bool = False, step: int | None = None, known: Collection[str] = ()
) -> dict[str, Any]:
    """A viewer value that shows a run as far as it is; `known`: ids of other runs that the page has shown."""
    prompt = run.header.prompt.tokens
    pieces = [token.text.replace("\n", "↵\n") for token in prompt[-PROMPT_SHOWN:]]
    if len(prompt) > PROMPT_SHOWN:
        pieces.insert(0, "…")
    value: dict[str, Any] = {
        "run": run.id,
        "prompt": pieces,
        "count": run.moments,
        "tokens": [_token(text, i, *drawn) for i, drawn in enumerate(run.drawn)],
        "text": run.finish.text if run.finish else run.text,
        "about": about(text, run),
        "branches": [{"run": r.id, "label": _branch(text, r)} for r in lab.runs.family(run, known)],
        "running": running,
        "kept": lab.runs.pinned(run.id) is None,
        "before": text_before(run, step or 0),
    }
    if step is not None:
        value["step"] = step
    return value


def text_before(run: Run, step: int) -> str:
    """The end of the text that the model had read when it made this step."""
    tokens = [*run.header.prompt.tokens, *(token for token, _, _ in run.drawn[:step])]
    whole = running_text(tokens, run.header.model.joiner)
    return whole if len(whole) <= BEFORE_SHOWN else "…" + whole[-BEFORE_SHOWN:]


def about(text: Text, run: Run) -> str:
    """The model and the settings of a run in one line."""
    header = run.header
    settings = header.settings
    parts = [f"{header.model.name} ({how(header.model)})"]
    if header.method == "beam":
        parts += about_search(text, settings)
    elif header.method == "speculate":
        parts += about_speculation(text, settings)
    elif settings["max_new_tokens"] > 1:  # of one token only its law is shown, not a draw
        parts.append(text(f"sampler.{settings['sampler']}"))
    parts += [f"{text('processor.' + name)} {settings.get(name)}" for name in settings.get("order", ())]
    if header.prompt.template == "chat":
        parts.append(text("controls.chat"))
    if _by_chance(settings):
        parts.append(f"{text('controls.seed')} {header.seed}")
    if run.finish and settings["max_new_tokens"] > 1:
        parts.append(text(f"finish.{run.finish.reason}"))
    return " · ".join(parts)


def _by_chance(settings: Mapping[str, Any]) -> bool:
    """Whether the seed made a difference."""
    if "search" in settings:
        return bool(settings["search"] != "beam" or settings["sample_first"])
    return settings.get("sampler") != "argmax"


def about_search(text: Text, settings: Mapping[str, Any]) -> list[str]:
    """The kind of search and its width; what else is not as it usually is."""
    usual = {"length_penalty": 1, "early_stopping": False, "sample_first": 0, "num_beam_groups": 1}
    kind = settings["search"]
    parts = [f"{text(f'beam.search_{kind}')} {settings['num_beams']}"]
    parts += [f"{text('processor.' + name)} {settings[name]:g}" for name in settings.get("rule_order", ())]
    for name, value in usual.items():
        if settings[name] != value:
            parts.append(f"{text(f'beam.about_{name}')} {settings[name]}")
    return parts


def about_speculation(text: Text, settings: Mapping[str, Any]) -> list[str]:
    """Who drafts, how many tokens, and which rule judges."""
    drafter = settings["drafter"]
    name = text(key) if (key := f"spec.drafter_{drafter}") in STRINGS else model_label(text, drafter)
    layers = [text("spec.about_layers", layers=settings["exit_layer"])] if drafter == "early" else []
    ranks = [f"K {settings['verify_top_k']}"] if settings["verifier"] == "top_k" else []
    return [name, *layers, f"γ {settings['gamma']}", text(f"spec.verifier_{settings['verifier']}"), *ranks]


def _token(text: Text, index: int, token: Token, prob: float, model_prob: float) -> dict[str, Any]:
    name = visible(token.text)
    label = text("viewer.token", step=index + 1, token=name, prob=percent(prob), model_prob=percent(model_prob))
    return {"text": name, "prob": round(prob, 4), "label": label}


def _branch(text: Text, run: Run) -> str:
    if run.branched_at is None:
        return text("viewer.first_run")
    token = run.drawn[run.branched_at][0] if len(run.drawn) > run.branched_at else None
    return text("viewer.branch", step=run.branched_at + 1, token=visible(token.text) if token else "…")


def panel(caption: dict[str, str], figure: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One panel of a reply: its words and its figure."""
    return {"title": caption["title"], "text": caption["text"], "figure": figure, **more}


def rows(figure: dict[str, Any], step: SampleStep, text: Text) -> list[dict[str, Any]]:
    """A button for each row of a kept token: it chooses the token."""
    told = story(step.stages, View(text))
    last = len(step.stages) - 1
    shown = {c.token.id: c.token for stage in step.stages for c in stage.result.top if c.kept}

    def label(id: int) -> str:
        fate = told.fate(shown[id], last)
        values = {"token": visible(shown[id].text), "prob": percent(fate.prob)}
        if fate.cut_by is None:
            return text("viewer.row", **values)
        return text("viewer.row_cut", rule=rule_name(step.stages[fate.cut_by], told.view), **values)

    return row_buttons(figure, {id: label(id) for id in shown})


def row_buttons(figure: dict[str, Any], labels: Mapping[int, str]) -> list[dict[str, Any]]:
    """Where the rows of a figure stand (px), for a button over each that has a label."""
    ids = [id for (id,) in figure["data"][0]["customdata"]]
    first = figure["layout"]["height"] - ROW * len(ids) - EDGE
    places = [(id, first + ROW * index) for index, id in enumerate(ids) if id in labels]
    return [{"id": id, "label": labels[id], "top": top, "height": ROW} for id, top in places]
