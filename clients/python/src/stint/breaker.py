"""The circuit breaker's state, without a clock, threads or tasks."""

from __future__ import annotations

import logging
import math
import random
import sys
import threading
from collections.abc import Callable

from .checks import is_number, is_whole
from .errors import InvalidError, StintError

log = logging.getLogger("stint")


class Breaker:
    """Opens after several failures in a row; the link then sends probes until one is answered. Both are logged.

    Failures that overlap in time count as one: a request that was in flight when a failure was counted does not count
    again. So a pause under a thousand calls does not open it.
    """

    def __init__(self, failures: int, cool_down: float, changed: Callable[[bool, StintError | None], None]) -> None:
        if not is_whole(failures, 1, sys.maxsize):
            raise InvalidError(f"failures: must be an integer above 0, got {failures!r}")
        if not is_number(cool_down) or not 0 <= cool_down < math.inf:
            raise InvalidError(f"cool_down: must be a number of seconds, 0 or more, got {cool_down!r}")
        if not callable(changed):
            raise InvalidError(f"on_breaker: must be a function, got {changed!r}")
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
            log.warning("Stint does not answer, so the policy does: %s", cause)
            self._changed(True, cause)
        return opens

    def close(self) -> None:
        """Record that a probe was answered."""
        with self._lock:
            self._in_row, self.open = 0, False
        log.info("Stint answers again")
        self._changed(False, None)

    def pause(self, passed: float = 0.0) -> float:
        """Return the seconds before the next probe, so many after the beginning of the last one.

        Probes begin at random intervals, so that processes do not all probe at once.
        """
        return max(0.0, self.cool_down * (0.5 + random.random()) - passed)
