"""Connections for callers in threads, with a deadline for every call."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

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
from .nodes import Node, Nodes
from .wire import Decoder, ProtocolError, encode

T = TypeVar("T")

MAX_CONNECTIONS = 64
MAX_WAITING = 20_000  # callers without a connection
MAX_TOGETHER = 16  # keys whose tokens are given back at a time
FRESH = 1.0  # seconds: a connection idle for longer is looked at before use
PING = encode(["PING"])


class _Connection:
    """An open socket with no request on it, or with one."""

    def __init__(self, node: Node, patience: float) -> None:
        opened = node.connection(patience)
        opened.connect()  # redis-py connects, secures and authenticates
        self.node = node
        self.socket: socket.socket = opened._sock
        opened._sock = None  # from here on the socket is used directly: redis-py's reads have no deadline
        self.decoder = Decoder()
        self.used = time.monotonic()

    def send(self, packed: bytes, deadline: float) -> Any:
        """Send a command and return its reply. Nothing was sent if NotSentError is raised."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise NotSentError("no reply in time: not sent")
        try:
            self.socket.settimeout(left)
            self.socket.sendall(packed)
            while True:
                data = self.socket.recv(65536)
                if not data:
                    raise UnavailableError("the server closed the connection; the tokens may have been taken")
                self.decoder.feed(data)
                done, reply = self.decoder.next()
                if done:
                    return reply
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self.socket.settimeout(left)
        except TimeoutError:
            raise ReplyTimeoutError("no reply in time; the tokens may have been taken") from None
        except (OSError, ProtocolError) as error:
            raise UnavailableError(f"{error}; the tokens may have been taken") from error

    def is_alive(self, now: float) -> bool:
        """Return whether the server has not closed the connection while it was idle."""
        if now - self.used < FRESH:
            return True
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self.socket.close()


class _NoConnection(NamedTuple):
    """Why a caller has got no connection to a node."""

    node: Node
    error: StintError


