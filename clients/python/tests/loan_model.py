"""A server with one key, and an exact limiter beside it that counts every token when it is spent."""

from __future__ import annotations

from dataclasses import dataclass

from stint.errors import RefusedError
from stint.lending import LOAN_FOR, Operation
from stint.limits import Limit

SECOND = 10**9


class Counter:
    """The tokens taken of a token bucket or of aligned windows, in whole numbers."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.is_bucket = limit.algorithm.form == "rate"
        self.count, self.period = int(limit.count), int(limit.period * SECOND)
        self.full_at = 0  # of a bucket, in count-ths of a nanosecond
        self.window, self.used = 0, 0

    def taken(self, now: int) -> int:
        if not self.is_bucket:
            if now // self.period != self.window:
                self.window, self.used = now // self.period, 0
            return self.used
        self.full_at = max(self.full_at, now * self.count)
        return -((now * self.count - self.full_at) // self.period)

    def take(self, now: int, n: int) -> None:
        taken = self.taken(now)
        self.full_at += n * self.period
        self.used = max(0, taken + n)
        self.taken(now)

    def turn(self, now: int, count: int) -> None:
        """Take another rate; the usage carries over."""
        self.taken(now)
        self.full_at = now * count + self.full_at - now * self.count
        self.count = count


@dataclass
class Lent:
    """Tokens set aside for a holder."""

    tokens: int
    until: int
    number: int


class Model(Counter):
    """The server."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self.exact = Counter(limit)
        self.lent: dict[str, Lent] = {}
        self.excess = 0  # tokens that the exact limiter would not have granted

    def spend(self, now: int, n: int) -> None:
        self.exact.take(now, n)
        self.excess = max(self.excess, self.exact.taken(now) - self.limit.tokens)

    def end(self, now: int) -> None:
        """End loans whose time is over: they count as spent."""
        for holder, lent in sorted(self.lent.items(), key=lambda item: item[1].until):
            if lent.until <= now:
                self.take(lent.until, lent.tokens)
                del self.lent[holder]

    def available(self, now: int) -> int:
        self.end(now)
        return max(0, self.limit.tokens - self.taken(now) - sum(lent.tokens for lent in self.lent.values()))

    def acquire(self, now: int, n: int) -> int:
        granted = n if n <= self.available(now) else 0
        self.take(now, granted)
        self.spend(now, granted)
        return granted

    def refund(self, now: int, n: int) -> None:
        self.end(now)
        self.take(now, -n)
        self.exact.take(now, -n)

    def reset(self, now: int) -> None:
        self.end(now)
        self.take(now, -self.taken(now))
        self.exact.take(now, -self.exact.taken(now))

    def change_rate(self, now: int, count: int) -> None:
        self.end(now)
        self.turn(now, count)
        self.exact.turn(now, count)

    def operate(self, now: int, operation: Operation) -> list[int]:
        """Carry out RL.LEND or RL.RETURN."""
        self.end(now)
        words = operation.arguments
        numbers = [0, *words[2:6]] if operation.returning else [*words[5:9], words[10]]
        wanted, holder, number, previous, left = numbers
        assert isinstance(wanted, int) and isinstance(holder, str) and isinstance(left, int)
        assert isinstance(number, int)
        lent = self.lent.get(holder, Lent(0, 0, 0))
        if lent.number != previous:
            return [0, self.limit.tokens, self.available(now), lent.tokens, lent.number]
        if left > lent.tokens:
            raise RefusedError(f"ERR the holder states more tokens than the {lent.tokens} that are set aside for it")
        self.lent.pop(holder, None)
        self.take(now, lent.tokens - left)
        if operation.returning:
            return [left, self.limit.tokens, self.available(now), 0, 0]
        granted = min(wanted, max(0, self.available(now) - left) // 8) if self.count == int(self.limit.count) else 0
        if left + granted == 0:
            return [0, self.limit.tokens, self.available(now), 0, 0]
        self.lent[holder] = Lent(left + granted, now + LOAN_FOR * SECOND, number)
        return [granted, self.limit.tokens, self.available(now), left + granted, number]
