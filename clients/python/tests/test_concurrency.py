"""Many callers at once, forks, several event loops, cancellation."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

import stint
from stint.link import MAX_CONNECTIONS, PING, _Connection

from .servers import GRANTED, PATIENT, Scripted, Server, cancel_before_reply, fork

NAME = "concurrency"


def test_asyncio_10000_calls(shared_server: Server) -> None:
    async def main() -> list[stint.Result]:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limit = stint.window(7000, "1h")
            return await asyncio.gather(*(limiter.allow(f"{NAME}:10000", limit) for _ in range(10_000)))

    results = asyncio.run(main())
    assert all(result.source is stint.Source.SERVER for result in results)
    assert sum(result.granted for result in results) == 7000


def test_threads_share_a_limiter(shared_server: Server) -> None:
    granted = []
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:

        def work() -> None:
            for _ in range(50):
                granted.append(limiter.allow(f"{NAME}:threads", stint.window(1000, "1h")).granted)

        threads = [threading.Thread(target=work) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(granted) == 5000
    assert sum(granted) == 1000


def test_forked_processes(shared_server: Server) -> None:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        limit = stint.window(100, "1h")
        assert limiter.allow(f"{NAME}:fork", limit)
        children = []
        for _ in range(4):
            child = fork()
            if child == 0:
                answers = [limiter.allow(f"{NAME}:fork", limit) for _ in range(10)]
                os._exit(0 if all(answer.source is stint.Source.SERVER for answer in answers) else 1)
            children.append(child)
        own = [limiter.allow(f"{NAME}:fork", limit) for _ in range(10)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
        assert all(answer.source is stint.Source.SERVER for answer in own)
        assert limiter.peek(f"{NAME}:fork", limit).remaining == 100 - 51 - 1  # peek answers as if it took one


def test_fork_within_an_event_loop(shared_server: Server) -> None:
    limit = stint.window(100, "1h")

    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            assert await limiter.allow(f"{NAME}:fork-async", limit)
            child = fork()
            if child == 0:
                os._exit(_in_child(limiter, limit))
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert status == 0
            result = await limiter.allow(f"{NAME}:fork-async", limit)
            assert result.source is stint.Source.SERVER
            assert result.remaining == 97

    asyncio.run(main())


def _in_child(limiter: stint.AsyncLimiter, limit: stint.Limit) -> int:
    asyncio.events._set_running_loop(None)
    answer = asyncio.new_event_loop().run_until_complete(limiter.allow(f"{NAME}:fork-async", limit))
    return 0 if answer.source is stint.Source.SERVER else 1


def test_one_event_loop_after_another(shared_server: Server) -> None:
    limiter = stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT)
    for left in (9, 8, 7):
        result = asyncio.run(limiter.allow(f"{NAME}:loops", stint.window(10, "1h")))
        assert (result.source, result.remaining) == (stint.Source.SERVER, left)


def test_cancellation_takes_one_token_and_leaves_the_connection_usable(scripted: Scripted) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(words: list[bytes]) -> bytes:
        if words[1] == b"cancelled":
            asked.set()
            go_on.wait(60)
            return b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:1"
        return b"*5\r\n:1\r\n:7\r\n:6\r\n:0\r\n:1"

    scripted.reply = reply

    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            task = asyncio.create_task(limiter.allow("cancelled", "5/s"))
            assert await asyncio.to_thread(asked.wait, 60)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            other = asyncio.create_task(limiter.allow("other", "7/s"))
            await asyncio.sleep(0)
            go_on.set()
            assert (await other).limit == 7  # not the reply to the call that was cancelled

    asyncio.run(main())
    assert [words[1] for words in scripted.commands] == [b"cancelled", b"other"]


def test_a_call_cancelled_before_it_is_sent_is_never_sent(scripted: Scripted) -> None:
    scripted.reply = lambda words: b"*5\r\n:1\r\n:7\r\n:6\r\n:0\r\n:1"

    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            task = asyncio.create_task(limiter.allow("never", "5/s"))
            await asyncio.sleep(0)
            task.cancel()
            assert await limiter.allow("other", "7/s")

    asyncio.run(main())
    assert [words[1] for words in scripted.commands] == [b"other"]


def test_a_cancelled_reader_is_replaced(shared_server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            for left in (8, 7, 6):
                cancel = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
                for task in cancel:
                    task.cancel()
                await asyncio.gather(*cancel, return_exceptions=True)
                result = await limiter.allow(f"{NAME}:reader", stint.window(9, "1h"))
                assert (result.source, result.remaining) == (stint.Source.SERVER, left)

    asyncio.run(main())


@pytest.mark.parametrize(
    "reply", [b"-WRONGPASS invalid username-password pair or user is disabled.", b"-ERR too many failed logins"]
)
def test_a_login_that_fails(scripted: Scripted, reply: bytes, caplog: pytest.LogCaptureFixture) -> None:
    scripted.reply = lambda words: reply
    url = scripted.url.replace("redis://", "redis://user:wrong@")
    with stint.Limiter(url, stint.fail_open(), timeout=PATIENT) as limiter:
        result = limiter.allow("k", "1/s")

    async def main() -> stint.Result:
        async with stint.AsyncLimiter(url, stint.fail_open(), timeout=PATIENT) as limiter:
            return await limiter.allow("k", "1/s")

    for answer in (result, asyncio.run(main())):
        assert answer.allowed and isinstance(answer.cause, stint.UnauthenticatedError), answer
    assert {words[0] for words in scripted.commands} == {b"AUTH"}
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
def test_an_outage_is_logged(server: Server, is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="stint")

    def logged() -> list[tuple[str, str]]:
        of_stint = [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "stint"]
        return [each for each in of_stint if not each[1].startswith("Stint did not decide a request")]  # once a process

    async def with_asyncio() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_open(), timeout=PATIENT) as limiter:
            while not limiter.is_open:
                assert await limiter.allow(f"{NAME}:logged", "1000/s")
            server.start()
            while len(logged()) < 2:
                await asyncio.sleep(0.01)

    def with_threads() -> None:
        with stint.Limiter(server.url, stint.fail_open(), timeout=PATIENT) as limiter:
            while not limiter.is_open:
                assert limiter.allow(f"{NAME}:logged", "1000/s")
            server.start()
            while len(logged()) < 2:  # the breaker closes before it says so
                time.sleep(0.01)

    server.kill()
    asyncio.run(with_asyncio()) if is_async else with_threads()
    (opened, cause), closed = logged()
    assert opened == "WARNING"
    assert cause.startswith("Stint does not answer, so the fallback decides: ")
    assert f"connecting to 127.0.0.1:{server.port}" in cause
    assert closed == ("INFO", "Stint answers again")


def test_a_lost_reply_is_not_repeated_without_an_id(scripted: Scripted) -> None:
    with stint.Limiter(scripted.url, stint.fail_open(), timeout=PATIENT) as limiter:
        scripted.reply = lambda words: b""
        result = limiter.allow("k", "5/s")
        assert result.allowed and isinstance(result.cause, stint.UnavailableError)
        assert len(scripted.commands) == 1


def test_a_request_with_an_id_is_repeated(scripted: Scripted) -> None:
    replies = [b"", b"-UNCERTAIN the leader was lost", b"-CLUSTERDOWN no leader", b"*4\r\n:1\r\n:-1\r\n:0\r\n*0"]
    scripted.reply = lambda words: replies[len(scripted.commands) - 1]
    request = stint.Request(3, id="call:1", remember=60)
    with stint.Limiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.all(stint.on("k", "5/s"), tokens=request)
    assert len(scripted.commands) == 4
    assert all(words == scripted.commands[0] for words in scripted.commands)


def test_moved_is_followed(scripted: Scripted, shared_server: Server) -> None:
    scripted.reply = lambda words: f"-MOVED 7 127.0.0.1:{shared_server.port}".encode()
    with stint.Limiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.allow(f"{NAME}:moved", "5/day").source is stint.Source.SERVER
        assert len(scripted.commands) == 1

    async def main() -> stint.Result:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            return await limiter.allow(f"{NAME}:moved", "5/day")

    assert asyncio.run(main()).remaining == 3


@pytest.fixture
def leaders() -> Iterator[list[Scripted]]:
    """Two nodes: one leads the keys "0" and the other the keys "1", as groups of a cluster do."""
    nodes = [Scripted(), Scripted()]
    for own, node in enumerate(nodes):

        def reply(words: list[bytes], own: int = own) -> bytes:
            leader = int(words[1])
            moved = f"-MOVED 7 {nodes[leader].url.removeprefix('redis://')}"
            return b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0" if leader == own else moved.encode()

        node.reply = reply
    yield nodes
    for node in nodes:
        node.close()


def test_threads_reach_each_of_several_leaders(leaders: list[Scripted]) -> None:
    limiter = stint.Limiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT)
    with limiter, ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda i: limiter.allow(str(i % 2), "5/s"), range(200)))
    assert [result.cause for result in results if not result] == []
    assert all(node.connections <= 16 for node in leaders)


@pytest.fixture
def dead_leader(leaders: list[Scripted], server: Server) -> list[Scripted]:
    """Two nodes, of which that with the keys "1" is gone."""
    server.kill()
    moved, alive = f"-MOVED 7 127.0.0.1:{server.port}".encode(), b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0"
    leaders[0].reply = lambda words: alive if words[1] == b"0" else moved
    return leaders


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
def test_a_dead_leader_does_not_open_the_circuit_of_another(dead_leader: list[Scripted], is_async: bool) -> None:
    url = dead_leader[0].url

    def with_threads() -> list[stint.Result]:
        with stint.Limiter(url, stint.fail_closed(), timeout=PATIENT, cool_down=60) as limiter:
            results = [limiter.allow("1", "5/s") for _ in range(8)]
            return [*results, limiter.allow("0", "5/s")]

    async def with_asyncio() -> list[stint.Result]:
        async with stint.AsyncLimiter(url, stint.fail_closed(), timeout=PATIENT, cool_down=60) as limiter:
            results = [await limiter.allow("1", "5/s") for _ in range(8)]
            return [*results, await limiter.allow("0", "5/s")]

    *dead, alive = asyncio.run(with_asyncio()) if is_async else with_threads()
    assert [type(result.cause) for result in dead] == [stint.UnavailableError] * 5 + [stint.CircuitOpenError] * 3
    assert alive.source is stint.Source.SERVER, alive


def test_probes_of_a_dead_node_leave_calls_of_another_alone(
    dead_leader: list[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, probed = threading.Event(), threading.Event()

    def reply(words: list[bytes]) -> bytes:
        asked.set()
        probed.wait(60)
        return b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0"

    async def main() -> stint.Result:
        dead_leader[0].reply = reply
        limiter = stint.AsyncLimiter(dead_leader[0].url, stint.fail_closed(), timeout=PATIENT, failures=1, cool_down=0)
        exchange, probes = limiter._link._exchange, 0

        async def count(loop: Any, packed: bytes, *more: Any) -> Any:
            nonlocal probes
            probes += packed == PING
            if probes == 2:  # the first has failed
                probed.set()
            return await exchange(loop, packed, *more)

        async with limiter:
            call = asyncio.create_task(limiter.allow("0", "5/s"))
            assert await asyncio.to_thread(asked.wait, 60)
            dead = limiter._link._nodes.redirect(f"MOVED 7 {dead_address}")
            assert dead is not None
            dead.circuit.failed(0.0, 1.0, stint.UnavailableError("x"))
            monkeypatch.setattr(limiter._link, "_exchange", count)
            probe = asyncio.create_task(limiter._link._probe(dead, 0.0))
            result = await call
            probe.cancel()
            return result

    dead_address = dead_leader[0].reply([b"", b"1"]).decode().split()[-1]
    assert asyncio.run(main()).source is stint.Source.SERVER


def test_a_connection_that_hangs_leaves_room_for_those_to_another_node(leaders: list[Scripted]) -> None:
    both = threading.Barrier(2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        moved = f"-MOVED 7 127.0.0.1:{silent.getsockname()[1]}".encode()

        def reply(words: list[bytes]) -> bytes:
            if words[1] == b"1":
                return moved
            if words[1] == b"both":
                both.wait(60)
            return b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0"

        leaders[0].reply = reply
        limiter = stint.Limiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT)
        with limiter, ThreadPoolExecutor(2) as threads:
            assert limiter.allow("0", "5/s")
            assert not limiter.with_options(timeout=0.05).allow("1", "5/s")  # its connection is still being opened
            limiter._link._nodes.leave(limiter._link._nodes.current())
            results = list(threads.map(lambda key: limiter.allow(key, "5/s"), ["both", "both"]))
        assert [result.cause for result in results] == [None, None]


def test_a_node_that_refuses_connections_fails_its_own_callers_only(
    leaders: list[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    connects, go_on = threading.Event(), threading.Event()

    def connection(node: Any, patience: float) -> Any:
        if node is dead:
            raise ConnectionRefusedError
        connects.set()
        go_on.wait(60)
        return _Connection(node, patience)

    monkeypatch.setattr("stint.link._Connection", connection)
    limiter = stint.Limiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT)
    with limiter, ThreadPoolExecutor(1) as threads:
        link = limiter._link
        dead = link._nodes.redirect("MOVED 7 127.0.0.1:1")
        assert dead is not None
        link._nodes.leave(dead)
        call = threads.submit(limiter.allow, "0", "5/s")
        assert connects.wait(60)
        with pytest.raises(stint.UnavailableError):
            link._exchange(b"", time.monotonic() + PATIENT, True, dead)
        go_on.set()
        assert call.result().cause is None


def test_idle_connections_to_one_leader_leave_room_for_another(leaders: list[Scripted]) -> None:
    with stint.Limiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT) as limiter:
        link = limiter._link
        link._idle = [_Connection(link._nodes.current(), PATIENT) for _ in range(MAX_CONNECTIONS)]
        link._open.update(link._idle)
        assert limiter.allow("1", "5/s")
        assert len(link._open) == MAX_CONNECTIONS


def test_connections_lost_to_exceptions_of_signals_leave_room_for_others(shared_server: Server) -> None:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        for _ in range(2 * MAX_CONNECTIONS):
            limiter._link._take(time.monotonic() + PATIENT, None)  # an exception comes before it is kept
        assert limiter.allow(f"{NAME}:signals", "5/day").source is stint.Source.SERVER


def test_tasks_reach_each_of_several_leaders(leaders: list[Scripted]) -> None:
    async def main() -> list[stint.Result]:
        async with stint.AsyncLimiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT) as limiter:
            results = [await limiter.allow(str(i % 2), "5/s") for i in range(20)]
            return results + await asyncio.gather(*(limiter.allow(str(i % 2), "5/s") for i in range(100)))

    assert [result.cause for result in asyncio.run(main()) if not result] == []
    assert [node.connections for node in leaders] == [1, 1]


def test_many_replies_of_a_node_that_cannot_serve_leave_it_once(scripted: Scripted, shared_server: Server) -> None:
    scripted.reply = lambda words: b"-CLUSTERDOWN no leader"

    async def main() -> stint.Result:
        both = [scripted.url, shared_server.url]
        async with stint.AsyncLimiter(both, stint.fail_closed(), timeout=PATIENT) as limiter:
            await asyncio.gather(*(limiter.allow(f"{NAME}:once", "5/day") for _ in range(2)))
            return await limiter.allow(f"{NAME}:once", "5/day")

    assert asyncio.run(main()).source is stint.Source.SERVER


def test_wait_ends_when_the_token_is_there(shared_server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            for _ in range(3):
                assert await limiter.wait(f"{NAME}:wait", stint.per(1, 0.05).burst(1))

    asyncio.run(main())


def test_tokens_go_back_from_a_scope_of_anyio_which_cancels_every_await(shared_server: Server) -> None:
    day, hour = stint.window(10, "1d"), stint.per(1, 3600).burst(1)

    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            request = stint.Request(6, id=f"{NAME}:scope", remember=60)
            with anyio.CancelScope() as scope:
                async with limiter.reserving([stint.on(f"{NAME}:scope-block", day)], request=request) as reserved:
                    assert reserved.allowed
                    scope.cancel()
                    await anyio.sleep_forever()
            assert await limiter.allow(f"{NAME}:scope-block", day, 10)

            key = f"{NAME}:scope-wait"
            await limiter.wait(key, hour)
            async with anyio.create_task_group() as group:
                group.start_soon(limiter.wait, key, hour)
                while (await limiter.peek(key, hour)).retry_after < 3601:  # the second token is taken
                    await asyncio.sleep(0.005)
                group.cancel_scope.cancel()
            assert (await limiter.peek(key, hour)).retry_after < 3601

            key, places, one = f"{NAME}:scope-finally", f"{NAME}:scope-places", stint.concurrency(1, "1h", "holder")
            await limiter.all(stint.on(key, day), tokens=stint.Request(3, id=f"{NAME}:canceled", remember=60))
            await limiter.all(stint.on(key, day), tokens=stint.Request(2, id=f"{NAME}:settled", remember=60))
            await limiter.allow(key, day, 4)
            assert await limiter.allow(places, one)
            for give_back in (
                lambda: limiter.cancel(f"{NAME}:canceled"),
                lambda: limiter.settle(f"{NAME}:settled", 1),
                lambda: limiter.refund(key, 4),
                lambda: limiter.release(places, "holder"),
            ):
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await give_back()
            assert await limiter.allow(key, day, 9)
            assert await limiter.allow(places, stint.concurrency(1, "1h", "another"))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("limit", "given_back"),
    [
        ("1/day", [b"RL.REFUND", b"k", b"2"]),
        ("FW 5 1d", [b"RL.REFUND", b"k", b"2"]),
        (stint.concurrency(1, "1h", "job"), [b"CC.RELEASE", b"k", b"job"]),
    ],
    ids=["bucket", "window", "places"],
)
def test_a_wait_cancelled_before_its_reply_gives_back(
    scripted: Scripted, limit: stint.Limit | str, given_back: list[bytes]
) -> None:
    places = isinstance(limit, stint.Limit)
    granted = b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0" if places else b"*5\r\n:2\r\n:5\r\n:3\r\n:0\r\n:0"

    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            waiting = limiter.wait("k", limit, 1 if places else 2)
            await cancel_before_reply(scripted, waiting, granted, {b"RL.REFUND": b":5", b"CC.RELEASE": b":1"})

    asyncio.run(main())
    assert scripted.commands[1:] == [given_back]


@pytest.mark.parametrize("what", ["a policy", [stint.on("k", "5/s")]], ids=["policy", "limits"])
def test_a_reservation_cancelled_before_its_reply_is_given_back(
    scripted: Scripted, what: str | list[stint.Keyed]
) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:

            async def block() -> None:
                async with limiter.reserving(what, "user", request=stint.Request(3, id="call:1", remember=60)):
                    raise AssertionError("the block has begun")

            await cancel_before_reply(scripted, block(), GRANTED, {b"RL.CANCEL": b"*0"})

    asyncio.run(main())
    assert [words[0] for words in scripted.commands][1:] == [b"RL.CANCEL"]
    assert scripted.commands[1][1] == b"call:1"


def test_a_wait_leaves_the_event_loop_free_and_gives_its_tokens_back_when_cancelled(shared_server: Server) -> None:
    async def main() -> None:
        limit = stint.per(1, 3600).burst(1)
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            key = f"{NAME}:cancelled-wait"
            await limiter.wait(key, limit)
            waiter = asyncio.create_task(limiter.wait(key, limit))
            while (await limiter.peek(key, limit)).retry_after < 3601:  # the second token is taken
                await asyncio.sleep(0.005)
            assert not waiter.done()
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
            assert (await limiter.peek(key, limit)).retry_after < 3601

    asyncio.run(main())


def test_waiting_that_does_not_help(shared_server: Server) -> None:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        limit = stint.per(1, 600).burst(1)
        assert limiter.wait(f"{NAME}:no-wait", limit)
        with pytest.raises(stint.WouldExceedDeadlineError):
            limiter.wait(f"{NAME}:no-wait", limit, max_wait=1)
        with pytest.raises(stint.DeniedError):
            limiter.wait(f"{NAME}:no-wait-window", stint.window(1, "1h"), 2)


def test_a_redirected_call_does_not_connect_after_close(
    leaders: list[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> stint.Result:
        limiter = stint.AsyncLimiter(leaders[0].url, stint.fail_closed(), timeout=PATIENT)
        exchange = limiter._link._exchange

        async def then_close(*asked: Any) -> Any:
            reply = await exchange(*asked)
            await limiter.close()
            return reply

        monkeypatch.setattr(limiter._link, "_exchange", then_close)
        result = await limiter.allow("1", "5/s")
        assert len(asyncio.all_tasks()) == 1
        return result

    assert isinstance(asyncio.run(main()).cause, stint.ClosedError)
    assert leaders[1].connections == 0


@pytest.mark.parametrize("limit", ["1/day", "LQ 5 1/day", "FW 1 1d"])
def test_close_ends_waits(shared_server: Server, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[BaseException] = []
    waits = threading.Event()

    def wait(limiter: stint.Limiter) -> None:
        try:
            limiter.wait(f"closed:{limit}", limit)
        except stint.StintError as error:
            ended.append(error)

    limiter = stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT)
    limiter.reset(f"closed:{limit}")
    limiter.wait(f"closed:{limit}", limit)
    sleep = limiter._sleep

    def observed(seconds: float) -> None:
        waits.set()
        sleep(seconds)

    monkeypatch.setattr(limiter, "_sleep", observed)
    thread = threading.Thread(target=wait, args=(limiter,), daemon=True)
    thread.start()
    assert waits.wait(60)
    limiter.close()
    thread.join(60)
    assert [type(error) for error in ended] == [stint.ClosedError]

    async def main() -> None:
        limiter = stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT)
        waits, sleep = asyncio.Event(), limiter._sleep

        async def observed(seconds: float) -> None:
            waits.set()
            await sleep(seconds)

        monkeypatch.setattr(limiter, "_sleep", observed)
        waiting = asyncio.create_task(limiter.wait(f"closed:{limit}", limit))
        await asyncio.wait_for(waits.wait(), 60)
        await limiter.close()
        with pytest.raises(stint.ClosedError):
            await asyncio.wait_for(waiting, 60)

    asyncio.run(main())
