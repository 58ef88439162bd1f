"""Keys and ids as they are sent to the server."""

from __future__ import annotations

import hashlib

from .errors import InvalidError

MAX_BYTES = 200  # longer keys are shortened
KEPT_BYTES = 136  # of a long key, for people to recognise and for the patterns of an ACL to match


def as_bytes(text: str) -> bytes:
    """Return text as UTF-8.

    Bytes that os.fsdecode made surrogates are these bytes again. Other surrogates have no UTF-8, but may come from
    outside, as in the JSON "\\ud800"; they get the three bytes of their number, so they are limited, too.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def short_key(key: str | bytes) -> bytes:
    """Return the form of a key that is sent.

    A key of more than 200 bytes becomes its first 136 bytes, ":sha256:", and the SHA-256 of the whole key in
    hexadecimal digits, as in Stint's clients in other languages. No two keys have the same short form.
    """
    if isinstance(key, str):
        raw = as_bytes(key)
    elif isinstance(key, bytes):
        raw = key
    else:
        raise InvalidError(f'a key or an id must be str or bytes, such as "user:7", got {key!r}')
    if len(raw) <= MAX_BYTES:
        return raw
    return raw[:KEPT_BYTES] + b":sha256:" + hashlib.sha256(raw).hexdigest().encode()
