"""Tokens of leases go back side by side: a node that does not answer for some keys holds up no others."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import stint
from stint.aioleases import AsyncLeases
from stint.leases import Leases
from stint.leasing import Lease, Table

LIMIT = stint.per_second(1000)
STUCK, GOOD = 5, 20


class Sent:
    """The keys whose tokens went back."""

    def __init__(self) -> None:
        self.good = 0
        self.lock = threading.Lock()
        self.all = threading.Event()
        self.release = threading.Event()

    def reply(self) -> list[int]:
        with self.lock:
            self.good += 1
            if self.good == GOOD:
                self.all.set()
        return [0, 1000, 1000, 0, 2]


class Link:
    """Answers for keys that are not stuck."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent

    def call(self, packed: bytes, timeout: float) -> Any:
        if b"stuck" in packed:
            assert self.sent.release.wait(30)
            raise stint.UnavailableError("timeout")
        return self.sent.reply()


class AsyncLink(Link):
    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self.all, self.release = asyncio.Event(), asyncio.Event()

    async def call(self, packed: bytes, timeout: float) -> Any:
        if b"stuck" in packed:
            await self.release.wait()
            raise stint.UnavailableError("timeout")
        reply = self.sent.reply()
        if self.sent.all.is_set():
            self.all.set()
        return reply


class Limiter:
    _timeout = 30.0

    def __init__(self, link: Link) -> None:
        self._link = link


def fill(table: Table) -> list[Lease]:
    """Give each key a loan that was not used lately."""
    made = [table.find(f"{kind}{i}", LIMIT, 1) for kind, n in (("stuck", STUCK), ("good", GOOD)) for i in range(n)]
    for lease in made:
        assert lease is not None
        lease._purse.known = 1
    return [lease for lease in made if lease is not None]


def test_threads_give_tokens_back_beside_those_that_wait() -> None:
    for work in ("_tidy", "close"):
        sent = Sent()
        leases = Leases(Limiter(Link(sent)))  # type: ignore[arg-type]
        fill(leases._table)
        thread = threading.Thread(target=getattr(leases, work))
        thread.start()
        try:
            assert sent.all.wait(10), f"{work}: the tokens of {sent.good} of {GOOD} keys went back"
        finally:
            sent.release.set()
            thread.join()


def test_tasks_give_tokens_back_beside_those_that_wait() -> None:
    async def main(work: str) -> None:
        sent = Sent()
        link = AsyncLink(sent)
        leases = AsyncLeases(Limiter(link))  # type: ignore[arg-type]
        fill(leases._table)
        task = asyncio.create_task(getattr(leases, work)())
        try:
            await asyncio.wait_for(link.all.wait(), 10)
        except asyncio.TimeoutError:
            raise AssertionError(f"{work}: the tokens of {sent.good} of {GOOD} keys went back") from None
        finally:
            link.release.set()
            await task

    for work in ("_tidy", "close"):
        asyncio.run(main(work))
