"""An adapter for requests that keeps to the limit of another service.

    session = requests.Session()
    session.mount("https://", PacedAdapter(limiter, stint.per_second(100).burst(20).adaptive(2)))

With an adaptive limit, all processes follow the answers of the service: a 429 that one of them gets slows all down,
and its Retry-After stops all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from ..limiter import Limiter
from ..limits import Limit
from ..reports import DEFAULT_REPORT, ReportOptions
from .pacing import Pacer, await_turn, heed, host_key


def by_host(request: requests.PreparedRequest) -> str:
    """Return one key for all requests to the same host and port."""
    return host_key(urlsplit(request.url or "").netloc.rpartition("@")[2])


class PacedAdapter(HTTPAdapter):
    """Waits for the turn of each request, and hears the answers. It does not repeat requests."""

    def __init__(
        self,
        limiter: Limiter,
        limit: Limit | str,
        *,
        key: Callable[[requests.PreparedRequest], str] = by_host,
        max_wait: float = 60.0,
        max_pause: float = 86400.0,
        options: ReportOptions = DEFAULT_REPORT,
        **adapter: Any,
    ) -> None:
        self._limiter, self._key = limiter, key
        self._pacer = Pacer(limit, max_wait, max_pause, options)
        super().__init__(**adapter)

    def send(self, request: requests.PreparedRequest, *arguments: Any, **named: Any) -> requests.Response:
        """Send a request in its turn."""
        key = self._key(request)
        await_turn(self._limiter, self._pacer, key)
        try:
            response = super().send(request, *arguments, **named)
        except requests.Timeout:
            heed(self._limiter, self._pacer, key, 504)
            raise
        heed(self._limiter, self._pacer, key, response.status_code, response.headers.get)
        return response
