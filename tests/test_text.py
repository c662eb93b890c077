"""English and Chinese stay in step, and the words that the code asks for exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from string import Formatter

import pytest

from decoding.errors import MESSAGES
from visualizations.text import STRINGS
from visualizations.text.errors import ERRORS

ROOT = Path(__file__).resolve().parents[1]

COMPUTED: tuple[str, ...] = (
    *("rule.*", "note.*", "note.*.long", "processor.*", "sampler.*", "finish.*", "model.*", "viewer.*", "*.nav"),
    *("law.*", "section.*", "section.*_text", "viewer.*_link", "info.*"),
    *("beam.search_*", "beam.show_*", "beam.contest_*", "beam.early_*", "beam.column_*", "beam.about_*"),
    *("corrections.verdict_*", "spec.drafter_*", "spec.verifier_*", "spec.fate.*", "spec.writer.*"),
    *("spec.named_*", "road.lane.*", "road.*", "align.name_*", "align.why_*", "align.head_*"),
    *("race.part.*", "race.hover_*"),
    *("lossless.rule_*", "lossless.name_*", "lossless.key_*", "lossless.bar_*"),
)
"""Keys put together while the code runs: text(f"note.{code}") is declared as "note.*"."""

SAME_IN_CHINESE = frozenset(
    {
        *("rule.top_k", "rule.top_p", "rule.min_p", "rule.typical_p", "rule.epsilon_cutoff", "rule.eta_cutoff"),
        *("draw.head_bar", "logits.head_logit", "logits.head_softmax", "heatmap.axis", "hover.stage"),
        *("processor.top_k", "processor.top_p", "processor.min_p", "processor.typical_p", "effects.top_p"),
        *(
            "model.smollm2",
            "model.smollm2@int4",
            "model.smollm2@torch",
            "sampler.gumbel",
            "tree.shown_short",
            "corrections.verdict_logprob",
        ),
    }
)
"""Keys whose Chinese has no Chinese character: names and symbols."""

MAY_BE_BLANK: frozenset[str] = frozenset({"join"})
"""Keys with no words: what stands between two sentences is a space in English and nothing in Chinese."""

HAN = re.compile(r"[\u3400-\u9fff]")


# --- checkers --------------------------------------------------------------------------------------


def placeholders(string: str) -> set[str]:
    """Names in braces: `{value:,} of {limit}` gives value and limit."""
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(string) if name is not None}


def needs_chinese(string: str) -> bool:
    """Whether a string has words at all, once its placeholders are gone."""
    literal = "".join(text for text, _, _, _ in Formatter().parse(string))
    return re.search(r"[A-Za-z]{2}", literal) is not None


def pair_faults(key: str, english: str, chinese: str) -> list[str]:
    """What is wrong between the two languages of one key."""
    faults = []
    if not (english.strip() and chinese.strip()) and key not in MAY_BE_BLANK:
        faults.append(f"{key}: one language is empty")
    if placeholders(english) != placeholders(chinese):
        faults.append(f"{key}: {sorted(placeholders(english))} in English, {sorted(placeholders(chinese))} in Chinese")
    if needs_chinese(english) and not HAN.search(chinese) and key not in SAME_IN_CHINESE:
        faults.append(f"{key}: the Chinese is not Chinese: {chinese!r}")
    return faults


def calls(source: str, name: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Every name(...) and x.name(...) with its first argument; both of `name(a if b else c)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            first = node.args[0]
            if name == getattr(node.func, "id", getattr(node.func, "attr", "")):
                yield from (
                    (node, arg) for arg in ([first.body, first.orelse] if isinstance(first, ast.IfExp) else [first])
                )


def literal(expression: ast.expr) -> str | None:
    """A literal string's value; None for anything else."""
    value = expression.value if isinstance(expression, ast.Constant) else None
    return value if isinstance(value, str) else None


def pattern(expression: ast.JoinedStr) -> str:
    """An f-string with `*` for each value: f"{page}.title" gives "*.title"."""
    return "".join(literal(part) or "*" for part in expression.values)


def call_faults(path: str, source: str, keys: Mapping[str, object], computed: tuple[str, ...]) -> list[str]:
    """Calls of text() whose key does not exist, or is put together and not declared."""
    faults = []
    for call, argument in calls(source, "text"):
        key = literal(argument)
        if key is not None and key not in keys:
            faults.append(f"{path}:{call.lineno} asks for {key!r}, which is not in visualizations/text")
        if isinstance(argument, ast.JoinedStr) and pattern(argument) not in computed:
            faults.append(f"{path}:{call.lineno} puts together {pattern(argument)!r}: declare it in COMPUTED")
    return faults


def unused(keys: Mapping[str, object], sources: Mapping[str, str], computed: tuple[str, ...]) -> list[str]:
    """Keys that stand in no source as a whole string and match no declared pattern."""
    constants = {value for source in sources.values() for value in string_constants(source)}
    return sorted(key for key in keys if key not in constants and not any(fnmatch(key, c) for c in computed))


