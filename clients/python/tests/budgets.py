"""A budget on a scripted server: one limit, and what requests hold of it under their ids."""

from __future__ import annotations

from .servers import Scripted


class Budget:
    """Replies as the server does to RL.CHECK, RL.ALL, RL.EXTEND, RL.SETTLE and RL.CANCEL."""

    def __init__(self, scripted: Scripted, size: int) -> None:
        self.size = size
        self.held: dict[bytes, list[int]] = {}  # by extension, the request first
        self.charged: dict[bytes, int] = {}
        self.loses: set[bytes] = set()  # commands whose next reply is lost
        self.is_gone = False
        self.scripted = scripted
        scripted.reply = self.reply

    @property
    def left(self) -> int:
        return self.size - sum(map(sum, self.held.values())) - sum(self.charged.values())

    def sent(self, name: str) -> list[list[bytes]]:
        return [words for words in self.scripted.commands if words[0] == name.encode()]

    def reply(self, words: list[bytes]) -> bytes:
        if self.is_gone:
            return b""
        reply = self.carry_out(words)
        if words[0] in self.loses:
            self.loses.remove(words[0])
            return b""
        return reply

    def carry_out(self, words: list[bytes]) -> bytes:
        name, identity = words[0], words[1]
        if name in (b"RL.CHECK", b"RL.ALL"):
            identity = words[words.index(b"AS") + 1]
            tokens = int(words[3] if name == b"RL.CHECK" else words[words.index(b"TOKENS") + 1])
            if identity in self.held:
                return self.granted(self.held[identity][0])
            if tokens <= self.left:
                self.held[identity] = [tokens]
                return self.granted(tokens)
            return self.granted(0)
        if name == b"RL.EXTEND":
            if identity not in self.held:
                return b"*-1"
            slices, number, tokens = self.held[identity], int(words[2]), int(words[3])
            if number == len(slices) - 1:
                return self.granted(slices[-1], sum(slices))
            if number != len(slices):
                text = f"ERR n: the next extension of this reservation has the number {len(slices)}, got {number}"
                return b"-" + text.encode()
            granted = min(tokens, self.left) if b"UPTO" in words else tokens * (tokens <= self.left)
            if granted:
                slices.append(granted)
            return self.granted(granted, sum(slices))
        if identity in self.held:
            del self.held[identity]
            self.charged[identity] = int(words[2]) if name == b"RL.SETTLE" else 0
        if identity not in self.charged:
            return b"*-1"
        return b"*1\r\n*4\r\n:%d\r\n:%d\r\n:%d\r\n:0" % (self.charged[identity], self.size, self.left)

    def granted(self, tokens: int, total: int | None = None) -> bytes:
        binding, wait = (-1, 0) if tokens else (0, 30_000)
        state = b"*3\r\n:%d\r\n:%d\r\n:0" % (self.size, max(0, self.left))
        head = b":%d\r\n:%d\r\n:%d\r\n*1\r\n" % (tokens, binding, wait) + state
        return b"*4\r\n" + head if total is None else b"*5\r\n" + head + b"\r\n:%d" % total
