# Made from aioleases.py by tests/test_twins.py: change that module.
"""Leases for threads: requests answered from memory, with tokens that the server has set aside."""

from __future__ import annotations

import time
import weakref
from types import TracebackType

from .asks import Key, acquire
from .errors import StintError, UnavailableError, UndecidedError
from .leasing import DEFAULT_AHEAD, DEFAULT_MAX_KEYS, TIDY_EVERY, Lease, Table
from .lending import Moment, Operation
from .limiter import Limiter
from .limits import Limit
from .link import runner, start, together
from .results import Result
from .wire import encode


class Leases:
    """Answers requests from memory, with tokens that Stint has set aside for this process.

    All processes together keep to the limit. ahead is the time in seconds that a chunk of tokens should last. Requests
    for more than max_keys keys, with limits that cannot be leased, near the limit, or for keys in little demand go to
    the server one by one. Tokens unused for a quarter of a second, or half, go back, from a thread in the background.
    Close the leases before the limiter.
    """

    def __init__(self, limiter: Limiter, *, ahead: float = DEFAULT_AHEAD, max_keys: int = DEFAULT_MAX_KEYS) -> None:
        self._limiter = limiter
        self._table = Table(ahead, max_keys)
        self._tidier: object = None

    def allow(self, key: Key, limit: Limit | str, n: int = 1) -> Result:
        """Take n tokens or none."""
        lease = self._table.find(key, limit, n)
        if lease is None:
            return self._limiter.allow(key, limit, n)
        begun = time.monotonic()
        found = lease.take(self._now(), n)
        if isinstance(found, Result):
            return self._limiter._observe_leased(lease.key, begun, found)
        ask, until = acquire("allow", key, lease.limit, n), begun + self._limiter._timeout
        if found is not None:
            self._start_tidier()
            result, error = self._operate(lease, found, n)
            if result is not None:
                return self._limiter._observe_leased(lease.key, begun, result)
            if isinstance(error, UndecidedError):
                return self._limiter._one(ask, begun, None, error)
        reply, failure = None, None
        try:
            reply = self._limiter._link.call(ask.packed, until - time.monotonic())
        except StintError as error:
            failure = error
        result = self._limiter._one(ask, begun, reply, failure)
        lease.asked(result)
        return result

    def held(self, key: Key) -> int:
        """Return the number of tokens of a key that may be spent from memory."""
        lease = self._table.get(key)
        return lease.held(self._now()) if lease is not None else 0

    def close(self) -> None:
        """Give the tokens back. Later requests go to the server one by one."""
        together(self._end, self._table.close())

    def __enter__(self) -> Leases:
        """Return the leases, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the leases."""
        self.close()

    @staticmethod
    def _now() -> Moment:
        return Moment(time.monotonic_ns(), time.time_ns())

    def _operate(self, lease: Lease, operation: Operation, n: int) -> tuple[Result | None, StintError | None]:
        """Send an operation, and take n tokens then."""
        reply, failure = None, None
        try:
            reply = self._limiter._link.call(encode(operation.arguments), self._limiter._timeout)
        except StintError as error:
            failure = error
        except BaseException:
            lease.hear(self._now(), operation, None, UnavailableError("interrupted"), 0)
            raise
        result = lease.hear(self._now(), operation, reply, failure, n)
        if lease.ended and not operation.returning:
            self._give_back(lease)
        return result, failure

    def _give_back(self, lease: Lease) -> StintError | None:
        operation = lease.give_back(self._now())
        if operation is None:
            return None
        _, error = self._operate(lease, operation, 0)
        return error

    def _end(self, lease: Lease) -> None:
        if self._give_back(lease) is not None:
            self._give_back(lease)

    def _start_tidier(self) -> None:
        if self._table.starts_tidier(runner()):
            self._tidier = start(_tidy, weakref.ref(self))

    def _tidy(self) -> bool:
        unused = []
        for lease in self._table.all():
            ends = lease.unused()
            if lease.forgotten():
                self._table.forget(lease)
                ends = True
            if ends:
                unused.append(lease)
        together(self._give_back, unused)
        return self._table.is_tidied_by(runner())


def _tidy(reference: weakref.ref[Leases]) -> None:
    """Give unused tokens back, until the leases are closed or nobody has them any more."""
    while True:
        time.sleep(TIDY_EVERY)
        leases = reference()
        if leases is None or not leases._tidy():
            return
        del leases
