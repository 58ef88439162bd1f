"""Streams that end at their budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

import stint
from stint.slices import MAX_CALLERS, Estimates

from .budgets import Budget
from .servers import PATIENT, Scripted, cancel_before_reply

CLOSED = stint.fail_closed()


class Chunks:
    """A model's answer: chunks of tokens, and then an error, or an endless wait. It can be closed, as SDKs' streams."""

    def __init__(self, *tokens: int, error: Exception | None = None, waits: bool = False) -> None:
        self.tokens, self.error, self.waits, self.is_closed = list(tokens), error, waits, False
        self.is_waiting = False

    async def __aiter__(self) -> AsyncIterator[int]:
        for tokens in self.tokens:
            yield tokens
        if self.error is not None:
            raise self.error
        if self.waits:
            self.is_waiting = True
            await asyncio.Event().wait()

    def __iter__(self) -> Iterator[int]:
        yield from self.tokens
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        self.is_closed = True


class SyncChunks(Chunks):
    aclose = None  # type: ignore[assignment]

    def close(self) -> None:
        self.is_closed = True


def size(chunk: int) -> int:
    return chunk


def run(scripted: Scripted, work: Callable[[stint.AsyncLimiter], Awaitable[Any]], policy: stint.Policy = CLOSED) -> Any:
    async def main() -> Any:
        async with stint.AsyncLimiter(scripted.url, policy, timeout=PATIENT) as limiter:
            return await work(limiter)

    return asyncio.run(main())


async def take(
    limiter: stint.AsyncLimiter, chunks: Chunks, usage: int | None = None, **options: Any
) -> tuple[list[int], stint.AsyncStream]:
    passed = []
    async with limiter.streaming("llm", "ann", **options) as stream:
        async for chunk in stream.wrap(chunks, size):
            passed.append(chunk)
        if usage is not None:
            stream.settle(usage)
    return passed, stream


@pytest.mark.parametrize(("usage", "charged"), [(None, 1100), (900, 900), (5000, 5000)])
def test_completion(scripted: Scripted, usage: int | None, charged: int) -> None:
    """Without usage, with less than was reserved, and with more."""
    budget, chunks = Budget(scripted, 4000), Chunks(*[10] * 100)
    passed, stream = run(scripted, lambda limiter: take(limiter, chunks, usage, prompt=100, step=200))
    assert sum(passed) == 1000 and stream.used == 1100 and chunks.is_closed
    assert stream.error is None and stream.charges == [stint.Charge(charged, 4000, 4000 - charged, 0.0)]
    assert budget.charged == {stream.id.encode(): charged} and not budget.held
    first, *extensions = [int(words[3]) for words in budget.sent("RL.CHECK") + budget.sent("RL.EXTEND")]
    assert first == 300 and extensions == [200, 200, 200, 225, 281]  # from 900 on a quarter of what is reserved
    assert len(budget.sent("RL.SETTLE")) == 1


def test_error_in_the_middle(scripted: Scripted) -> None:
    budget, chunks = Budget(scripted, 4000), Chunks(50, 50, error=ConnectionError())
    with pytest.raises(ConnectionError):
        run(scripted, lambda limiter: take(limiter, chunks, prompt=100))
    assert list(budget.charged.values()) == [200] and chunks.is_closed


def test_error_before_the_first_chunk(scripted: Scripted) -> None:
    budget = Budget(scripted, 4000)
    with pytest.raises(ConnectionError):
        run(scripted, lambda limiter: take(limiter, Chunks(error=ConnectionError()), prompt=100))
    assert list(budget.charged.values()) == [0] and not budget.sent("RL.SETTLE")


def test_begun_without_a_chunk(scripted: Scripted) -> None:
    async def work(limiter: stint.AsyncLimiter) -> None:
        async with limiter.streaming("llm", "ann", prompt=100) as stream:
            await stream.add(0)

    budget = Budget(scripted, 4000)
    run(scripted, work)
    assert list(budget.charged.values()) == [100]


def test_cancellation(scripted: Scripted) -> None:
    async def work(limiter: stint.AsyncLimiter) -> None:
        chunks = Chunks(50, 60, waits=True)
        task = asyncio.create_task(take(limiter, chunks))
        while not chunks.is_waiting:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    budget = Budget(scripted, 4000)
    run(scripted, work)
    assert list(budget.charged.values()) == [110]


def test_cancellation_while_it_is_opened(scripted: Scripted) -> None:
    granted = b"*4\r\n:256\r\n:-1\r\n:0\r\n*0"

    async def work(limiter: stint.AsyncLimiter) -> None:
        await cancel_before_reply(scripted, take(limiter, Chunks(1)), granted, {b"RL.CANCEL": b"*0"})

    run(scripted, work)
    opened, canceled = scripted.commands
    assert canceled == [b"RL.CANCEL", opened[opened.index(b"AS") + 1]]


def test_closed_early(scripted: Scripted) -> None:
    """As by a web framework whose client has left: the generator around the stream is closed."""
    budget, chunks = Budget(scripted, 4000), Chunks(*[10] * 100)

    async def answer(limiter: stint.AsyncLimiter) -> AsyncIterator[int]:
        async with limiter.streaming("llm", "ann") as stream:
            async for chunk in stream.wrap(chunks, size):
                yield chunk

    async def work(limiter: stint.AsyncLimiter) -> None:
        generator = answer(limiter)
        for _ in range(3):
            await anext(generator)
        await generator.aclose()  # type: ignore[attr-defined]

    run(scripted, work)
    assert list(budget.charged.values()) == [30]


def test_denied_extension(scripted: Scripted) -> None:
    """The budget is used up, and not overspent; the chunk that does not fit is not passed on."""
    budget, chunks, passed = Budget(scripted, 1000), Chunks(*[30] * 100), []

    async def work(limiter: stint.AsyncLimiter) -> None:
        async with limiter.streaming("llm", "ann", prompt=95, step=200) as stream:
            try:
                async for chunk in stream.wrap(chunks, size):
                    passed.append(chunk)
            finally:
                with pytest.raises(stint.BudgetSpentError):
                    await stream.add(1)

    with pytest.raises(stint.BudgetSpentError, match=r"spent after 995 tokens: try again in 30\.000 s") as caught:
        run(scripted, work)
    assert caught.value.used == 995 and caught.value.result.binding == 0 and caught.value.result.retry_after == 30
    assert sum(passed) == 900 and chunks.is_closed
    assert list(budget.charged.values()) == [995] and not budget.held


def test_denied_opening(scripted: Scripted) -> None:
    budget = Budget(scripted, 100)
    with pytest.raises(stint.BudgetSpentError) as caught:
        run(scripted, lambda limiter: take(limiter, Chunks(1), prompt=100))
    assert caught.value.used == 0 and len(scripted.commands) == 1 and budget.left == 100


def test_the_rest_of_a_budget(scripted: Scripted) -> None:
    budget = Budget(scripted, 150)
    passed, _ = run(scripted, lambda limiter: take(limiter, Chunks(20, 29), prompt=100))
    assert passed == [20, 29] and list(budget.charged.values()) == [149]


def test_lost_replies(scripted: Scripted) -> None:
    """The same extension is asked again, and taken once."""
    budget = Budget(scripted, 4000)
    budget.loses = {b"RL.CHECK", b"RL.EXTEND", b"RL.SETTLE"}
    _, stream = run(scripted, lambda limiter: take(limiter, Chunks(*[10] * 30)))
    assert stream.used == 300 and list(budget.charged.values()) == [300]
    first, again, *_ = budget.sent("RL.EXTEND")
    assert first == again and len(budget.sent("RL.SETTLE")) == 2


@pytest.mark.parametrize(("policy", "delivered"), [(CLOSED, 250), (stint.fail_open(), 1000)])
def test_the_server_is_gone_in_the_middle(scripted: Scripted, policy: stint.Policy, delivered: int) -> None:
    """What is reserved lasts; then the fallback decides."""
    budget, passed = Budget(scripted, 4000), []

    async def main() -> stint.AsyncStream:
        async with stint.AsyncLimiter(scripted.url, policy, timeout=0.3, connect_timeout=PATIENT) as limiter:
            opened: list[stint.AsyncStream] = []
            try:
                async with limiter.streaming("llm", "ann") as stream:
                    opened.append(stream)
                    budget.is_gone = True
                    async for chunk in stream.wrap(Chunks(*[10] * 100), size):
                        passed.append(chunk)
            except stint.BudgetSpentError as denied:
                assert policy is CLOSED and isinstance(denied.result.cause, stint.UnavailableError)
            return opened[0]

    stream = asyncio.run(main())
    assert sum(passed) == delivered == stream.used and isinstance(stream.error, stint.UnavailableError)


def test_the_fallback_opens_it(scripted: Scripted) -> None:
    """Then the server, which knows nothing of it, is asked for no extension."""
    budget = Budget(scripted, 4000)

    async def main(policy: stint.Policy) -> list[int]:
        async with stint.AsyncLimiter(scripted.url, policy, timeout=0.3) as limiter:
            budget.is_gone = True
            async with limiter.streaming([stint.on("k", "1000/d")], step=100) as stream:
                budget.is_gone = False
                return [chunk async for chunk in stream.wrap(Chunks(*[10] * 100), size)]

    assert len(asyncio.run(main(stint.fail_open()))) == 100
    with pytest.raises(stint.BudgetSpentError) as caught:
        asyncio.run(main(stint.local_share(0.5)))
    assert caught.value.used == 500 and not budget.sent("RL.EXTEND")
    with pytest.raises(stint.BudgetSpentError) as caught:
        asyncio.run(main(CLOSED))
    assert isinstance(caught.value.result.cause, stint.UnavailableError)


def test_forgotten(scripted: Scripted) -> None:
    budget = Budget(scripted, 4000)

    async def work(limiter: stint.AsyncLimiter) -> None:
        async with limiter.streaming("llm", "ann", remember=1.5) as stream:
            budget.held.clear()
            await stream.add(1000)

    with pytest.raises(stint.RefusedError, match="remember it for longer"):
        run(scripted, work)
    assert budget.sent("RL.EXTEND")[0][3:] == [b"744", b"UPTO", b"FOR", b"1500ms"]


def test_settled_twice(scripted: Scripted) -> None:
    async def work(limiter: stint.AsyncLimiter) -> None:
        async with limiter.streaming("llm", "ann") as stream:
            stream.settle(70)
            stream.settle(70)
            with pytest.raises(stint.InvalidError):
                stream.settle(71)

    budget = Budget(scripted, 4000)
    run(scripted, work)
    assert list(budget.charged.values()) == [70] and len(budget.sent("RL.SETTLE")) == 1


def test_extend(scripted: Scripted) -> None:
    """The call itself, with limits that are given."""

    async def work(limiter: stint.AsyncLimiter) -> None:
        request = stint.Request(100, id="call", remember=60)
        assert await limiter.all(stint.on("k", "FW 1000 @day"), tokens=request)
        for _ in range(2):
            extension = await limiter.extend("call", 1, 500)
            assert extension is not None and extension.granted == 500 and extension.limits[0].remaining == 400
        denied = await limiter.extend("call", 2, 500)
        assert denied is not None and not denied and denied.granted == 0 and denied.retry_after == 30
        with pytest.raises(stint.RefusedError, match="has the number 2, got 4"):
            await limiter.extend("call", 4, 1)
        assert await limiter.extend("nobody", 1, 1) is None
        for number, tokens in ((0, 1), (1, 0), (True, 1), (1, None)):
            with pytest.raises(stint.InvalidError):
                await limiter.extend("call", number, tokens)  # type: ignore[arg-type]
        charges = await limiter.settle("call", 250)
        assert charges is not None and charges[0].charged == 250

    Budget(scripted, 1000)
    run(scripted, work)


def test_first_slices(scripted: Scripted) -> None:
    """The first slice is the mean of what the last eight streams have delivered, from one step to sixteen."""
    budget = Budget(scripted, 10**9)

    async def work(limiter: stint.AsyncLimiter) -> None:
        with_options = limiter.with_options(timeout=PATIENT)
        for delivered in (1000, 2000, 10**6, 1):
            await take(with_options, Chunks(), delivered + 50, prompt=50)
        await take(limiter, Chunks(), None)  # it never began
        for _ in range(8):
            await take(limiter, Chunks(10))
        await take(limiter, Chunks(10))

    run(scripted, work)
    first = [int(words[3]) for words in budget.sent("RL.CHECK")]
    assert first[:5] == [306, 1050, 1550, 50 + 4096, 4096] and first[-1] == 256


def test_estimates_are_bounded() -> None:
    estimates = Estimates()
    for i in range(MAX_CALLERS + 5):
        estimates.note((b"%d" % i,), 1000)
    assert len(estimates._streams) == MAX_CALLERS and estimates.first((b"4",), 1) == 1
    assert estimates.first((b"5",), 1) == 16 and estimates.first((b"5",), 100) == 1000


def test_mistakes(scripted: Scripted) -> None:
    async def work(limiter: stint.AsyncLimiter) -> None:
        for options in ({"prompt": -1}, {"step": 0}, {"step": 1.5}, {"prompt": None}, {"remember": 0}, {"keep": "x"}):
            with pytest.raises(stint.InvalidError):
                await take(limiter, Chunks(1), **options)
        with pytest.raises(stint.InvalidError, match="tokens of a chunk"):
            await take(limiter, Chunks(-1))

    Budget(scripted, 1000)
    run(scripted, work)


def test_threads(scripted: Scripted) -> None:
    budget, chunks, passed = Budget(scripted, 1000), SyncChunks(*[30] * 100), []
    with stint.Limiter(scripted.url, CLOSED, timeout=PATIENT) as limiter:
        with pytest.raises(stint.BudgetSpentError), limiter.streaming("llm", "ann", id="s", step=200) as stream:
            for chunk in stream.wrap(chunks, size):
                passed.append(chunk)
        assert sum(passed) == 990 and chunks.is_closed and budget.charged == {b"s": 990}
        budget.size = 4000
        chunks = SyncChunks(*[30] * 100)
        with limiter.streaming("llm", "ann", id="t") as stream:
            for _ in stream.wrap(chunks, size):
                if stream.used >= 300:
                    break
        assert budget.charged[b"t"] == 300
        with pytest.raises(ConnectionError), limiter.streaming("llm", "ann", id="u") as stream:
            for _ in stream.wrap(SyncChunks(5, error=ConnectionError()), size):
                pass
        assert budget.charged[b"u"] == 5
