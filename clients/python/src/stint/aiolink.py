"""Connections for the tasks of an event loop, with a deadline for every call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from .breaker import Breaker
from .errors import (
    CircuitOpenError,
    ClosedError,
    NotSentError,
    OverloadedError,
    ReplyClass,
    ReplyTimeoutError,
    ServerError,
    StintError,
    UnavailableError,
    class_of,
    from_reply,
)
from .first import FirstCalls
from .leaders import SLOTS
from .link import MAX_TOGETHER, PING, connect_failure
from .nodes import Node, Nodes
from .wire import Decoder

T = TypeVar("T")

MAX_QUEUED = 20_000  # commands without a reply
MAX_UNWRITTEN = 1 << 20  # bytes that the system has not taken yet; beyond it commands wait here


class _Call:
    """A command of one caller, queued or in flight."""

    __slots__ = ("begun", "future", "leader", "line", "packed", "sent")

    def __init__(self, packed: bytes, future: asyncio.Future[Any], line: _Line, leader: Node | None) -> None:
        self.packed = packed
        self.future = future
        self.line = line
        self.leader = leader  # the only node to ask, if it is not None
        self.begun = time.monotonic()
        self.sent = False

    def fail(self, error: StintError) -> None:
        if not self.future.done() and not self.future.get_loop().is_closed():
            self.future.set_exception(error)


class _Stream:
    """An open connection. Commands that are sent together go out in one write; replies come in the same order."""

    def __init__(self, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.node = node
        self.in_flight: deque[_Call] = deque()
        self._reader = reader
        self._writer = writer

    def write(self, queued: deque[_Call]) -> None:
        """Send the queued commands whose callers have not left."""
        if not self.has_room():
            return
        parts = []
        for call in queued:
            if not call.future.done():
                call.sent = True
                self.in_flight.append(call)
                parts.append(call.packed)
        queued.clear()
        self._writer.write(b"".join(parts))

    def has_room(self) -> bool:
        return self._writer.transport.get_write_buffer_size() < MAX_UNWRITTEN

    async def replies(self, read_some: Callable[[], None]) -> None:
        """Hand replies to their callers until the connection ends. read_some is called after every read."""
        decoder = Decoder()
        while data := await self._reader.read(1 << 16):
            decoder.feed(data)
            while self.in_flight:
                done, reply = decoder.next()
                if not done:
                    break
                call = self.in_flight.popleft()
                if not call.future.done():
                    call.future.set_result(reply)
            read_some()
        raise ConnectionError("the server closed the connection")

    def abort(self) -> None:
        """Close the connection at once. The loop may be closed already."""
        with contextlib.suppress(RuntimeError):
            self._writer.transport.abort()


class _Line:
    """A node's connection, and the commands that are to be sent over it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.queued: deque[_Call] = deque()
        self.stream: _Stream | None = None
        self.runner: asyncio.Task[None] | None = None
        self.flushing = False

    def flush(self) -> None:
        """Send the queued commands, once there is a connection."""
        self.flushing = False
        if self.stream is not None and self.queued:
            self.stream.write(self.queued)

    def without_reply(self) -> int:
        """Return the number of commands that are queued or in flight."""
        return len(self.queued) + (len(self.stream.in_flight) if self.stream else 0)


