"""The node that leads the group of each slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis.crc import key_slot

from .wire import encode, first_words

SLOTS = encode(["CLUSTER", "SLOTS"])
LEARN_EVERY = 10.0  # seconds: leaders change without a word while nodes forward
LEARN_AGAIN = 1.0  # seconds, after a redirection or a failure
MAX_PLACES = 255  # the first nodes, which alone can be leaders
_COUNT = 16384


class Leaders:
    """The leaders as CLUSTER SLOTS shows them: none without groups, where all nodes are as good.

    Nodes are numbers from 0 to 254. It has no lock: a call that sees an old leader is redirected or forwarded.
    """

    def __init__(self) -> None:
        self._by_slot = bytearray()  # the number of a node and 1; 0: not known
        self._asked = -LEARN_EVERY
        self._is_old = False

    def is_due(self, now: float) -> bool:
        """Return whether the leaders are to be asked for now, and take it that they are."""
        if now - self._asked < (LEARN_AGAIN if self._is_old else LEARN_EVERY):
            return False
        self._asked, self._is_old = now, False
        return True

    def learn(self, reply: Any, number_of: Callable[[str], int]) -> None:
        """Take the reply to CLUSTER SLOTS. number_of returns the node at an address, or -1."""
        if not isinstance(reply, list):
            return
        by_slot = bytearray(_COUNT if len(reply) > 1 else 0)
        for first, last, *nodes in reply if by_slot else ():
            if not nodes:  # the group has no leader
                continue
            host, port, *_ = nodes[0]
            name = host.decode() if isinstance(host, bytes) else host
            place = bytes([number_of(f"{name}:{port}") + 1])
            by_slot[first : last + 1] = place * (last + 1 - first)
        self._by_slot = by_slot

    def forget(self, number: int) -> None:
        """Forget what a node leads."""
        self._is_old = True
        if number < MAX_PLACES:
            self._by_slot = self._by_slot.replace(bytes([number + 1]), b"\0")

    def distrust(self) -> None:
        """Ask again soon: a node has redirected a call, or the question failed."""
        self._is_old = True

    def of(self, packed: bytes) -> int:
        """Return the node that leads the key of a command, or -1."""
        by_slot = self._by_slot
        if not by_slot:
            return -1
        slot = slot_of(packed)
        return -1 if slot is None else by_slot[slot] - 1


def slot_of(packed: bytes) -> int | None:
    """Return the slot of a command's key. None: only the server knows the keys."""
    name, *words = first_words(packed, 3)
    if name in (b"RL.CHECK", b"RL.POLICY") or not words:
        return None
    return key_slot(words[-1] if name == b"RL.ALL" else words[0])
