"""The Redis protocol: commands to bytes, and bytes to replies, without input or output."""

from __future__ import annotations

from typing import Any

from .errors import InvalidError, ServerError
from .keys import as_bytes

Argument = str | bytes | int


class ProtocolError(Exception):
    """The bytes are not those of a reply. The connection cannot be used any more."""


def encode(arguments: list[Argument]) -> bytes:
    """Return a command as bytes."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if isinstance(argument, str):
            value = as_bytes(argument)
        elif isinstance(argument, bytes):
            value = argument
        elif isinstance(argument, int) and not isinstance(argument, bool):
            value = b"%d" % argument
        else:  # a fraction would be rounded
            raise InvalidError(f"an argument must be text, bytes or an integer, got {argument!r}")
        parts.append(b"$%d\r\n%b\r\n" % (len(value), value))
    return b"".join(parts)


def first_words(packed: bytes, count: int) -> list[bytes]:
    """Return the first words of a command, at most so many."""
    words: list[bytes] = []
    at = packed.index(b"\n") + 1
    while at < len(packed) and len(words) < count:
        end = packed.index(b"\r", at)
        size = int(packed[at + 1 : end])
        words.append(packed[end + 2 : end + 2 + size])
        at = end + size + 4
    return words


class _Incomplete(Exception):
    """More bytes are needed."""


class Decoder:
    """Decodes replies from chunks of bytes."""

    MAX_REPLY = 1 << 24  # bytes; no reply to a request of this package is near it
    MAX_DEPTH = 8

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0

    def feed(self, data: bytes) -> None:
        """Add bytes that were received."""
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
        if len(self._buffer) > self.MAX_REPLY:
            raise ProtocolError(f"the reply is longer than {self.MAX_REPLY} bytes")

    def next(self) -> tuple[bool, Any]:
        """Return True and a reply, or False if it has not fully arrived. An error reply is a ServerError."""
        begun = self._at
        try:
            return True, self._value(0)
        except _Incomplete:
            self._at = begun
            return False, None

    def _line(self) -> bytes:
        end = self._buffer.find(b"\r\n", self._at)
        if end < 0:
            raise _Incomplete
        line = self._buffer[self._at : end]
        self._at = end + 2
        return line

    def _number(self, text: bytes) -> int:
        try:
            return int(text)
        except ValueError:
            raise ProtocolError(f"not a number: {text!r}") from None

    def _value(self, depth: int) -> Any:
        if depth > self.MAX_DEPTH:
            raise ProtocolError("the reply is nested too deeply")
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return self._number(rest)
        if kind == b"*":
            count = self._number(rest)
            return None if count < 0 else [self._value(depth + 1) for _ in range(count)]
        if kind == b"+":
            return rest
        if kind == b"$":
            size = self._number(rest)
            return None if size < 0 else self._bulk(size)
        if kind == b"-":
            return ServerError(rest.decode("utf-8", "replace"))
        raise ProtocolError(f"not the beginning of a reply: {line[:20]!r}")

    def _bulk(self, size: int) -> bytes:
        end = self._at + size
        if size > self.MAX_REPLY:
            raise ProtocolError(f"the reply is longer than {self.MAX_REPLY} bytes")
        if len(self._buffer) < end + 2:
            raise _Incomplete
        data = self._buffer[self._at : end]
        self._at = end + 2
        return data