class AsyncLink:
    """Sends commands to nodes, over one connection to each. It may be used in one event loop after another."""

    def __init__(self, nodes: Nodes, breaker: Breaker, first: FirstCalls, timeout: float) -> None:
        self.breaker = breaker
        self._first = first
        self._nodes = nodes
        self._timeout = timeout
        self._is_apart = False  # for one call: it ends before it could learn the leaders
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sleepers: set[asyncio.Future[None]] = set()
        self._forget()
        _links.add(self)

    def _forget(self) -> None:
        self._first.begin()
        self._lines: dict[Node, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def after_fork(self) -> None:
        """Leave the parent's connection to it. Closing it here would take it out of the parent's event loop."""
        _inherited.append((self._lines, self._tasks))
        self.breaker.after_fork()
        self._nodes.after_fork()
        self._sleepers = set()
        self._forget()
        self._loop = None

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to work in another event loop. What belongs to the one before cannot be used any more."""
        self._abort()
        self._forget()
        self._loop = loop
        for node in self._nodes.not_asked():  # their probes belonged to the other loop
            self._spawn(self._probe(node, 0.0))

    async def call(self, packed: bytes, timeout: float) -> Any:
        """Send a command once and return its reply, within the timeout."""
        if self._closed:
            raise ClosedError("the limiter is closed")
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._enter(loop)
        if self.breaker.open:
            raise CircuitOpenError("Stint does not answer, and no requests are sent for the time being")
        begun = time.monotonic()
        within, in_time = self._first.within(timeout), timeout >= self._timeout
        try:
            reply = await self._exchange(loop, packed, within, in_time, self._nodes.leader(packed))
            if isinstance(reply, ServerError) and (leader := self._nodes.redirect(str(reply))):
                if leader.circuit.open:
                    raise CircuitOpenError(f"{leader.address} does not answer, and is not asked for the time being")
                reply = await self._exchange(loop, packed, begun + within - time.monotonic(), in_time, leader)
        finally:
            self._first.end()
        if not self._is_apart and self._nodes.are_leaders_due():
            self._spawn(self._learn(loop))
        if isinstance(reply, ServerError):
            raise from_reply(reply)
        return reply

    async def _learn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask for the leaders."""
        try:
            self._nodes.learn(await self._exchange(loop, SLOTS, self._nodes.patience, True))
        except StintError:
            self._nodes.distrust()

    async def call_apart(self, packed: bytes, timeout: float) -> Any:
        """Send a command that is held on the server, on a connection on which no other command waits for its reply."""
        apart = AsyncLink(self._nodes, self.breaker, FirstCalls(timeout), self._timeout)
        apart._is_apart = True
        try:
            return await apart.call(packed, timeout)
        finally:
            await apart.close()

    async def _exchange(
        self,
        loop: asyncio.AbstractEventLoop,
        packed: bytes,
        timeout: float,
        in_time: bool,
        leader: Node | None = None,
    ) -> Any:
        """Ask a node, by default the current one. With groups, each key has its own leader.

        in_time is whether the node has had the time to answer that it should take at most.
        """
        if self._closed:  # while the call waited for another reply: nobody would end its connection
            raise ClosedError("the limiter was closed")
        if sum(line.without_reply() for line in self._lines.values()) >= MAX_QUEUED:
            raise OverloadedError("too many requests wait to be sent")
        line = self._line(leader or self._nodes.current())
        call = _Call(packed, loop.create_future(), line, leader)
        line.queued.append(call)
        self._start(loop, line)
        overdue = loop.call_later(timeout, self._expire, call)
        try:
            reply = await call.future
        except UnavailableError as error:
            self._failed(call, in_time, error)
            raise
        finally:
            overdue.cancel()
        node = call.line.node
        node.circuit.succeeded()
        if isinstance(reply, ServerError) and class_of(str(reply)) in (ReplyClass.BUSY_NODE, ReplyClass.UNKNOWN):
            self._nodes.leave(node)
        return reply

    def _failed(self, call: _Call, in_time: bool, error: UnavailableError) -> None:
        """Record that a node did not answer. If that opens its circuit, begin to probe it."""
        node = call.line.node
        if isinstance(error, ReplyTimeoutError) and not in_time:
            return
        if node.circuit.failed(call.begun, time.monotonic(), error) and not self._closed:
            self._spawn(self._probe(node, self.breaker.pause()))

    def _line(self, node: Node) -> _Line:
        line = self._lines.get(node)
        if line is None:
            line = self._lines[node] = _Line(node)
        return line

    def _start(self, loop: asyncio.AbstractEventLoop, line: _Line) -> None:
        """Have the queued commands sent, those of one turn of the loop together."""
        if line.stream is None:
            if line.runner is None:
                line.runner = self._spawn(self._run(line))
        elif not line.flushing:
            line.flushing = True
            loop.call_soon(line.flush)

    def _expire(self, call: _Call) -> None:
        if call.future.done():
            return
        line = call.line
        if not call.sent:
            call.fail(NotSentError("no reply in time: not sent"))
            while line.queued and line.queued[0].future.done():
                line.queued.popleft()
            return
        call.fail(ReplyTimeoutError("no reply in time; the tokens may have been taken"))
        stream = line.stream
        if stream is not None and stream.in_flight:
            self._leave(line)
            if time.monotonic() - stream.in_flight[0].begun > self._nodes.patience:
                stream.abort()

    def _leave(self, line: _Line) -> None:
        """Go on to the next node, if there are several. The connection completes its commands, within the patience."""
        self._nodes.leave(line.node)
        if self._nodes.current() is not line.node and self._lines.get(line.node) is line:
            del self._lines[line.node]
            if self._loop is not None and line.stream is not None:
                self._loop.call_later(self._nodes.patience, line.stream.abort)
            self._hand_over(line)

    def _hand_over(self, line: _Line) -> None:
        """Send the calls left on a connection to the current node, or to their leader by another connection."""
        queued, line.queued = line.queued, deque()
        if self._closed:
            return
        for call in queued:
            call.line = self._line(call.leader or self._nodes.current())
            call.line.queued.append(call)
            self._start(asyncio.get_running_loop(), call.line)

    def _abort(self) -> None:
        """Close all connections at once."""
        for line in self._lines.values():
            if line.stream is not None:
                line.stream.abort()

    async def _run(self, line: _Line) -> None:
        """Connect and hand out replies, until the connection ends."""
        me = asyncio.current_task()
        try:
            stream = await self._connect(line)
            if stream is not None:
                await self._read(line, stream)
        finally:  # also when something outside cancels this task: the next call starts another
            if line.runner is me:
                line.runner = None
        self._hand_over(line)

    async def _connect(self, line: _Line) -> _Stream | None:
        """Return an open connection, or fail the queued calls."""
        opened = line.node.connection(self._first.patience(self._nodes.patience))
        try:
            await opened.connect()  # redis-py connects, secures and authenticates
        except Exception as error:
            self._nodes.leave(line.node)
            failure = connect_failure(error)
            queued, line.queued = line.queued, deque()
            for call in queued:
                call.fail(failure)
            return None
        stream = _Stream(line.node, opened._reader, opened._writer)
        opened._reader = opened._writer = None  # redis-py is not to read or close them
        return stream

    async def _read(self, line: _Line, stream: _Stream) -> None:
        """Hand out replies, until the connection ends."""
        line.stream = stream
        lost: StintError = UnavailableError("the connection was given up; the tokens may have been taken")
        try:
            line.flush()
            await stream.replies(line.flush)
        except Exception as error:  # of the network, or bytes that are no reply
            lost = UnavailableError(f"{error}; the tokens may have been taken")
            self._nodes.leave(stream.node)
        finally:
            stream.abort()
            line.stream = None
            if not self._closed:
                for call in stream.in_flight:
                    call.fail(lost)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task, and keep it until its end: the event loop itself does not."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _probe(self, node: Node, pause: float) -> None:
        """Send PING to a node until it answers."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(pause)
            if self._closed:
                return
            begun = time.monotonic()
            try:
                await self._exchange(loop, PING, self._nodes.patience, True, node)
            except UnavailableError:
                if node in self._lines and (stream := self._lines[node].stream) is not None:
                    stream.abort()
                pause = self.breaker.pause(time.monotonic() - begun)
                continue
            except StintError:
                pass  # it answers, even if with an error
            node.circuit.close()
            return

    async def sleep(self, seconds: float) -> None:
        """Sleep, but raise ClosedError as soon as the link is closed."""
        if self._closed:
            raise ClosedError("the limiter was closed")
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, lambda: None if over.done() else over.set_result(None))
        self._sleepers.add(over)
        try:
            await over
        finally:
            timer.cancel()
            self._sleepers.discard(over)

    async def close(self) -> None:
        """Close the connection. Calls in other tasks fail, also those that sleep."""
        self._closed = True
        for over in self._sleepers:
            if not over.done() and over.get_loop() is asyncio.get_running_loop():
                over.set_exception(ClosedError("the limiter was closed"))
        tasks = list(self._tasks)
        if self._loop is not asyncio.get_running_loop():
            return
        for line in self._lines.values():
            for call in (*line.queued, *(line.stream.in_flight if line.stream else ())):
                call.fail(ClosedError("the limiter was closed"))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def to_the_end(work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, object]] | None = None) -> T:
    """Await a request about tokens, also while the task is cancelled, which anyio does anew at each await.

    undo gives back its tokens, if the task was cancelled: nobody is left to use them.
    """
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        failed = task.exception()  # nobody is left to be told of it
        if failed is None and undo is not None:
            with contextlib.suppress(StintError):
                await to_the_end(undo(task.result()))
        raise cancelled
    return task.result()


def runner() -> object:
    """Return what runs background work here: the event loop."""
    return asyncio.get_running_loop()


def start(work: Callable[[T], Coroutine[Any, Any, None]], argument: T) -> object:
    """Run background work. The caller keeps what is returned, because the loop alone would not."""
    return asyncio.get_running_loop().create_task(work(argument))


async def together(work: Callable[[T], Coroutine[Any, Any, object]], arguments: Iterable[T]) -> None:
    """Run work for each argument, for up to MAX_TOGETHER at a time: one that waits holds up no others."""
    left = deque(arguments)

    async def run() -> None:
        while left:
            await work(left.popleft())

    await asyncio.gather(*(run() for _ in range(min(len(left), MAX_TOGETHER))))


_links: weakref.WeakSet[AsyncLink] = weakref.WeakSet()
_inherited: list[object] = []  # of the parent: kept, so that nothing closes it


def _after_fork() -> None:
    for link in list(_links):
        link.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
