"""Servers for the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .servers import Scripted, Server, Service

ROOT = Path(__file__).parents[3]


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
