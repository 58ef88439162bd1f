"""The first calls of a limiter, which wait for its connection."""

from __future__ import annotations

import time

from .checks import is_number
from .errors import InvalidError

DEFAULT_CONNECT_TIMEOUT = 1.0  # seconds


class FirstCalls:
    """Gives calls the time to connect, until the first of them has its outcome.

    Connecting, logging in, and a program that has just started take longer than a decision.
    """

    def __init__(self, connect_timeout: float) -> None:
        if not is_number(connect_timeout) or not connect_timeout > 0:
            raise InvalidError(
                f"connect_timeout: must be a number of seconds above 0, such as 1, got {connect_timeout!r}"
            )
        self._connect_timeout = connect_timeout
        self.begin()

    def begin(self) -> None:
        """Expect a first call: in a new limiter, a forked process, another event loop."""
        self._until: float | None = None
        self._over = False

    def within(self, timeout: float) -> float:
        """Return the time that a call waits, in seconds."""
        if self._over:
            return timeout
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._connect_timeout
        return max(timeout, self._until - now)

    def patience(self, usual: float) -> float:
        """Return the time for an attempt to connect, in seconds."""
        return usual if self._over else max(usual, self._connect_timeout)

    def end(self) -> None:
        """Record that a call has its outcome."""
        self._over = True
