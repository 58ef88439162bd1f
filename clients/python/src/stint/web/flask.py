"""A decorator for the routes of Flask.

limit = route_limit(limiter)

@app.get("/search")
@limit("100/minute")
def search(): ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol

from flask import Response, after_this_request, current_app, request

from ..limiter import Limiter
from ..limits import Limit
from . import wsgi
from .fields import merge
from .guard import Guard, Key

P = ParamSpec("P")


class Decorator(Protocol):
    """Makes a decorator: limit("100/minute"), limit(stint.window(1000, "@day"), name="search")."""

    def __call__(self, most: Limit | str, name: str = "") -> Callable[[Callable[P, Any]], Callable[P, Any]]:
        """Return the decorator of a view."""


def route_limit(limiter: Limiter, key: Key | None = None) -> Decorator:
    """Return a decorator for views."""

    def limit(most: Limit | str, name: str = "") -> Callable[[Callable[P, Any]], Callable[P, Any]]:
        def decorate(view: Callable[P, Any]) -> Callable[P, Any]:
            guard = Guard(name or view.__name__, most, key)

            @functools.wraps(view)
            def limited(*args: P.args, **kwargs: P.kwargs) -> Any:
                answer = wsgi.decide(limiter, guard, wsgi.view(request.environ))
                if not answer.allowed:
                    return Response(answer.body, answer.status, answer.fields)

                @after_this_request
                def announce(response: Response) -> Response:
                    fields = merge(list(response.headers), answer.fields, response.status_code == 429)
                    response.headers.clear()
                    response.headers.extend(fields)
                    return response

                return current_app.ensure_sync(view)(*args, **kwargs)

            return limited

        return decorate

    return limit
