"""Turns at the model: each press of Run takes one, and a newer press on the same page ends the older one."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

SILENT = 20.0
"""Seconds after which a page that waits and is not heard of no longer counts as waiting."""
REMEMBERED = 10_000
"""Most turns that are remembered to have been ended."""


class Turns:
    """Who runs the model and who waits, in order. Safe to use from many threads.

    A turn's name cannot be guessed, so that nobody ends another's run.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._line: OrderedDict[str, float] = OrderedDict()
        """Turn -> when it was last heard of; infinite while it runs."""
        self._halted: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, before: Any = None) -> str:
        """A new turn at the end of the line; the page's own turn `before` is ended."""
        self.halt(before)
        turn = secrets.token_urlsafe(12)
        with self._lock:
            self._line[turn] = self._clock()
        return turn

    def ahead(self, turn: Any) -> int:
        """How many turns run or wait before this one; asking shows that its page is still there."""
        with self._lock:
            now = self._clock()
            turn = turn if isinstance(turn, str) else ""
            if self._line.get(turn, inf) < inf:
                self._line[turn] = now
            for gone in [name for name, heard in self._line.items() if now - heard > SILENT]:
                del self._line[gone]
            names = list(self._line)
            before = names[: names.index(turn)] if turn in self._line else []
            return sum(name not in self._halted for name in before)

    def halt(self, turn: Any) -> None:
        """End a turn: within one step where it runs, at once when it comes where it still waits."""
        if not isinstance(turn, str) or not turn or len(turn) > 40:
            return
        with self._lock:
            self._halted[turn] = None
            if self._line.get(turn, inf) < inf:
                del self._line[turn]
            while len(self._halted) > REMEMBERED:
                self._halted.popitem(last=False)

    def halted(self, turn: str) -> bool:
        """Whether this turn was ended."""
        return turn in self._halted

    @contextmanager
    def running(self, turn: str = "") -> Iterator[None]:
        """While this turn (or one without a name) runs the model."""
        name = turn or secrets.token_urlsafe(12)
        with self._lock:
            self._line[name] = inf
        try:
            yield
        finally:
            with self._lock:
                self._line.pop(name, None)
