"""Leases: the keys whose requests are answered from memory. No clock, input or output."""

from __future__ import annotations

import os
import secrets
import sys
import threading
import weakref
from typing import Any

from .asks import Key, as_limit
from .checks import is_number, is_whole
from .errors import InvalidError, StintError, UndecidedError
from .keys import short_key
from .lending import LOAN_FOR, Moment, Operation, Purse
from .limits import Limit
from .results import Result, Source

TIDY_EVERY = 0.25  # seconds: tokens unused for this time go back
FORGET_AFTER = 40  # rounds without a request after which a key is forgotten: 10 s
DEFAULT_AHEAD = 0.1  # seconds that a chunk should last
MAX_AHEAD = 2 * TIDY_EVERY
DEFAULT_MAX_KEYS = 10_000
SMALLEST = 8  # tokens of a limit: the server lends at most an eighth
_SECOND = 10**9  # nanoseconds
_MEASURED = 10**6  # nanoseconds: the shortest time of which demand is measured


class Lease:
    """Answers requests for one key under one limit. Threads may share it."""

    def __init__(self, key: bytes, limit: Limit, given: Limit | str, holder: str, ahead: float) -> None:
        self.key, self.limit, self.given = key, limit, given
        self.ended = False
        self._lock = threading.Lock()
        self._purse = Purse(holder)
        self._busy = False  # an operation is under way
        self._ahead = int(ahead * _SECOND)
        self._alone = 0  # until then, requests go to the server one by one
        self._remaining = 0  # at the server for everybody else, after its last reply
        self._asked = 0  # tokens granted to single requests
        self._measured = 0  # tokens used until the last measurement of demand
        self._at: int | None = None  # time of that measurement
        self._demand = 0.0  # tokens per nanosecond
        self._seen = 0  # tokens used until the last round
        self._quiet = 0  # rounds since they were more
        self._refill = float(limit.period / limit.count) if limit.algorithm.form == "rate" and limit.count else 0.0

    def take(self, now: Moment, n: int) -> Result | Operation | None:
        """Answer from memory, or return an operation to be sent first, or None: ask the server for these tokens.

        Each operation must be followed by one call of hear.
        """
        with self._lock:
            purse = self._purse
            rests = self._busy or self.ended or now.monotonic < self._alone
            if (rests or not purse.aging(now)) and purse.spend(now, n):
                return self._granted(n)
            if rests or not (purse.aging(now) or self._in_demand(now, n)):
                return None
            self._busy = True
            if purse.may_repeat:
                return purse.give_back(now, self.key)
            return purse.lend(now, self.key, self.limit, self._want(now, n))

    def hear(self, now: Moment, operation: Operation, reply: Any, error: StintError | None, n: int) -> Result | None:
        """Take the answer to an operation, and spend n tokens if they are there now (none if n is 0)."""
        with self._lock:
            self._busy = False
            try:
                answer = self._purse.hear(operation, reply, error)
            except UndecidedError:
                pass
            except StintError:  # an older server, a user who may not, or another limiter on the key
                self._alone = now.monotonic + LOAN_FOR * _SECOND
            else:
                self._remaining = answer.remaining
                if answer.granted == 0 and self._purse.tokens < n and not answer.ignored and not operation.returning:
                    self._alone = now.monotonic + self._ahead
            return self._granted(n) if n and self._purse.spend(now, n) else None

    def asked(self, result: Result) -> None:
        """Record the server's answer to a single request."""
        if result.source is Source.SERVER:
            with self._lock:
                self._remaining = result.remaining
                self._asked += result.granted

    def give_back(self, now: Moment) -> Operation | None:
        """Return the operation that ends the loan; None if there is none, or another operation is under way."""
        with self._lock:
            if self._busy or not self._purse.known:
                return None
            self._busy = True
            return self._purse.give_back(now, self.key)

    def unused(self) -> bool:
        """Return whether tokens should go back. Call it once in each round."""
        with self._lock:
            used = self._used()
            if used != self._seen:
                self._seen, self._quiet = used, 0
                return False
            self._quiet += 1
            return self._quiet == 1 or self._purse.may_repeat

    def forgotten(self) -> bool:
        """Return whether there were no requests for long."""
        with self._lock:
            return self._quiet >= FORGET_AFTER and not self._busy

    def held(self, now: Moment) -> int:
        """Return the tokens that may be spent from memory."""
        with self._lock:
            return self._purse.tokens if self._purse.valid(now) else 0

    def _granted(self, n: int) -> Result:
        remaining = min(self._purse.tokens + self._remaining, self.limit.tokens)
        reset = (self.limit.tokens - remaining) * self._refill
        return Result(True, n, self.limit.tokens, remaining, reset_after=reset, source=Source.LEASED)

    def _want(self, now: Moment, n: int) -> int:
        """Return the tokens to ask for: n, and those of the time ahead, without those that are left."""
        left = self._purse.tokens if self._purse.valid(now) else 0
        ahead = int(min(self._demand * self._ahead, self.limit.tokens))
        return max(0, min(n + ahead - left, self.limit.tokens))

    def _in_demand(self, now: Moment, n: int) -> bool:
        """Return whether two requests or more are expected in the time ahead. Otherwise a loan does not pay."""
        self._measure(now)
        return self._demand * self._ahead >= 2 * n

    def _used(self) -> int:
        return self._purse.spent + self._asked

    def _measure(self, now: Moment) -> None:
        """Estimate the demand. It follows a rise at once and a fall slowly."""
        if self._at is None:
            self._at = now.monotonic
        span = now.monotonic - self._at
        if span < _MEASURED:
            return
        used = self._used()
        sample = (used - self._measured) / span
        self._demand = max(sample, (3 * self._demand + sample) / 4)
        self._measured, self._at = used, now.monotonic


