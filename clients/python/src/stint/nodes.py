"""The servers that a limiter may ask, and the connections of redis-py to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from .breaker import Breaker
from .errors import InvalidError
from .leaders import MAX_PLACES, Leaders

MAX_NODES = 32  # addresses, with those that redirections add
MIN_PATIENCE = 0.2  # seconds

Where = str | Iterable[str] | redis.Redis | redis.asyncio.Redis


def patience_of(timeout: float) -> float:
    """Return the seconds for an attempt to connect, also after its callers have left: time for several round trips.

    A connection that has died without a sign is found dead after this time, so it is short.
    """
    return max(MIN_PATIENCE, 5 * timeout)


class Node:
    """A server, with the settings of its connections."""

    def __init__(self, connection_class: Any, settings: dict[str, Any], is_async: bool, breaker: Breaker) -> None:
        unwanted = ("maint_", "oss_cluster_", "orig_", "himport", "socket_timeout", "socket_connect_timeout")
        self._class = connection_class
        self._settings = {k: v for k, v in settings.items() if not k.startswith(unwanted)}
        self._settings.update(
            protocol=2,
            retry=AsyncRetry(NoBackoff(), 0) if is_async else Retry(NoBackoff(), 0),
            retry_on_error=[],
            retry_on_timeout=False,
            health_check_interval=0,
        )
        self.address = f"{settings.get('host', 'localhost')}:{settings.get('port', 6379)}"
        if "path" in settings:
            self.address = str(settings["path"])
        self.circuit = breaker.circuit(self.address)

    def connection(self, patience: float) -> Any:
        """Return a connection of redis-py that is not yet open. Patience (seconds) is for each step of opening it."""
        return self._class(**self._settings, socket_timeout=patience, socket_connect_timeout=patience)

    def at(self, address: str, is_async: bool, breaker: Breaker) -> Node:
        """Return a node at another address with the same settings."""
        host, _, port = address.rpartition(":")
        there = {**self._settings, "host": host.strip("[]"), "port": int(port)}
        return Node(self._class, there, is_async, breaker)


class Nodes:
    """Addresses, of which one is current, and the leaders among them."""

    def __init__(self, where: Where, is_async: bool, timeout: float, breaker: Breaker) -> None:
        self._is_async = is_async
        self._breaker = breaker
        self.patience = patience_of(timeout)
        self._nodes = _parse(where, is_async, breaker)
        self._current = 0
        self._leaders = Leaders()
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Take a new lock in a forked process."""
        self._lock = threading.Lock()

    def current(self) -> Node:
        """Return the node to ask. Its circuit is open only if all are."""
        node = self._nodes[self._current]
        return self._next() if node.circuit.open else node

    def leader(self, packed: bytes) -> Node | None:
        """Return the node that leads the key of a command. None: it is not known, or its circuit is open."""
        number = self._leaders.of(packed)
        return None if number < 0 or self._nodes[number].circuit.open else self._nodes[number]

    def are_leaders_due(self) -> bool:
        """Return whether the leaders are to be asked for now. A single node is not asked."""
        return self.are_several() and self._leaders.is_due(time.monotonic())

    def distrust(self) -> None:
        """Ask for the leaders again soon."""
        self._leaders.distrust()

    def learn(self, reply: Any) -> None:
        """Take the reply to CLUSTER SLOTS.

        Nodes whose addresses were neither given nor named by a redirection may be out of reach, so they are not asked.
        """
        numbers = {node.address: number for number, node in enumerate(self._nodes[:MAX_PLACES])}
        self._leaders.learn(reply, lambda address: numbers.get(address, -1))

    def _next(self) -> Node:
        """Go on to the next node whose circuit is not open."""
        with self._lock:
            for i in range(self._current, self._current + len(self._nodes)):
                if not self._nodes[i % len(self._nodes)].circuit.open:
                    self._current = i % len(self._nodes)
                    break
            return self._nodes[self._current]

    def not_asked(self) -> list[Node]:
        """Return the nodes whose circuit is open."""
        return [node for node in self._nodes if node.circuit.open]

    def are_several(self) -> bool:
        """Return whether there is more than one node."""
        return len(self._nodes) > 1

    def leave(self, node: Node) -> None:
        """Go on to the node after this one, unless that has been done already, and forget what it leads."""
        with self._lock:
            self._leaders.forget(self._nodes.index(node))
            if self._nodes[self._current] is node:
                self._current = (self._current + 1) % len(self._nodes)

    def redirect(self, text: str) -> Node | None:
        """Turn to the node that a MOVED reply names, and return it. None: another reply, or there is no room for it."""
        words = text.split()
        if len(words) != 3 or words[0] != "MOVED" or not words[2].rpartition(":")[2].isdigit():
            return None
        self._leaders.distrust()
        address = words[2].replace("[", "").replace("]", "")  # as of a node
        with self._lock:
            for i, node in enumerate(self._nodes):
                if node.address == address:
                    self._current = i
                    return node
            if len(self._nodes) >= MAX_NODES or "path" in self._nodes[0]._settings:
                return None
            self._nodes.append(self._nodes[0].at(words[2], self._is_async, self._breaker))
            self._current = len(self._nodes) - 1
            return self._nodes[-1]


def _parse(where: Where, is_async: bool, breaker: Breaker) -> list[Node]:
    client_class: Any = redis.asyncio.Redis if is_async else redis.Redis
    if isinstance(where, (redis.Redis, redis.asyncio.Redis)):
        if not isinstance(where, client_class):
            kind = "redis.asyncio.Redis" if is_async else "redis.Redis"
            raise InvalidError(f"this limiter takes a {kind}, got {type(where).__module__}.Redis")
        pool = where.connection_pool
        return [Node(pool.connection_class, dict(pool.connection_kwargs), is_async, breaker)]
    addresses = [where] if isinstance(where, str) else list(where) if isinstance(where, Iterable) else []
    if not addresses or not all(isinstance(address, str) and address for address in addresses):
        raise InvalidError(f"a limiter needs an address such as redis://127.0.0.1:6379, or several, got {where!r}")
    pool_class: Any = redis.asyncio.ConnectionPool if is_async else redis.ConnectionPool
    nodes = []
    for address in addresses:
        url = address if "://" in address else f"unix://{address}" if address.startswith("/") else f"redis://{address}"
        try:
            pool = pool_class.from_url(url)
        except ValueError as error:
            raise InvalidError(f"not an address such as redis://127.0.0.1:6379: {error}") from None
        nodes.append(Node(pool.connection_class, dict(pool.connection_kwargs), is_async, breaker))
    return nodes
