"""Middleware for ASGI: FastAPI, Starlette, Litestar, Quart.

app.add_middleware(RateLimit, limiter=limiter, guard=Guard("api", "100/minute"))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ..aio import AsyncLimiter
from ..errors import StintError
from .fields import merge_raw
from .guard import Answer, Guard, View

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RateLimit:
    """Limits the HTTP requests to an application."""

    def __init__(self, app: App, limiter: AsyncLimiter, guard: Guard) -> None:
        self._app, self._limiter, self._guard = app, limiter, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        answer = await decide(self._limiter, self._guard, view(scope))
        if not answer.allowed:
            fields = merge_raw([(b"content-length", b"%d" % len(answer.body))], answer.fields, True)
            await send({"type": "http.response.start", "status": answer.status, "headers": fields})
            return await send({"type": "http.response.body", "body": answer.body})

        async def send_with_fields(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = merge_raw(message.get("headers", ()), answer.fields, message["status"] == 429)
            await send(message)

        await self._app(scope, receive, send_with_fields)


def _raw_request() -> Callable[[Scope], Any]:
    """Return what makes the argument of by_user: Starlette's Request, a mapping of the scope; else the scope itself."""
    try:
        from starlette.requests import Request
    except ImportError:
        return lambda scope: scope
    return Request


_raw = _raw_request()


def view(scope: Scope) -> View:
    """Return the view of an ASGI scope."""

    def header(name: str) -> list[str]:
        wanted = name.lower().encode("latin-1")
        return [value.decode("latin-1") for found, value in scope["headers"] if found.lower() == wanted]

    client = scope.get("client")
    return View(scope["method"], scope["path"], client[0] if client else "", header, _raw(scope))


async def decide(limiter: AsyncLimiter, guard: Guard, seen: View) -> Answer:
    """Ask the limiter about a request."""
    question = None
    try:
        question = guard.question(seen)
        if question is None:
            return Answer(True, [])
        given = await getattr(limiter, question.call)(*question.arguments)
    except StintError as error:
        given = guard.refused(error)
    return guard.answer(seen, question, given)
