"""The common part of the programs, each of which limits calls with one library as its users do.

A program prints "uses LIBRARY VERSION". For each line "KEY CALLS" of its standard input it then makes that many calls
with a new limiter and prints "passed N" with the number that passed, or "failed" and the reason.
"""

import asyncio
import inspect
import sys
from importlib.metadata import version

import httpx

ADDRESS = sys.argv[1]
HOST, PORT = ADDRESS.split(":")
URL = f"redis://{ADDRESS}"
VARIATION = sys.argv[2] if len(sys.argv) > 2 else ""


def serve(library, make):
    """Answer the lines. make makes the limiter of a key and returns the function that makes one call."""
    print(f"uses {library} {version(library)}", flush=True)
    with asyncio.Runner() as runner:

        def result(value):
            return runner.run(awaited(value)) if inspect.isawaitable(value) else value

        for line in sys.stdin:
            key, calls = line.split()
            try:
                call = result(make(key))
                print("passed", sum(result(call()) for _ in range(int(calls))), flush=True)
            except Exception as error:
                print("failed", type(error).__name__, " ".join(str(error).split()), flush=True)


async def awaited(value):
    return await value


def requests(app):
    """Return a function that makes one request of an ASGI application."""
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")

    async def request():
        response = await client.get("/")
        return granted(response.status_code, response.text)

    return request


def granted(status, body):
    """Report whether a response is the page and not a denial."""
    if status not in (200, 429):
        raise RuntimeError(f"HTTP {status}: {body}")
    return status == 200
