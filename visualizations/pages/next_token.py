"""Next token: the prompt as the model reads it, raw logits beside softmax, and why greedy needs neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from decoding.errors import UserError
from decoding.values import Tokenization, Word
from visualizations import quiz
from visualizations.components.headline import Headline
from visualizations.components.viewer import Panel, Viewer, ViewSlider
from visualizations.figures import draw, logits
from visualizations.figures.style import short, visible
from visualizations.lab import Lab
from visualizations.pages import controls, measuring, step_cost, view
from visualizations.pages.sampling import running, sources
from visualizations.quiz import Card
from visualizations.runs import Run
from visualizations.text import Text

LESSON = "next-token"
PROMPT = "The sky is"
WORD_SHOWN, PIECES_SHOWN = 40, 40
"""Most columns of a word in a title, and most tokens of a word whose merges are not shown."""
PANELS = (Panel("logits", pickable=True), Panel("draw"), step_cost.PANEL)


def build(lab: Lab, text: Text, page: gr.Blocks) -> None:
    """Lay out the page and wire it."""
    lesson = lab.lesson(LESSON)
    with gr.Row(elem_classes="lab-page"):
        with gr.Column(elem_classes="lab-controls", elem_id="lab-controls"):
            prompt, template = controls.prompt_box(text, PROMPT)
            model = controls.model_box(text, lab.models.names)
            run, _, turn = controls.run_buttons(text)
        with gr.Column(elem_classes="lab-main"):
            Headline(text("next_token.question"), text("next_token.sentence"), text("controls.jump"))
            viewer = Viewer(
                view.dumps(view.shown(lab, text, lesson)),
                text=text,
                panels=PANELS,
                parts=("chips", "merges", "quiz"),
                controls=(ViewSlider("top", text("viewer.top"), 5, 50, 1, 12, digits=0),),
                address="reopen",
                server_functions=_server(lab, text),
                elem_id="viewer",
            )
    asked = [prompt, template, model]
    run_it = _runner(lab, text)
    controls.wire_hint(page, asked, controls.wire_opened(lab, page, asked, controls.prompt_of(lab)))
    gr.on([run.click, prompt.submit], run_it, [*asked, turn], viewer, **controls.TURN)
    write = viewer.pick(_writer(lab, text), asked, [prompt, viewer], show_progress="hidden")
    write.success(run_it, [*asked, turn], viewer, **controls.TURN)
    measure = measuring.measurer(lab, text, {step_cost.NAME: step_cost.job})
    viewer.measure(measure, None, viewer, **controls.QUEUED, trigger_mode="multiple")


def _runner(lab: Lab, text: Text) -> Any:
    """The Run button: one step of greedy."""

    def start(prompt: str, template: Any, model: str, turn: str) -> Iterator[str]:
        def make(loaded: Any) -> tuple[Run, Any]:
            from decoding import api
            from decoding.settings import TOP_LIMIT

            settings = api.greedy_settings(max_new_tokens=1, top=TOP_LIMIT)
            run = lab.runs.new(api.prepare(loaded, prompt, settings, template=template))
            run.tokenization = loaded.tokenization(prompt, template)
            return run, settings

        yield from running(lab, text, model, make, turn)

    return start


def _writer(lab: Lab, text: Text) -> Any:
    """A token was chosen: write it after the prompt. Half a character cannot be written."""

    def write(prompt: str, template: str, model: str, event: gr.EventData) -> tuple[Any, Any]:
        try:
            run = lab.runs.get(event.run)
            name = lab.name_of(run)
            loaded = lab.models.get(name) if lab.models.is_loaded(name) else None
        except UserError as error:
            raise gr.Error(text.error(error)) from None
        found = [c.token for c in run.step(0).stages[0].result.top if c.token.id == int(event.id)]
        if not found or found[0].data is not None or run.header.prompt.template == "chat":
            raise gr.Error(text("next_token.cannot_write"))
        before, token = run.header.prompt.text, found[0]
        written = before + (run.header.model.joiner if before else "") + token.text
        if loaded is not None and not _reads_as(loaded, written, token.id):
            raise gr.Error(text("next_token.cannot_write"))
        return written, gr.skip()

    return write


def _reads_as(model: Any, written: str, token: int) -> bool:
    """Whether the model reads the last of what is written as this token; a control token, say, it never does."""
    try:
        return bool(model.encode(written)[-1] == token)
    except UserError:
        return False


def _server(lab: Lab, text: Text) -> list[Any]:
    """The functions the browser calls without the queue."""

    def render(request: str) -> dict[str, Any]:
        ask = view.read_ask(request)
        run = lab.runs.get(ask.run)
        if not run.packed:
            return {"panels": {}}
        step = run.step(0)
        at = {panel.name: ask.view(panel.name, text) for panel in PANELS}
        top = int(ask.slider("top", 12, 5, 50))
        figure = logits.logits_softmax(step, at["logits"], top)
        opened = ask.details.get("token")
        words = run.tokenization or Tokenization(run.header.prompt.tokens, ())
        return {
            "panels": {
                "logits": view.panel(
                    logits.logits_caption(step, at["logits"], top), figure, rows=view.rows(figure, step, text)
                ),
                "draw": view.panel(draw.draw_caption(step, at["draw"]), draw.draw(step, at["draw"])),
                step_cost.NAME: step_cost.shown(lab, ask, text, run),
            },
            "chips": chips(words, text, opened),
            "merges": merges(words, text, opened),
        }

    return view.server(lab, text, render, _sources, lambda run: cards(lab, run))


def _sources(panel: str, step: Any) -> list[Any]:
    """What computed a panel."""
    return step_cost.sources() if panel == step_cost.NAME else sources(panel, step)


def chips(words: Tokenization, text: Text, opened: Any) -> list[dict[str, Any]]:
    """One chip per prompt token: text, id, bytes; the first of each word is marked."""
    firsts = {word.first for word in words.words}
    chips = []
    for index, token in enumerate(words.tokens):
        bytes_ = token.bytes.hex(" ").upper()
        shown = visible(token.text)
        label = text("next_token.chip", token=shown, id=token.id, bytes=bytes_)
        chips.append(
            {
                "text": shown,
                "id": str(token.id),
                "bytes": bytes_ if len(token.bytes) <= 4 else bytes_[:11] + "…",
                "label": label,
                "word_start": index in firsts and index > 0,
                "open": index == opened,
            }
        )
    return chips


def merges(words: Tokenization, text: Text, opened: Any) -> dict[str, Any] | None:
    """How the word of the opened chip was merged from its bytes; None where there is nothing to show."""
    if not isinstance(opened, int) or not 0 <= opened < len(words.tokens):
        return None
    word = next((word for word in words.words if word.first <= opened < word.first + word.count), None)
    if word is None:
        return None
    title = text("next_token.word", word=short(visible(word.text), WORD_SHOWN))
    return {"title": title, **(_merged(word, text) if word.merges else _unmerged(word, text))}


def _unmerged(word: Word, text: Text) -> dict[str, Any]:
    """A word without merges: a single piece, or one too long for them to be shown; its first tokens as they are."""
    from decoding.models.tokenizer import MERGES_SHOWN_UP_TO

    size, pieces = sum(len(token.bytes) for token in word.start), [visible(token.text) for token in word.start]
    said = text("next_token.one_piece")
    if word.count > 1:
        said = text("next_token.long_word", bytes=f"{size:,}", limit=MERGES_SHOWN_UP_TO)
    shown = [*pieces[:PIECES_SHOWN], "…"] if len(pieces) > PIECES_SHOWN else pieces
    line = {"pieces": shown, "made": -1, "note": text("next_token.tokens", count=f"{len(pieces):,}")}
    return {"text": said, "lines": [line]}


def _merged(word: Word, text: Text) -> dict[str, Any]:
    lines = [{"pieces": [visible(piece.text) for piece in word.start], "made": -1, "note": text("next_token.start")}]
    before = word.start
    for merge in word.merges:
        made = next(i for i, piece in enumerate(merge.pieces) if i >= len(before) or piece != before[i])
        note = text("next_token.merge", rank=f"{merge.rank + 1:,}")
        lines.append({"pieces": [visible(piece.text) for piece in merge.pieces], "made": made, "note": note})
        before = merge.pieces
    return {"text": text("next_token.merges_text"), "lines": lines}


def cards(lab: Lab, run: Run) -> list[Card]:
    """Questions about the prompt and its logits; about the recorded prompt where this one has nothing to ask."""
    runs = (run, lab.lesson(LESSON))
    law = next(law for law in (each.step(0).stages[0].result for each in runs) if quiz.clear_gap(law))
    words = [word for each in runs if each.tokenization for word in each.tokenization.words]
    merged = [word for word in words if word.count == 1 and len(word.merges) > 1]
    return [quiz.times_as_likely(law), quiz.shifted, quiz.merges_of(merged[0])]
