"""The modules for threads are made from those for asyncio: `python tests/test_twins.py` writes them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "stint"
TWINS = {"aio.py": "limiter.py", "aioleases.py": "leases.py", "aiostream.py": "stream.py"}

# What asyncio calls another name, as a regular expression.
NAMES = {
    r"\bAsync(Limiter|Link|Leases|Stream|Iterable|Iterator)\b": r"\1",
    r"\bAwaitable\[(MultiResult \| None)\]": r"\1",
    r"\basynccontextmanager\b": "contextmanager",
    r"\baio(link|leases|stream)\b": r"\1",
    r"\.aio\b": ".limiter",
    r"\basync (def|with|for)\b": r"\1",
    r"\bawait ": "",
    r"__a(enter|exit)__": r"__\1__",
    r"\basyncio\.sleep\b": "time.sleep",
    r"\bis_async=True\b": "is_async=False",
    r"\bredis\.asyncio\.": "redis.",
    r"\ban with\b": "a with",
    r"\b(between|a|One) task(s?)\b": r"\1 thread\2",
    r'^("""\w+ .*)\basyncio\b': r"\1threads",
}


def made(source: str) -> str:
    """Return the module for threads."""
    text = (SOURCE / source).read_text()
    for name, threads in NAMES.items():
        text = re.sub(name, threads, text, flags=re.MULTILINE)
    text = f"# Made from {source} by tests/test_twins.py: change that module.\n{text}"
    for command in (["check", "--fix-only", "--quiet", "--select", "F401,I"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(SOURCE / TWINS[source]), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def test_modules_for_threads_are_those_for_asyncio() -> None:
    for source, twin in TWINS.items():
        assert made(source) == (SOURCE / twin).read_text(), f"{twin}: run python tests/test_twins.py"


if __name__ == "__main__":
    for source, twin in TWINS.items():
        (SOURCE / twin).write_text(made(source))
