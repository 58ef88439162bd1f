"""The first calls of a limiter, and of a process: connecting does not use up their deadline."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import stint

from .servers import Scripted, Server

NOWHERE = "redis://127.0.0.1:1"
GRANTED = b"*5\r\n:1\r\n:10\r\n:9\r\n:0\r\n:100"


def first_results(url: str, is_async: bool, timeout: float, connect_timeout: float) -> list[stint.Result]:
    """Return the results of two calls of a new limiter, one after the other."""
    if not is_async:
        with stint.Limiter(url, stint.fail_open(), timeout=timeout, connect_timeout=connect_timeout) as limiter:
            return [limiter.allow("k", "10/s"), limiter.allow("k", "10/s")]

    async def main() -> list[stint.Result]:
        async with stint.AsyncLimiter(
            url, stint.fail_open(), timeout=timeout, connect_timeout=connect_timeout
        ) as limiter:
            return [await limiter.allow("k", "10/s"), await limiter.allow("k", "10/s")]

    return asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True])
def test_only_the_first_call_waits(scripted: Scripted, is_async: bool) -> None:
    second_is_over = threading.Event()
    calls = []

    def reply(words: list[bytes]) -> bytes:
        calls.append(words)
        second_is_over.wait(0.2 if len(calls) == 1 else 60)
        return GRANTED

    scripted.reply = reply
    first, second = first_results(scripted.url, is_async, 0.05, 60)
    second_is_over.set()
    assert (first.source, second.source) == (stint.Source.SERVER, stint.Source.FALLBACK)


@pytest.mark.parametrize("is_async", [False, True])
def test_no_server(is_async: bool) -> None:
    first, second = first_results(NOWHERE, is_async, 0.02, 3600)  # the test's own timeout is shorter
    assert isinstance(first.cause, stint.UnavailableError)
    assert (first.source, second.source) == (stint.Source.FALLBACK, stint.Source.FALLBACK)


@pytest.mark.parametrize("connect_timeout", [0, -1, "1s", True])
def test_connect_timeout_is_checked(connect_timeout: float) -> None:
    with pytest.raises(
        stint.InvalidError, match="connect_timeout: must be a number of seconds above 0, such as 1, got"
    ):
        stint.Limiter(NOWHERE, stint.fail_open(), connect_timeout=connect_timeout)


PROGRAM = """
import sys, stint
with stint.Limiter(sys.argv[1], stint.fail_open(), connect_timeout=60) as limiter:
    print(*(limiter.allow("k", "100/m").source.value for _ in range(int(sys.argv[2]))))
"""


def calls_of(url: str, calls: int) -> tuple[list[str], str]:
    """Return the sources of the first calls of a new process, and its standard error."""
    source = str(Path(stint.__file__).parents[1])
    command = [sys.executable, "-c", PROGRAM, url, str(calls)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": source}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_first_call_of_a_process(server: Server) -> None:
    for _ in range(3):
        assert calls_of(server.url, 1) == (["server"], "")


def test_first_fallback_of_a_process() -> None:
    sources, errors = calls_of(NOWHERE, 3)
    assert sources == ["fallback"] * 3
    assert errors.count("Stint did not decide a request, so the fallback did: ") == 1, errors
