"""Servers for the tests."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .servers import Scripted, Server, Service

ROOT = Path(__file__).parents[3]


class Complaints(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(scope="module", autouse=True)
def tasks_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if a module leaves a task, of which Python says something when it is destroyed, perhaps after all tests."""
    handler, logger = Complaints(logging.ERROR), logging.getLogger("asyncio")
    logger.addHandler(handler)
    yield
    gc.collect()
    logger.removeHandler(handler)
    tasks = [each for each in gc.get_objects() if type(each) is asyncio.Task]  # isinstance would wake lazy objects
    pending = [task for task in tasks if not task.done()]
    assert (pending, handler.texts) == ([], []), f"{request.node.name} leaves tasks"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the server's program: that of the variable STINT, or one that is built now."""
    given = os.environ.get("STINT")
    if given:
        return given
    path = tmp_path_factory.mktemp("bin") / "stint"
    subprocess.run(["go", "build", "-o", str(path), "./cmd/stint"], cwd=ROOT, check=True)
    return str(path)


@pytest.fixture(scope="session")
def shared_server(program: str) -> Iterator[Server]:
    server = Server(program)
    yield server
    server.close()


@pytest.fixture
def server(program: str) -> Iterator[Server]:
    """Return a server that the test may kill or stop."""
    server = Server(program)
    yield server
    server.close()


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.close()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.server.shutdown()
    made.server.server_close()
