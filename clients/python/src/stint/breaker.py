"""The state of the circuit breaker, one circuit for each node, without a clock, threads or tasks."""

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
    """The circuits of a limiter's nodes. It is open while all of them are: there is no node left to ask."""

    def __init__(self, failures: int, cool_down: float, changed: Callable[[bool, StintError | None], None]) -> None:
        if not is_whole(failures, 1, sys.maxsize):
            raise InvalidError(f"failures: must be an integer above 0, got {failures!r}")
        if not is_number(cool_down) or not 0 <= cool_down < math.inf:
            raise InvalidError(f"cool_down: must be a number of seconds, 0 or more, got {cool_down!r}")
        if not callable(changed):
            raise InvalidError(f"on_breaker: must be a function, got {changed!r}")
        self.open = False
        self.cool_down = cool_down
        self.failures = failures
        self.changed = changed
        self.circuits: list[Circuit] = []
        self.lock = threading.Lock()

    def circuit(self, address: str) -> Circuit:
        """Return the circuit of another node."""
        with self.lock:
            self.circuits.append(Circuit(self, address))
            return self.circuits[-1]

    def after_fork(self) -> None:
        """Take a new lock in a forked process, and forget the parent's failures."""
        self.lock = threading.Lock()
        self.open = False
        for circuit in self.circuits:
            circuit.forget()

    def pause(self, passed: float = 0.0) -> float:
        """Return the seconds before the next probe, if passed seconds have gone by since the last one began.

        Probes begin at random intervals, so that processes do not all probe at once.
        """
        return max(0.0, self.cool_down * (0.5 + random.random()) - passed)


class Circuit:
    """Opens after several failures of a node in a row; the link then probes the node until it answers. Both are logged.

    Failures that overlap in time count as one: a request that was in flight when a failure was counted does not count
    again. So a pause under a thousand calls does not open it.
    """

    def __init__(self, breaker: Breaker, address: str) -> None:
        self._breaker = breaker
        self._address = address
        self.forget()

    def forget(self) -> None:
        """Begin anew, without failures."""
        self.open = False
        self._in_row = 0
        self._last = 0.0  # time of the last failure that counted

    def succeeded(self) -> None:
        """Record a reply; an error reply is one too."""
        if self._in_row:
            with self._breaker.lock:
                self._in_row = 0

    def failed(self, begun: float, now: float, cause: StintError) -> bool:
        """Record that a request begun at a time was not answered. Return True if this opens the circuit."""
        breaker = self._breaker
        with breaker.lock:
            if self.open or (self._in_row and begun < self._last):
                return False
            self._last = now
            self._in_row += 1
            self.open = opens = self._in_row >= breaker.failures
            is_last = opens and not breaker.open and all(circuit.open for circuit in breaker.circuits)
            breaker.open = breaker.open or is_last
        if is_last:
            log.warning("Stint does not answer, so the fallback decides: %s", cause)
            breaker.changed(True, cause)
        elif opens:
            log.warning("Stint's node %s does not answer, and is not asked until it does: %s", self._address, cause)
        return opens

    def close(self) -> None:
        """Record that a probe was answered."""
        breaker = self._breaker
        with breaker.lock:
            self._in_row, self.open = 0, False
            was_open, breaker.open = breaker.open, False
        if was_open:
            log.info("Stint answers again")
            breaker.changed(False, None)
        else:
            log.info("Stint's node %s answers again", self._address)