class Table:
    """The leases of a process, by key."""

    def __init__(self, ahead: float, max_keys: int) -> None:
        if not is_number(ahead) or not 0 < ahead <= MAX_AHEAD:
            raise InvalidError(f"ahead must be above 0 and at most {MAX_AHEAD} seconds, got {ahead!r}")
        if not is_whole(max_keys, 1, sys.maxsize):
            raise InvalidError(f"max_keys must be an integer above 0, got {max_keys!r}")
        self._ahead, self._max_keys = ahead, max_keys
        self.closed = False
        self.after_fork()
        _tables.add(self)

    def after_fork(self) -> None:
        """Leave the tokens to the parent, and take new locks and another name."""
        self._lock = threading.Lock()
        self._leases: dict[bytes, Lease] = {}
        self._holder, self._serial = secrets.token_hex(8), 0
        self._tidier: object = None

    def find(self, key: Key, limit: Limit | str, n: int) -> Lease | None:
        """Return the lease for a request, a new one if there is room. None: ask the server."""
        name = short_key(key)
        lease = self._leases.get(name)
        if lease is None or (limit is not lease.given and limit != lease.given):
            lease = self._add(name, limit)
        if lease is None or type(n) is not int or not 1 <= n <= lease.limit.tokens:
            return None
        return lease

    def _add(self, name: bytes, given: Limit | str) -> Lease | None:
        limit = as_limit(given)
        if limit.algorithm.spec not in ("TB", "FW") or "ROLLOVER" in limit.anchor or limit.tokens < SMALLEST:
            return None
        with self._lock:
            old = self._leases.get(name)
            if old is not None:  # under another limit, until it is forgotten
                return old if old.limit == limit else None
            if self.closed or len(self._leases) >= self._max_keys:
                return None
            self._serial += 1  # each lease is another holder, so none hears of operations of an earlier one
            lease = Lease(name, limit, given, f"{self._holder}-{self._serial}", self._ahead)
            self._leases[name] = lease
            return lease

    def get(self, key: Key) -> Lease | None:
        """Return the lease of a key."""
        return self._leases.get(short_key(key))

    def all(self) -> list[Lease]:
        """Return all leases."""
        with self._lock:
            return list(self._leases.values())

    def forget(self, lease: Lease) -> None:
        """Remove a lease. A request that has just found it goes to the server."""
        lease.ended = True
        with self._lock:
            self._leases.pop(lease.key, None)

    def starts_tidier(self, who: object) -> bool:
        """Return whether the caller is to start a tidier, which runs while is_tidied_by returns True."""
        if self._tidier is who:
            return False
        with self._lock:
            starts, self._tidier = self._tidier is not who and not self.closed, who
            return starts

    def is_tidied_by(self, who: object) -> bool:
        """Return whether a tidier is to go on."""
        return self._tidier is who and not self.closed

    def close(self) -> list[Lease]:
        """End all leases, and return them: their tokens are to be given back."""
        with self._lock:
            self.closed = True
            ended = list(self._leases.values())
            self._leases = {}
        for lease in ended:
            lease.ended = True
        return ended


_tables: weakref.WeakSet[Table] = weakref.WeakSet()


def _after_fork() -> None:
    for table in list(_tables):
        table.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
