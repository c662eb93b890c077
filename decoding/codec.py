"""Trace <-> versioned JSON. Reading checks size, version and every type, since a file may come from anyone.

The form follows the dataclasses of `decoding.trace`: a field is a key, a tuple an array, bytes
are hexadecimal, and each step and draw names its class in `kind`. Fields at their default are left out.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from decoding import trace
from decoding.errors import UserError
from decoding.trace import SCHEMA, Trace

MAX_BYTES = 32_000_000
"""Largest JSON that is read: 256 steps with every stage recorded take about 10 MB."""
MAX_DEPTH = 16
"""Deepest nesting that is read; a trace has 8."""

T = TypeVar("T")


def dumps(value: Any) -> str:
    """JSON text of any trace value: a Trace, a step, a Tokenization."""
    return json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes, cls: type[T] = Trace) -> T:  # type: ignore[assignment]
    """Read JSON text back into a value of class `cls`; raises UserError if it is not one."""
    if len(text) > MAX_BYTES:
        raise UserError("trace_too_large", size=len(text), limit=MAX_BYTES)
    try:
        plain = json.loads(text, parse_constant=_no_constant)
        if cls is Trace:
            _check_schema(plain)
        return _read(cls, plain, "", 0)
    except UserError:
        raise
    except RecursionError:
        raise UserError("trace_broken", where="nesting", why="it is nested too deeply") from None
    except (ValueError, TypeError, KeyError) as error:
        raise UserError("trace_broken", where="the file", why=_one_line(error)) from None


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
    if isinstance(version, int) and version != SCHEMA:
        raise UserError("trace_version", version=version, limit=SCHEMA)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _wrong(where: str, why: str) -> UserError:
    return UserError("trace_broken", where=where.lstrip(".")[:120] or "the file", why=why)


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
        return _read_dataclass(kind, plain, where, depth)
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
            yield f.name, value
        elif f.default is MISSING and f.default_factory is MISSING:
            raise _wrong(f"{where}.{f.name}", "it is missing")


_UNIT = frozenset({"prob", "model_prob", "tail_mass", "kept_mass", "uniform", "coin", "threshold", "cumulative"})
"""Fields that are probabilities or uniforms."""


def _read_mapping(kind: Any, plain: Any, where: str, depth: int) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise _wrong(where, "it is not an object")
    return {key: _read(kind, item, f"{where}.{key}", depth + 1) for key, item in plain.items()}


def _read_scalar(kind: Any, plain: Any, where: str, depth: int) -> Any:
    if kind is Any:
        return _read_any(plain, where, depth)
    if kind is bytes:
        if isinstance(plain, str):
            return bytes.fromhex(plain)
    elif kind is float:
        if isinstance(plain, (int, float)) and not isinstance(plain, bool) and math.isfinite(plain):
            return float(plain)
    elif type(plain) is kind:
        return plain
    raise _wrong(where, f"it is not of type {kind.__name__}")


def _read_any(plain: Any, where: str, depth: int) -> Any:
    if isinstance(plain, dict):
        return _read_mapping(Any, plain, where, depth)
    if isinstance(plain, list):
        return tuple(_read(Any, item, where, depth + 1) for item in plain)
    return plain


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, localns=vars(trace))  # else Token.bytes hides the type