class Link:
    """Sends commands to one of several nodes. Threads may share it; forked processes get their own connections."""

    def __init__(self, nodes: Nodes, breaker: Breaker, first: FirstCalls, timeout: float) -> None:
        self.breaker = breaker
        self._first = first
        self._nodes = nodes
        self._timeout = timeout  # shorter ones of single calls do not count as failures of the server
        self._closed = False
        self._start()
        _links.add(self)

    def _start(self) -> None:
        self._idle: list[_Connection] = []
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()  # without those that a signal's exception lost
        self._opening: Counter[Node] = Counter()
        self._waiting = 0
        self._waiting_for: Counter[Node] = Counter()
        self._failures: dict[Node, StintError] = {}  # of the last attempts to connect, each another object

    def after_fork(self) -> None:
        """Leave the parent's connections to it."""
        for connection in self._idle:
            connection.close()
        self.breaker.after_fork()
        self._nodes.after_fork()
        self._first.begin()
        self._start()

    def call(self, packed: bytes, timeout: float) -> Any:
        """Send a command once and return its reply, within the timeout."""
        if self._closed:
            raise ClosedError("the limiter is closed")
        if self.breaker.open:
            raise CircuitOpenError("Stint does not answer, and no requests are sent for the time being")
        deadline = time.monotonic() + self._first.within(timeout)
        in_time = timeout >= self._timeout
        try:
            reply = self._exchange(packed, deadline, in_time, self._nodes.leader(packed))
            if isinstance(reply, ServerError) and (leader := self._nodes.redirect(str(reply))):
                if leader.circuit.open:
                    raise CircuitOpenError(f"{leader.address} does not answer, and is not asked for the time being")
                reply = self._exchange(packed, deadline, in_time, leader)  # the first was not carried out
        finally:
            self._first.end()
        if self._nodes.are_leaders_due():
            with contextlib.suppress(RuntimeError):  # no thread can start: the call is decided all the same
                threading.Thread(target=self._learn, name="stint-leaders", daemon=True).start()
        if isinstance(reply, ServerError):
            raise from_reply(reply)
        return reply

    def _learn(self) -> None:
        """Ask for the leaders."""
        try:
            self._nodes.learn(self._exchange(SLOTS, time.monotonic() + self._nodes.patience, True))
        except StintError:
            self._nodes.distrust()

    def call_apart(self, packed: bytes, timeout: float) -> Any:
        """Send a command that is held on the server. Each call has a connection, which carries no other meanwhile."""
        return self.call(packed, timeout)

    def _exchange(self, packed: bytes, deadline: float, in_time: bool, leader: Node | None = None) -> Any:
        """Ask a node, by default the current one. With groups, each key has its own leader.

        in_time is whether the node has had the time to answer that it should take at most.
        """
        begun = time.monotonic()
        connection = self._take(deadline, leader)
        if isinstance(connection, _NoConnection):
            self._failed(connection.node, begun, in_time, connection.error)
            raise connection.error
        try:
            reply = connection.send(packed, deadline)
        except BaseException as error:
            self._drop(connection, lost=not isinstance(error, ReplyTimeoutError))
            self._failed(connection.node, begun, in_time, error)
            raise
        connection.node.circuit.succeeded()
        if isinstance(reply, ServerError) and class_of(str(reply)) in (ReplyClass.BUSY_NODE, ReplyClass.UNKNOWN):
            self._nodes.leave(connection.node)
        connection.used = time.monotonic()
        self._idle.append(connection)
        if self._waiting:
            with self._changed:
                self._wake()
        return reply

    def _failed(self, node: Node, begun: float, in_time: bool, error: BaseException) -> None:
        """Record that a node did not answer. If that opens its circuit, begin to probe it."""
        if not isinstance(error, UnavailableError) or (isinstance(error, ReplyTimeoutError) and not in_time):
            return
        if node.circuit.failed(begun, time.monotonic(), error):
            threading.Thread(target=self._probe, args=(node,), name="stint-probe", daemon=True).start()

    def _take(self, deadline: float, leader: Node | None) -> _Connection | _NoConnection:
        """Return an idle connection, or wait for one. Connecting is left to another thread, which may take longer."""
        while (connection := self._idle_to(leader or self._nodes.current())) is not None:
            if connection.is_alive(time.monotonic()):
                return connection
            self._drop(connection, lost=False, leave=False)
        return self._wait(deadline, leader)

    def _idle_to(self, node: Node) -> _Connection | None:
        """Take an idle connection to a node; None if there is none. Other threads may take and add some meanwhile."""
        for connection in reversed(self._idle.copy()):
            if connection.node is node:
                with contextlib.suppress(ValueError):
                    self._idle.remove(connection)
                    return connection
        return None

    def _wake(self) -> None:
        """Wake a caller that waits for a connection; all of them, if they may wait for different nodes."""
        self._changed.notify(self._waiting if self._nodes.are_several() else 1)

    def _has_room(self) -> bool:
        """Return whether another connection may be opened, in place of an idle one to another node if need be."""
        if len(self._open) + self._opening.total() >= MAX_CONNECTIONS:
            with contextlib.suppress(IndexError):
                self._close(self._idle.pop(0))
        return len(self._open) + self._opening.total() < MAX_CONNECTIONS

    def _close(self, connection: _Connection) -> None:
        connection.close()
        self._open.discard(connection)

    def _wait(self, deadline: float, leader: Node | None) -> _Connection | _NoConnection:
        """Wait for a connection to the leader, or to the node that is current meanwhile."""
        with self._changed:
            if self._waiting >= MAX_WAITING:
                raise OverloadedError("too many requests wait to be sent")
            self._waiting += 1
            try:
                while True:
                    node = leader or self._nodes.current()
                    found = self._wait_for(node, deadline, leader)
                    if found is not None:
                        return found
            finally:
                self._waiting -= 1

    def _wait_for(self, node: Node, deadline: float, leader: Node | None) -> _Connection | _NoConnection | None:
        """Wait for a connection to a node. None: another node is current now."""
        before = self._failures.get(node)
        self._waiting_for[node] += 1
        try:
            while (connection := self._idle_to(node)) is None:
                if self._closed:
                    raise ClosedError("the limiter is closed")
                failure = self._failures.get(node)
                if failure is not None and failure is not before:
                    return _NoConnection(node, failure)
                if leader is None and self._nodes.current() is not node:
                    return None
                if self._opening[node] < self._waiting_for[node] and self._has_room():
                    self._opening[node] += 1
                    threading.Thread(target=self._connect, args=(node,), name="stint-connect", daemon=True).start()
                left = deadline - time.monotonic()
                if left <= 0:
                    return _NoConnection(node, NotSentError("no reply in time: not sent"))
                self._changed.wait(left)
            return connection
        finally:
            self._waiting_for[node] -= 1

    def _connect(self, node: Node) -> None:
        changed = self._changed
        try:
            connection = _Connection(node, self._first.patience(self._nodes.patience))
        except Exception as error:
            failure = connect_failure(error)
            self._nodes.leave(node)
            with changed:
                self._opening[node] -= 1
                self._failures[node] = failure
                changed.notify_all()
            return
        with changed:
            self._opening[node] -= 1
            if self._closed:
                connection.close()
            else:
                self._open.add(connection)
                self._idle.append(connection)
            self._wake()

    def _drop(self, connection: _Connection, lost: bool, leave: bool = True) -> None:
        if leave:
            self._nodes.leave(connection.node)
        with self._changed:
            self._close(connection)
            if lost or (
                leave and self._nodes.current() is not connection.node
            ):  # its others are of no more use, either
                while (other := self._idle_to(connection.node)) is not None:
                    self._close(other)

    def _probe(self, node: Node) -> None:
        """Send PING to a node until it answers."""
        passed = 0.0
        while True:
            time.sleep(self.breaker.pause(passed))
            if self._closed:
                return
            begun = time.monotonic()
            try:
                self._exchange(PING, begun + self._nodes.patience, True, node)
            except UnavailableError:
                passed = time.monotonic() - begun
                continue
            except StintError:
                pass  # it answers, even if with an error
            node.circuit.close()
            return

    def sleep(self, seconds: float) -> None:
        """Sleep, but raise ClosedError as soon as the link is closed."""
        if self._ended.wait(seconds) or self._closed:
            raise ClosedError("the limiter was closed")

    def close(self) -> None:
        """Close the connections. Calls in other threads complete, and those that sleep raise ClosedError."""
        self._closed = True
        self._ended.set()
        with self._changed:
            idle, self._idle = self._idle, []
            for connection in idle:
                connection.close()
            self._changed.notify_all()


