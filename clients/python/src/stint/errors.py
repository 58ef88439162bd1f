"""Errors of this package, and the table of the server's error replies."""

from __future__ import annotations

from enum import Enum


class StintError(Exception):
    """The base of all errors of this package."""


class InvalidError(StintError, ValueError):
    """A limit or an argument that cannot be sent. Nothing was sent."""


class RefusedError(StintError):
    """The server refuses this request as it stands, such as ERR or WRONGTYPE. Take it as a denial."""


class DeniedError(StintError):
    """Waiting would not help: the limit can never grant so much, the queue is full, or the fallback denies."""


class WouldExceedDeadlineError(StintError):
    """The wait would be longer than the caller allows. Nothing was taken."""


class UndecidedError(StintError):
    """Stint did not decide. It is the cause in a result that the policy gave."""


class UnavailableError(UndecidedError):
    """The connection failed, or the server replied that it cannot serve at present."""


class ReplyTimeoutError(UnavailableError):
    """No reply within the timeout. The tokens may have been taken."""


class NotSentError(ReplyTimeoutError):
    """The timeout was over before the request was sent. Nothing was taken."""


class UncertainError(UnavailableError):
    """A cluster lost its leader while it decided. The tokens count as spent."""


class CircuitOpenError(UnavailableError):
    """Stint failed several times in a row. Nothing was sent."""


class OverloadedError(UnavailableError):
    """Too many requests wait to be sent. Nothing was sent."""


class UnauthenticatedError(UndecidedError):
    """The server takes no requests from this connection, for example because the password is wrong."""


class ClosedError(UndecidedError):
    """The limiter was closed."""


class ServerError(Exception):
    """An error reply, as it came from the server."""


class ReplyClass(Enum):
    """The effect of an error reply."""

    REFUSED = "this request is refused as it stands"
    BUSY_NODE = "this node cannot decide at present, another may"
    BUSY_SERVER = "no node can decide"
    UNKNOWN = "it was decided perhaps"
    UNAUTHENTICATED = "the connection is not let in"


# Prefixes of the replies of a server that cannot decide. They do not depend on the request. Every other error reply
# does and denies it: a reply that is not known here must not open a limit.
REPLIES: tuple[tuple[str, ReplyClass], ...] = (
    ("CLUSTERDOWN ", ReplyClass.BUSY_NODE),
    ("UPSTREAM ", ReplyClass.BUSY_NODE),
    ("LOADING ", ReplyClass.BUSY_NODE),
    ("TRYAGAIN ", ReplyClass.BUSY_NODE),
    ("MASTERDOWN ", ReplyClass.BUSY_NODE),
    ("READONLY ", ReplyClass.BUSY_NODE),
    ("NOREPLICAS ", ReplyClass.BUSY_NODE),
    ("MISCONF ", ReplyClass.BUSY_NODE),
    ("NOTKEPT ", ReplyClass.BUSY_NODE),
    ("BUSY ", ReplyClass.BUSY_NODE),
    ("MOVED ", ReplyClass.BUSY_NODE),
    ("ASK ", ReplyClass.BUSY_NODE),
    ("ERR max number of clients", ReplyClass.BUSY_NODE),
    ("OOM ", ReplyClass.BUSY_SERVER),
    ("LIMITED ", ReplyClass.BUSY_SERVER),
    ("UNCERTAIN ", ReplyClass.UNKNOWN),
    ("NOAUTH ", ReplyClass.UNAUTHENTICATED),
    ("WRONGPASS ", ReplyClass.UNAUTHENTICATED),
    ("DENIED ", ReplyClass.UNAUTHENTICATED),
    ("ERR AUTH ", ReplyClass.UNAUTHENTICATED),
    ("ERR too many failed logins", ReplyClass.UNAUTHENTICATED),
)


def class_of(text: str) -> ReplyClass:
    """Return the class of an error reply."""
    for prefix, reply_class in REPLIES:
        if text.startswith(prefix):
            return reply_class
    return ReplyClass.REFUSED


def from_reply(reply: ServerError) -> StintError:
    """Return the error that the caller gets for an error reply."""
    text = str(reply)
    reply_class = class_of(text)
    error: StintError
    if reply_class in (ReplyClass.BUSY_NODE, ReplyClass.BUSY_SERVER):
        error = UnavailableError(text)
    elif reply_class is ReplyClass.UNKNOWN:
        error = UncertainError(text)
    elif reply_class is ReplyClass.UNAUTHENTICATED:
        error = UnauthenticatedError(text)
    elif text.startswith("ERR unknown command"):
        error = RefusedError(f"is this a Stint server? {text}")
    else:
        error = RefusedError(text)
    error.__cause__ = reply
    return error
