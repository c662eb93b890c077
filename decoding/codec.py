"""Trace <-> versioned JSON. Reading checks size, version and every type, since a file may come from anyone.

The form follows the dataclasses of `decoding.trace`: a field is a key, a tuple an array, bytes
are hexadecimal, and each step and draw names its class in `kind`. Fields at their default are left out.
What is read is also consistent: whoever shows it need not ask whether a step has stages, or whether
its token is among those listed.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from decoding import trace
from decoding.consistency import CHECKS
from decoding.errors import UserError
from decoding.trace import SCHEMA, Trace

MAX_BYTES = 32_000_000
"""Largest JSON that is read: 256 steps with all processors and 50 alternatives take about 17 MB,
and the 80,000 nodes that a beam search may record about 23."""
MAX_VALUES = 2_000_000
"""Most objects and arrays in it, which bounds the memory it takes; those 256 steps have 340,000."""
MAX_DEPTH = 16
"""Deepest nesting that is read; a trace has 8."""
MAX_INT = 2**63 - 1
HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is no character and cannot be written as UTF-8."""

T = TypeVar("T")


def dumps(value: Any) -> str:
    """JSON text of any trace value: a Trace, a step, a Tokenization."""
    return json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes, cls: type[T] = Trace) -> T:  # type: ignore[assignment]
    """Read JSON text back into a value of class `cls`; raises UserError if it is not one."""
    if len(text) > MAX_BYTES:
        raise UserError("trace_too_large", size=len(text), limit=MAX_BYTES)
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        if text.count("{") + text.count("[") > MAX_VALUES:
            raise _wrong("", f"it holds more than {MAX_VALUES:,} objects and lists")
        plain = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_repeats)
        if cls is Trace:
            _check_schema(plain)
        return _read(cls, plain, "", 0)
    except UserError:
        raise
    except RecursionError:
        raise _wrong("nesting", "it is nested too deeply") from None
    except ValueError as error:
        raise _wrong("", str(error)) from None


def to_plain(value: Any) -> Any:
    """Dataclasses to dicts, tuples to lists, bytes to hexadecimal; fields at their default left out."""
    if is_dataclass(value):
        return {
            f.name: to_plain(getattr(value, f.name))
            for f in fields(value)
            if f.name == "kind" or f.default is MISSING or getattr(value, f.name) != f.default
        }
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return value.hex() if isinstance(value, bytes) else value


def _check_schema(plain: Any) -> None:
    header = plain.get("header") if isinstance(plain, dict) else None
    version = header.get("schema") if isinstance(header, dict) else None
    if type(version) is int and version != SCHEMA:
        raise UserError("trace_version", version=min(max(version, -MAX_INT), MAX_INT), limit=SCHEMA)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the field {twice[:40]!r} is there twice")
    return found


def _wrong(where: str, why: str) -> UserError:
    place = "".join(letter if letter.isprintable() else " " for letter in where.lstrip(".")[:120])
    return UserError("trace_broken", where=place or "the file", why=" ".join(why.split())[:200])


def _read(kind: Any, plain: Any, where: str, depth: int) -> Any:
    """`plain` as a value of type `kind`; every mismatch names the place."""
    if depth > MAX_DEPTH:
        raise _wrong(where, "it is nested too deeply")
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(args, plain, where, depth)
    if origin is Literal:
        if not any(plain == a and type(plain) is type(a) for a in args):
            raise _wrong(where, f"it is not one of {', '.join(map(str, args))}")
        return plain
    if origin is tuple:
        if not isinstance(plain, list):
            raise _wrong(where, "it is not a list")
        return tuple(_read(args[0], item, f"{where}[{i}]", depth + 1) for i, item in enumerate(plain))
    if isinstance(kind, type) and is_dataclass(kind):
        value = _read_dataclass(kind, plain, where, depth)
        if kind in CHECKS and (fault := next(CHECKS[kind](value), None)):
            raise _wrong(where, fault)
        return value
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(args[1], plain, where, depth)
    return _read_scalar(kind, plain, where, depth)


