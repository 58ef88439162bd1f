"""The programs of docs/migrate/libraries.md: a library's, and the one in its place. Both deny the third request."""

from __future__ import annotations

import re
import sys
import types
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from .servers import Server

PAGE = (Path(__file__).parents[3] / "docs" / "migrate" / "libraries.md").read_text()
PROGRAMS = re.findall(r"^```python (\w+) (before|after)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(name: str, source: str, server: Server) -> types.ModuleType:
    assert source.count("redis://127.0.0.1:6379") == 1
    source = source.replace("redis://127.0.0.1:6379", server.url)
    source = source.replace("stint.fail_open())", "stint.fail_open(), timeout=60)").replace(
        "2/minute", "2/day"
    )  # for a busy machine
    module = types.ModuleType(name)
    sys.modules[name] = module  # where FastAPI looks up annotations
    exec(compile(source, name, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize(("library", "when", "source"), PROGRAMS, ids=[" ".join(p[:2]) for p in PROGRAMS])
def test_program(server: Server, capsys: pytest.CaptureFixture[str], library: str, when: str, source: str) -> None:
    module = run(f"migration_{library}_{when}", source, server)
    if not hasattr(module, "app"):
        assert capsys.readouterr().out.split() == ["True", "True", "False"]
        return
    with ExitStack() as stack:
        is_flask = hasattr(module.app, "test_client")
        client: Any = module.app.test_client() if is_flask else stack.enter_context(TestClient(module.app))
        assert [client.get("/search").status_code for _ in range(3)] == [200, 200, 429]


def test_every_program_is_run() -> None:
    libraries = {"flask_limiter", "limits", "slowapi"}
    assert {(library, when) for library, when, _ in PROGRAMS} == set(product(libraries, ("before", "after")))
