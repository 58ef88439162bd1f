"""Calls go to the leaders of their keys."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

import stint
from stint.breaker import Breaker
from stint.leaders import Leaders, slot_of
from stint.nodes import Nodes
from stint.wire import encode

from .conftest import ROOT
from .servers import PATIENT, Scripted, Server, reserve

GRANTED = b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:0"


@pytest.mark.parametrize("vector", json.loads((ROOT / "clients/vectors/slots.json").read_text()))
def test_slots(vector: dict[str, list[str] | int | None]) -> None:
    words = vector["words"]
    assert isinstance(words, list)
    assert slot_of(encode([*words])) == vector["slot"]


def test_a_range_without_a_node_has_no_leader() -> None:
    leaders = Leaders()
    leaders.learn([[0, 8191], [8192, 16383, [b"::1", 7]]], {"::1:7": 0}.__getitem__)
    assert [leaders.of(encode(["GET", key])) for key in ("hello", "foo")] == [-1, 0]


def test_nodes_beyond_the_255th_lead_nothing() -> None:
    nodes = Nodes([f"a:{port}" for port in range(1, 258)], False, 1, Breaker(5, 1, lambda *_: None))
    nodes.learn([[0, 8191, [b"a", 255]], [8192, 16383, [b"a", 256]]])
    hello = nodes.leader(encode(["GET", "hello"]))
    assert hello is not None
    assert hello.address == "a:255"
    assert nodes.leader(encode(["GET", "foo"])) is None
    nodes.leave(nodes._nodes[256])


def test_a_node_of_ipv6_is_one_node() -> None:
    nodes = Nodes(["[::1]:6379"], False, 1, Breaker(5, 1, lambda *_: None))
    assert nodes.redirect("MOVED 7 [::1]:6379") is nodes.current()
    assert not nodes.are_several()


def test_no_thread_to_ask_for_leaders(halves: list[Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    with stint.Limiter([node.url for node in halves], stint.fail_closed(), timeout=PATIENT) as limiter:
        monkeypatch.setattr(Nodes, "are_leaders_due", lambda nodes: False)
        assert limiter.allow("hello", "5/day")

        def cannot(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(Nodes, "are_leaders_due", lambda nodes: True)
        monkeypatch.setattr(threading.Thread, "start", cannot)
        assert limiter.allow("hello", "5/day").source is stint.Source.SERVER
        monkeypatch.undo()


@pytest.fixture
def halves() -> Iterator[list[Scripted]]:
    """Return two nodes: the first leads the lower half of the slots, the second the upper half, and they redirect."""
    nodes = [Scripted(), Scripted()]
    ports = [int(node.url.rpartition(":")[2]) for node in nodes]
    ranges = zip((0, 8192), (8191, 16383), ports, strict=True)
    shown = b"".join(b"*3\r\n:%d\r\n:%d\r\n*2\r\n+127.0.0.1\r\n:%d\r\n" % each for each in ranges)
    for own, node in enumerate(nodes):

        def reply(words: list[bytes], own: int = own) -> bytes:
            leader = (slot_of(encode([*words])) or 0) // 8192
            return GRANTED if leader == own else b"-MOVED 7 127.0.0.1:%d" % ports[leader]

        node.reply, node.slots = reply, b"*2\r\n" + shown.removesuffix(b"\r\n")
    yield nodes
    for node in nodes:
        node.close()


def until(what: Callable[[], bool]) -> None:
    """Call until it is so."""
    while not what():
        time.sleep(0.01)


@pytest.fixture(params=["threads", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[[list[str]], Callable[[], bool]]]:
    """Return a function that makes a limiter, and returns one that asks about twenty new keys.

    The latter returns whether the server decided all.
    """
    keys = (f"key:{i}" for i in itertools.count())
    with contextlib.ExitStack() as stack:

        def in_threads(urls: list[str]) -> Callable[[], bool]:
            limiter = stack.enter_context(stint.Limiter(urls, stint.fail_closed(), timeout=PATIENT))
            return lambda: all(limiter.allow(next(keys), "5/day").source is stint.Source.SERVER for _ in range(20))

        def in_loop(urls: list[str]) -> Callable[[], bool]:
            loop = asyncio.new_event_loop()
            stack.callback(loop.close)
            limiter = stint.AsyncLimiter(urls, stint.fail_closed(), timeout=PATIENT)

            async def ask() -> bool:
                results = [await limiter.allow(next(keys), "5/day") for _ in range(20)]
                return all(result.source is stint.Source.SERVER for result in results)

            stack.callback(lambda: loop.run_until_complete(limiter.close()))
            return lambda: loop.run_until_complete(ask())

        yield in_threads if request.param == "threads" else in_loop


Connect = Callable[[list[str]], Callable[[], bool]]


@pytest.mark.parametrize("given", [1, 2])
def test_calls_go_to_the_leaders(halves: list[Scripted], connect: Connect, given: int) -> None:
    ask = connect([node.url for node in halves[:given]])

    def goes_straight() -> bool:
        before = sum(len(node.commands) for node in halves)
        assert ask()
        return sum(len(node.commands) for node in halves) - before == 20

    until(goes_straight)


def test_a_single_server_is_not_asked_for_leaders(scripted: Scripted, connect: Connect) -> None:
    scripted.reply, scripted.slots = lambda words: GRANTED, b""  # which would close the connection
    ask = connect([scripted.url])
    assert ask()
    assert ask()
    assert scripted.connections == 1


@pytest.fixture
def groups(program: str, tmp_path: Path) -> Iterator[list[Server]]:
    """Return three nodes that forward, with three groups."""
    with contextlib.ExitStack() as stack:
        reserved = [stack.enter_context(reserve()) for _ in range(3)]
        peers = [f"127.0.0.1:{each.getsockname()[1]}" for each in reserved]

        nodes = []
        for i, own in enumerate(peers):
            flags = ["--node-id", f"n{i}", "--cluster-listen", own, "--cluster-peers", ",".join(peers)]
            flags += ["--bootstrap-expect", "3", "--groups", "3", "--dir", str(tmp_path / str(i))]
            nodes.append(Server(program, *flags))
            stack.callback(nodes[i].close)
        yield nodes


def test_no_node_forwards(groups: list[Server], connect: Connect) -> None:
    ask = connect([node.url for node in groups])
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(redis.Redis(port=node.port)) for node in groups]

        def each_leads() -> bool:
            try:
                ranges = clients[0].execute_command("CLUSTER SLOTS")
            except redis.exceptions.ClusterDownError:
                return False
            return len({str(each[2]) for each in ranges}) == 3

        def forwarded() -> list[int]:
            return [client.info("cluster")["forwarded"] for client in clients]

        def is_none() -> bool:
            before = forwarded()
            return ask() and forwarded() == before

        until(each_leads)
        until(is_none)
    groups[0].kill()
    until(ask)