def _read_union(args: tuple[Any, ...], plain: Any, where: str, depth: int) -> Any:
    if plain is None and type(None) in args:
        return None
    choices = [a for a in args if a is not type(None)]
    if len(choices) == 1:
        return _read(choices[0], plain, where, depth)
    wanted = plain.get("kind") if isinstance(plain, dict) else None
    for choice in choices:
        if get_args(_hints(choice)["kind"]) == (wanted,):
            return _read(choice, plain, where, depth)
    raise _wrong(where, "its kind is unknown")


def _read_dataclass(cls: type, plain: Any, where: str, depth: int) -> Any:
    if not isinstance(plain, dict):
        raise _wrong(where, "it is not an object")
    hints = _hints(cls)
    if unknown := set(plain) - set(hints):
        raise _wrong(where, f"it has an unknown field {min(unknown)[:40]!r}")
    return cls(**dict(_read_fields(cls, hints, plain, where, depth)))


def _read_fields(
    cls: Any, hints: dict[str, Any], plain: dict[str, Any], where: str, depth: int
) -> Iterator[tuple[str, Any]]:
    f: Field[Any]
    for f in fields(cls):
        if f.name in plain:
            value = _read(hints[f.name], plain[f.name], f"{where}.{f.name}", depth + 1)
            if f.name in _UNIT and value is not None and not 0 <= value <= 1 + 1e-9:
                raise _wrong(f"{where}.{f.name}", "it is not between 0 and 1")
            if f.name in _COUNTS and value is not None and value < 0:
                raise _wrong(f"{where}.{f.name}", "it is below 0")
            yield f.name, value
        elif f.default is MISSING and f.default_factory is MISSING:
            raise _wrong(f"{where}.{f.name}", "it is missing")


_UNIT = frozenset(
    {
        *("prob", "model_prob", "target_prob", "draft_prob"),
        *("tail_mass", "kept_mass", "uniform", "coin", "cumulative"),
    }
)
"""Fields that are probabilities or uniforms."""
_COUNTS = frozenset(
    {
        *("id", "position", "index", "column", "rank", "first", "seed", "entropy", "gap", "ties", "scanned", "built"),
        *("count", "kept_count", "tail_count", "column_count", "vocab_size", "context_length"),
        *("parent", "group", "considered", "node", "draft_forwards"),
    }
)
"""Fields that are ids, places, counts or entropies: from 0 up. `gap` and `parent` may be None."""


def _read_mapping(kind: Any, plain: Any, where: str, depth: int) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise _wrong(where, "it is not an object")
    return {_finite(key, where): _read(kind, item, f"{where}.{key}", depth + 1) for key, item in plain.items()}


def _read_scalar(kind: Any, plain: Any, where: str, depth: int) -> Any:
    if kind is Any:
        return _read_any(plain, where, depth)
    if kind is float and type(plain) in (int, float):
        return float(_finite(plain, where))
    if kind is bytes and isinstance(plain, str):
        return bytes.fromhex(plain)
    if type(plain) is not kind:
        raise _wrong(where, f"it is not of type {kind.__name__}")
    return _finite(plain, where)


def _read_any(plain: Any, where: str, depth: int) -> Any:
    if isinstance(plain, dict):
        return _read_mapping(Any, plain, where, depth)
    if isinstance(plain, list):
        return tuple(_read(Any, item, where, depth + 1) for item in plain)
    return _finite(plain, where)


def _finite(plain: Any, where: str) -> Any:
    """A number or string that can be written again: no infinity, no integer beyond 64 bits, no half a character."""
    if isinstance(plain, str) and HALF.search(plain):
        raise _wrong(where, "it holds half a character")
    if isinstance(plain, int) and abs(plain) > MAX_INT:
        raise _wrong(where, "it is an integer beyond 64 bits")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise _wrong(where, "it is beyond the largest number")
    return plain


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, localns=vars(trace))  # else Token.bytes hides the type
