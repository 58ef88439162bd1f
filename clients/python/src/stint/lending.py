"""Tokens that the server has set aside for this process, by RL.LEND, without a clock, locks, input or output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .errors import StintError, UndecidedError
from .limits import Limit
from .results import integers, unknown
from .wire import Argument

LOAN_FOR = 10  # seconds after an operation, after which the server counts all of the loan as spent
SPEND_FOR = LOAN_FOR * 10**9 // 2  # nanoseconds for which tokens are spent, by this process's clocks
RENEW_AFTER = SPEND_FOR // 2  # nanoseconds after which a loan in use is renewed
MAX_REPEATS = 3  # of a return whose answer was lost


class Moment(NamedTuple):
    """A reading of two clocks, in nanoseconds.

    The monotonic one may stand still while the machine sleeps; the time of day may be set. The longer time by the two
    counts, because tokens must not be spent after a sleep that one clock does not show.
    """

    monotonic: int
    day: int

    def since(self, earlier: Moment) -> int:
        """Return the nanoseconds since an earlier moment."""
        return max(self.monotonic - earlier.monotonic, self.day - earlier.day)


@dataclass(frozen=True)
class Operation:
    """A command about a loan."""

    arguments: list[Argument]
    number: int
    previous: int
    returning: bool
    sent_at: Moment


@dataclass(frozen=True)
class Answer:
    """The server's answer to an operation."""

    granted: int  # or returned
    remaining: int  # for everybody else
    ignored: bool  # the server has named another last operation: the same may be asked again


class Purse:
    """The tokens of a loan, where its holder spends them.

    The server counts all of them as taken until the holder states the number that it has not spent. So all holders and
    the server never grant more than the limit together, in spite of refunds, deletions and other rates between. A
    loan whose holder is silent ends by itself and then counts as spent; the holder stops to spend long before.

    Operations follow one another. The server ignores one whose previous number is not that of the last operation that
    it carried out. So an answer that was lost costs tokens, but no token is there twice. Each operation must be
    heard, or given up for good, before the next one is made.
    """

    def __init__(self, holder: str, spend_for: int = SPEND_FOR) -> None:
        self.holder = holder
        self.tokens = 0  # not spent
        self.spent = 0  # since the beginning
        self.known = 0  # number of the last operation that the server has named; 0 if there is no loan
        self.since: Moment | None = None  # the last operation that was surely carried out was sent then
        self._spend_for = spend_for
        self._number = 0  # of the last operation
        self._unheard: Operation | None = None  # a return without an answer
        self._repeats = 0

    def valid(self, now: Moment) -> bool:
        """Return whether tokens may be spent."""
        return self.since is not None and now.since(self.since) < self._spend_for

    def aging(self, now: Moment) -> bool:
        """Return whether tokens are left that cannot be spent for long without another operation."""
        return self.tokens > 0 and self.valid(now) and self.since is not None and now.since(self.since) >= RENEW_AFTER

    def spend(self, now: Moment, n: int) -> bool:
        """Take n tokens if there are as many."""
        if self.tokens < n or not self.valid(now):
            return False
        self.tokens -= n
        self.spent += n
        return True

    @property
    def may_repeat(self) -> bool:
        """Whether the answer to a return was lost, so that give_back repeats it."""
        return self._unheard is not None and self._repeats < MAX_REPEATS

    def lend(self, now: Moment, key: bytes, limit: Limit, tokens: int) -> Operation:
        """Ask for more tokens, and renew the loan."""
        if not self.valid(now):
            self.tokens = 0  # the server counts them as spent
        self._unheard = None
        number = self._next()
        spec: list[Argument] = ["RL.LEND", key, limit.algorithm.spec, *limit.arguments]
        numbers: list[Argument] = [tokens, self.holder, number, self.known]
        arguments = [*spec, *numbers, "LEFT", self.tokens, "FOR", f"{LOAN_FOR}s", *limit.counted_words]
        return Operation(arguments, number, self.known, False, now)

    def give_back(self, now: Moment, key: bytes) -> Operation:
        """End the loan, or repeat this if the answer was lost.

        To repeat is safe: the server ignores it if it has carried it out, and no token has been lent since.
        """
        if self._unheard is not None and self.may_repeat:
            self._repeats += 1
            return self._unheard
        left = self.tokens if self.valid(now) else 0
        self.tokens = 0
        number = self._next()
        arguments: list[Argument] = ["RL.RETURN", key, self.holder, number, self.known, left]
        self._unheard, self._repeats = Operation(arguments, number, self.known, True, now), 0
        return self._unheard

    def _next(self) -> int:
        self._number += 1
        return self._number

    def hear(self, operation: Operation, reply: Any, error: StintError | None) -> Answer:
        """Take the answer to the last operation. Raise the error, or one about the reply."""
        if error is None or not isinstance(error, UndecidedError):
            self._unheard = None
        if error is not None:
            if str(error).startswith("ERR the holder states more tokens than"):
                self.tokens = 0
            raise error
        granted, _, remaining, _, number = integers(reply, 5)
        if granted < 0 or (granted > 0 and not operation.returning and number != operation.number):
            raise unknown(reply)
        self.known = number
        ignored = False
        if operation.returning:
            pass
        elif number == operation.number:
            self.since = operation.sent_at
            self.tokens += granted
        else:
            ignored = operation.previous != number
            if number < operation.previous:  # the loan was ended
                self.tokens = 0
        return Answer(granted, remaining, ignored)