def connect_failure(error: Exception) -> StintError:
    """Return the error for a failure to connect. redis-py's errors have no code of the server's reply, such as ERR."""
    text = str(error)
    codes = ("", "ERR ", "NOAUTH ") if type(error).__name__ == "AuthenticationError" else ("", "ERR ")
    for code in codes:
        if class_of(code + text) is not ReplyClass.REFUSED:
            return from_reply(ServerError(code + text))
    return UnavailableError(f"{text.rstrip('.') or type(error).__name__}; not sent")


def to_the_end(done: T, undo: Callable[[T], object] | None = None) -> T:
    """Return a result: calls of threads are not cancelled."""
    return done


def runner() -> object:
    """Return what runs background work here: threads."""
    return threading


def start(work: Callable[[T], None], argument: T) -> threading.Thread:
    """Run background work."""
    thread = threading.Thread(target=work, args=(argument,), name="stint background", daemon=True)
    thread.start()
    return thread


def together(work: Callable[[T], object], arguments: Iterable[T]) -> None:
    """Run work for each argument, in up to MAX_TOGETHER threads: one that waits holds up no others."""
    left = deque(arguments)

    def run(_: None) -> None:
        while True:
            try:
                argument = left.popleft()
            except IndexError:
                return
            work(argument)

    threads = [start(run, None) for _ in range(min(len(left), MAX_TOGETHER) - 1)]
    run(None)
    for thread in threads:
        thread.join()


_links: weakref.WeakSet[Link] = weakref.WeakSet()


def _after_fork() -> None:
    for link in list(_links):
        link.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
