"""Buckets in memory, for the policy local_share."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from .limits import Limit
from .results import NEVER, LimitState

MAX_KEYS = 100_000
SWEEP_EVERY = 1.0  # seconds


@dataclass
class _Bucket:
    capacity: int
    rate: float  # tokens a second
    tokens: float
    at: float

    def level(self, now: float) -> float:
        if now > self.at:  # a clock that stands still or jumps back adds nothing
            self.tokens = min(float(self.capacity), self.tokens + (now - self.at) * self.rate)
        self.at = max(self.at, now)
        return self.tokens

    def wait(self, now: float, n: int) -> float:
        if n > self.capacity:
            return NEVER
        missing = n - self.level(now)
        return 0.0 if missing <= 1e-9 else max(1e-9, missing / self.rate)


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome: binding is the denying limit with the longest wait, or -1."""

    states: tuple[LimitState, ...]
    binding: int
    retry_after: float


class Buckets:
    """Token buckets with a share of each limit, all or nothing. They may be used by several threads."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._buckets: dict[tuple[bytes, Limit], _Bucket] = {}
        self._swept = -math.inf
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Take a new lock in a forked process, because a thread of the parent may hold the old one."""
        self._lock = threading.Lock()

    def take(self, now: float, asks: Sequence[tuple[bytes, Limit, int]], keep: bool) -> Taken:
        """Decide on a number of tokens of each limit, and take them if keep is True."""
        asks = [(key, limit, 0 if limit.algorithm.form == "penalty" else n) for key, limit, n in asks]
        with self._lock:
            buckets = [self._bucket(now, key, limit) for key, limit, _ in asks]
            binding, longest = -1, 0.0
            for i, (bucket, (_, _, n)) in enumerate(zip(buckets, asks, strict=True)):
                wait = SWEEP_EVERY if bucket is None else bucket.wait(now, n)
                if wait > longest:
                    binding, longest = i, wait
            states = []
            for bucket, (_, limit, n) in zip(buckets, asks, strict=True):
                if bucket is None:
                    states.append(LimitState(limit.tokens, 0, 0.0))
                    continue
                if binding < 0 and keep:
                    bucket.tokens = bucket.level(now) - n
                left = bucket.level(now)
                states.append(
                    LimitState(bucket.capacity, math.floor(left + 1e-9), (bucket.capacity - left) / bucket.rate)
                )
            return Taken(tuple(states), binding, longest)

    def _bucket(self, now: float, key: bytes, limit: Limit) -> _Bucket | None:
        limit = limit.shared
        bucket = self._buckets.get((key, limit))
        if bucket is None and (len(self._buckets) < MAX_KEYS or self._sweep(now)):
            is_known = limit.algorithm.form != "balance"  # whose credits nobody knows
            capacity = max(1, int(self._share * limit.tokens)) if is_known else 0
            rate = self._share * float(limit.count / limit.period) if is_known else 1.0
            bucket = _Bucket(capacity, rate, float(capacity), now)
            self._buckets[key, limit] = bucket
        return bucket

    def _sweep(self, now: float) -> bool:
        """Delete full buckets, which equal new ones, and return whether there is room now."""
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            self._buckets = {k: b for k, b in self._buckets.items() if b.level(now) < b.capacity}
        return len(self._buckets) < MAX_KEYS