def string_constants(source: str) -> Iterator[str]:
    """Every literal string of a source, also the literal parts of f-strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def error_faults(path: str, source: str, messages: Mapping[str, str]) -> list[str]:
    """Literal UserError("code", ...) whose code does not exist, or that lack a value of its message."""
    faults = []
    for call, argument in calls(source, "UserError"):
        if (code := literal(argument)) is None:
            continue
        given = {keyword.arg for keyword in call.keywords}
        missing = set() if None in given else placeholders(messages.get(code, "")) - given
        if code not in messages or missing:
            faults.append(f"{path}:{call.lineno} {code}: " + (f"lacks {sorted(missing)}" if missing else "unknown"))
    return faults


def table_keys(source: str) -> list[str]:
    """The keys of all literal tables `{key: (en, zh), ...}` of a source."""
    pairs = (
        pair
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Dict)
        for pair in zip(node.keys, node.values, strict=True)
    )
    return [key.value for key, value in pairs if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple)]


# --- the tree --------------------------------------------------------------------------------------


def sources(*folders: str) -> dict[str, str]:
    """Path to source of the app and of the modules in these folders, the tables of words left out."""
    paths = [ROOT / "app.py", *(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))]
    names = {path.relative_to(ROOT).as_posix(): path for path in paths if path.is_file()}
    words = ("visualizations/text/", "decoding/errors.py")
    return {name: path.read_text(encoding="utf-8") for name, path in names.items() if not name.startswith(words)}


def test_both_languages_say_the_same() -> None:
    faults = [fault for key, pair in STRINGS.items() for fault in pair_faults(key, *pair)]
    assert not faults, "\n".join(faults)


def test_no_two_tables_hold_the_same_key() -> None:
    paths = sorted((ROOT / "visualizations/text").glob("*.py"))
    keys = [key for path in paths for key in table_keys(path.read_text(encoding="utf-8"))]
    assert sorted(keys) == sorted(STRINGS)


def test_errors_speak_both_languages() -> None:
    assert sorted(MESSAGES) == sorted(ERRORS)
    faults = [fault for code, english in MESSAGES.items() for fault in pair_faults(code, english, ERRORS[code])]
    assert not faults, "\n".join(faults)


def test_errors_are_raised_with_all_their_values() -> None:
    code = sources("decoding", "visualizations")
    faults = [fault for path, source in code.items() for fault in error_faults(path, source, MESSAGES)]
    assert not faults, "\n".join(faults)


def test_every_error_is_raised_somewhere() -> None:
    assert unused(MESSAGES, sources("decoding", "visualizations"), ()) == []


def test_the_words_asked_for_exist() -> None:
    code = sources("visualizations")
    faults = [f for path, source in code.items() for f in call_faults(path, source, STRINGS, COMPUTED)]
    assert not faults, "\n".join(faults)


def test_every_word_is_used() -> None:
    assert unused(STRINGS, sources("visualizations"), COMPUTED) == []


def test_declared_exceptions_are_needed() -> None:
    trees = [ast.parse(source) for source in sources("visualizations").values()]
    made = {pattern(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)}
    for declared in COMPUTED:
        assert any(fnmatch(key, declared) for key in STRINGS), f"no key looks like {declared}"
        assert declared in made, f"nothing puts together {declared}"
    assert set(STRINGS) | set(MESSAGES) >= SAME_IN_CHINESE | MAY_BE_BLANK


# --- the checkers can fail -------------------------------------------------------------------------


def test_placeholders() -> None:
    assert placeholders("{a} {b!r} {c:,} {{d}} {e.f} {g[0]}") == {"a", "b", "c", "e", "g"}


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("", "空"), ("Step", " "), ("Step {n}", "第 {m} 步"), ("Step {n}", "步"), ("Step", "Step")],
)
def test_a_bad_pair_is_found(english: str, chinese: str) -> None:
    assert pair_faults("k", english, chinese)


@pytest.mark.parametrize(("english", "chinese"), [("Step {n}", "第 {n} 步"), ("{p} %", "{p} %"), ("T", "T")])
def test_a_good_pair_is_let_through(english: str, chinese: str) -> None:
    assert pair_faults("k", english, chinese) == []


@pytest.mark.parametrize(
    "call",
    [
        "text('gone')",
        "view.text('gone', n=1)",
        "text(f'note.{code}')",
        "text(f'{a}.b')",
        "text('here' if a else 'gone')",
    ],
)
def test_a_bad_call_is_found(call: str) -> None:
    assert call_faults("a.py", call, {"here": ""}, ("stage.*",))


def test_a_good_call_is_let_through() -> None:
    assert call_faults("a.py", "text('here'); text(f'stage.{name}'); text(key)", {"here": ""}, ("stage.*",)) == []


def test_an_unused_key_is_found() -> None:
    keys = {"a": "", "b": "", "note.x": ""}
    assert unused(keys, {"a.py": "KEYS = ('a',)"}, ("note.*",)) == ["b"]


@pytest.mark.parametrize(
    "call", ["UserError('gone')", "UserError('big', size=1)", "UserError('big' if a else 'gone', **b)"]
)
def test_a_bad_error_is_found(call: str) -> None:
    assert error_faults("a.py", call, {"big": "{size} over {limit}"})
