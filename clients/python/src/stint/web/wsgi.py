"""Middleware for WSGI: Flask, Bottle, Pyramid.

app.wsgi_app = RateLimit(app.wsgi_app, limiter, Guard("api", "100/minute"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from ..errors import StintError
from ..limiter import Limiter
from .fields import merge
from .guard import Answer, Guard, View

Environ = dict[str, Any]
App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class RateLimit:
    """Limits the requests to an application."""

    def __init__(self, app: App, limiter: Limiter, guard: Guard) -> None:
        self._app, self._limiter, self._guard = app, limiter, guard

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or hand it on."""
        answer = decide(self._limiter, self._guard, view(environ))
        if not answer.allowed:
            status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
            start_response(status, [*answer.fields, ("Content-Length", str(len(answer.body)))])
            return [answer.body]

        def start_with_fields(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            return start_response(status, merge(headers, answer.fields, status.startswith("429")), *rest)

        return self._app(environ, start_with_fields)


def view(environ: Environ) -> View:
    """Return the view of a WSGI environ."""

    def header(name: str) -> list[str]:
        value = environ.get("HTTP_" + name.upper().replace("-", "_"))
        return [] if value is None else [value]

    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return View(environ.get("REQUEST_METHOD", ""), path, environ.get("REMOTE_ADDR", ""), header, environ)


def decide(limiter: Limiter, guard: Guard, seen: View) -> Answer:
    """Ask the limiter about a request."""
    question = None
    try:
        question = guard.question(seen)
        if question is None:
            return Answer(True, [])
        given = getattr(limiter, question.call)(*question.arguments)
    except StintError as error:
        given = guard.refused(error)
    return guard.answer(seen, question, given)
