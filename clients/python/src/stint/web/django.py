"""Middleware for Django.

In settings.py: MIDDLEWARE with "stint.web.django.RateLimit", RATE_LIMITER = a stint.Limiter, and
RATE_LIMIT_GUARD = Guard("api", "100/minute"). Keys by user need it behind Django's AuthenticationMiddleware.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from . import wsgi
from .guard import View


class RateLimit:
    """Limits the requests to a site. In an asynchronous site Django runs it in a thread."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._limiter, self._guard = settings.RATE_LIMITER, settings.RATE_LIMIT_GUARD

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request, or hand it on."""

        def header(name: str) -> list[str]:
            value = request.headers.get(name)
            return [] if value is None else [value]

        seen = View(request.method or "", request.path, request.META.get("REMOTE_ADDR", ""), header, request)
        answer = wsgi.decide(self._limiter, self._guard, seen)
        response = self._get_response(request) if answer.allowed else HttpResponse(answer.body, status=answer.status)
        for name, value in answer.fields:
            response.headers[name] = value
        return response
