"""The decision on a request, and the response to a denied one, without a framework."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..asks import ANONYMOUS, Request, as_limit
from ..errors import InvalidError, StintError
from ..limits import Limit
from ..policy import RETRY_WHEN_DOWN
from ..results import NEVER, MultiResult, Result, Source
from .clientip import Resolver
from .fields import FieldStyle, announce, as_styles, more_after, whole_seconds

log = logging.getLogger("stint")

_QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
_REDUCED_CAPACITY = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"


@dataclass(frozen=True)
class View:
    """A request, as keys see it. raw is Starlette's or Django's request, an environ, or a scope."""

    method: str
    path: str
    remote: str
    header: Callable[[str], Sequence[str]]
    raw: Any


Key = Callable[[View], str]
"""Identifies the client of a request. Requests with the same key share a limit, also those with the key "".

For a policy, which takes no empty id, the latter are the caller "anonymous".
"""


def _text(key: Key, view: View) -> str:
    """Return the key of a request. InvalidError: it is no text, such as None for an anonymous user."""
    value: object = key(view)
    if not isinstance(value, str):
        raise InvalidError(f'key must return text, got {value!r}; return "" for one limit of all such requests')
    return value


def everybody(view: View) -> str:
    """Return one key for all requests."""
    return "all"


def by_ip(resolver: Resolver | None = None, header: str = "X-Forwarded-For") -> Key:
    """Identify clients by their addresses. Behind proxies, the resolver must list them as trusted."""
    chosen = resolver or Resolver()
    return lambda view: chosen.resolve(view.remote, view.header(header))


def by_header(name: str) -> Key:
    """Identify clients by a field such as an API key, hashed. Check its value before: each new one gets a new limit."""

    def key(view: View) -> str:
        value = next(iter(view.header(name)), "")
        digest = hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()
        return base64.urlsafe_b64encode(digest[:18]).decode() if value else ""

    return key


def by_user(user: Callable[[Any], str]) -> Key:
    """Identify clients by a function of the request: of Starlette and FastAPI, Django, or a WSGI environ.

    Without Starlette, ASGI middleware passes the scope. The function returns "" for requests without a user.
    """
    return lambda view: user(view.raw)


def by_route(view: View) -> str:
    """Return the method and the path of a request."""
    return f"{view.method} {view.path}"


def first_of(*keys: Key) -> Key:
    """Take the first key that is not "": an API key if there is one, else the address."""

    def key(view: View) -> str:
        for i, one in enumerate(keys):
            if value := _text(one, view):
                return f"{i}:{value}"
        return ""

    return key


def join(*keys: Key) -> Key:
    """Make a key of several: each user on each route."""
    return lambda view: " | ".join(_text(key, view).replace("|", "||") for key in keys)


@dataclass(frozen=True)
class Question:
    """The call of a limiter that decides on a request."""

    call: str  # "allow" or "check"
    arguments: tuple[Any, ...]
    limit: Limit | None


@dataclass(frozen=True)
class Answer:
    """The fields of a response and, for a denied request, its status and body."""

    allowed: bool
    fields: list[tuple[str, str]]
    status: int = 200
    body: bytes = b""


class Guard:
    """Limits requests by a limit, or by a policy that is stored on the server.

    The name identifies the limit in the fields of responses, and keys begin with it and a colon. limit may be a
    function of the request. cost is the number of tokens of a request, 0 for none. shadow is called with denied
    requests, which then go through. fields are the styles of the fields in responses; Retry-After is always sent.
    """

    def __init__(
        self,
        name: str,
        limit: Limit | str | Callable[[View], Limit | str] | None = None,
        key: Key | None = None,
        *,
        policy: str | None = None,
        cost: Callable[[View], int] | None = None,
        skip: Callable[[View], bool] | None = None,
        shadow: Callable[[View, Result], None] | None = None,
        fields: Sequence[FieldStyle] = ("draft-10", "x-ratelimit"),
    ) -> None:
        if (limit is None) == (policy is None):
            raise ValueError("the middleware takes a limit or a policy")
        for option, function in (("key", key), ("cost", cost), ("skip", skip), ("shadow", shadow)):
            if function is not None and not callable(function):
                raise ValueError(f"{option} must be a function, got {function!r}")
        self.name = name
        self._styles = as_styles(fields)
        self._limit = limit if limit is None or callable(limit) else as_limit(limit)
        self._policy = policy
        self._key = key or by_ip()
        self._cost, self._skip, self._shadow = cost, skip, shadow

    def question(self, view: View) -> Question | None:
        """Return the call that decides on a request; None lets it through."""
        if self._skip is not None and self._skip(view):
            return None
        n = 1 if self._cost is None else self._cost(view)
        if n == 0:
            return None
        if self._policy is not None:
            return Question("check", (self._policy, _text(self._key, view) or ANONYMOUS, Request(n, split=True)), None)
        limit = as_limit(self._limit(view)) if callable(self._limit) else self._limit
        assert limit is not None
        return Question("allow", (f"{self.name}:{_text(self._key, view)}", limit, n), limit)

    def refused(self, error: StintError) -> Result:
        """Return the denial for an error about the request, which is logged."""
        log.error("rate limit %s: %s", self.name, error)
        return Result(False, retry_after=RETRY_WHEN_DOWN, source=Source.FALLBACK, cause=error)

    def answer(self, view: View, question: Question | None, given: Result | MultiResult) -> Answer:
        """Return the answer to a request. question is None if an error prevented it."""
        result = given.result() if isinstance(given, MultiResult) else given
        if self._shadow is not None:
            if not result.allowed:
                self._shadow(view, result)
            return Answer(True, [])
        if question is not None and question.limit is not None:
            window, more = question.limit.fill_time, more_after(question.limit, result)
        else:
            window, more = None, None if result.allowed else result.retry_after
        fields = announce(self._styles, self.name, result, window, more)
        if result.allowed:
            return Answer(True, fields)
        if result.retry_after != NEVER:
            fields.append(("Retry-After", str(max(1, whole_seconds(result.retry_after)))))
        status, body = self._problem(result)
        fields += [("Content-Type", "application/problem+json"), ("Cache-Control", "no-store")]
        return Answer(False, fields, status, body)

    def _problem(self, denied: Result) -> tuple[int, bytes]:
        """Return the problem details of RFC 9457."""
        if denied.source is Source.FALLBACK:
            title = "Requests cannot be counted at present"
            return 503, json.dumps({"type": _REDUCED_CAPACITY, "title": title, "status": 503}).encode()
        body: dict[str, Any] = {"type": _QUOTA_EXCEEDED, "title": "Too many requests", "status": 429}
        if denied.needs_payment:
            body = {"type": "about:blank", "title": "Payment Required", "status": 402}
            body["detail"] = "The balance has fewer credits than this request needs, and waiting does not help."
        elif denied.retry_after == NEVER:
            body["detail"] = f"This request costs more than the limit of {denied.limit}."
        body["violated-policies"] = [self.name]
        return body["status"], json.dumps(body).encode()
