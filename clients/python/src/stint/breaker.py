"""The circuit breaker's state, without a clock, threads or tasks."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from .errors import StintError


class Breaker:
    """Opens after several failures in a row; the link then sends probes until one is answered.

    Failures that overlap in time count as one: a request that was in flight when a failure was counted does not count
    again. So a pause under a thousand calls does not open it.
    """

    def __init__(self, failures: int, cool_down: float, changed: Callable[[bool, StintError | None], None]) -> None:
        self.open = False
        self.cool_down = cool_down
        self._failures = failures
        self._changed = changed
        self._in_row = 0
        self._last = 0.0  # time of the last failure that counted
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Take a new lock in a forked process, and forget the parent's failures."""
        self._lock = threading.Lock()
        self.open, self._in_row = False, 0

    def succeeded(self) -> None:
        """Record a reply; an error reply is one too."""
        if self._in_row:
            with self._lock:
                self._in_row = 0

    def failed(self, begun: float, now: float, cause: StintError) -> bool:
        """Record that a request begun at a time was not answered. Return True if this opens the breaker."""
        with self._lock:
            if self.open or (self._in_row and begun < self._last):
                return False
            self._last = now
            self._in_row += 1
            self.open = self._in_row >= self._failures
            opens = self.open
        if opens:
            self._changed(True, cause)
        return opens

    def close(self) -> None:
        """Record that a probe was answered."""
        with self._lock:
            self._in_row, self.open = 0, False
        self._changed(False, None)

    def pause(self) -> float:
        """Return the seconds before the next probe: a random time, so that processes do not all probe at once."""
        return self.cool_down * (0.5 + random.random())
