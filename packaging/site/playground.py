"""Adds the playground to the site: the program of cmd/playground, compiled for the browser, and its page."""

import os
import subprocess
import tempfile
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]


def playground(config):
    """The files of the playground: its program, compressed, and what the page loads with it."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "playground.wasm")
        environment = {**os.environ, "GOOS": "js", "GOARCH": "wasm", "GOFLAGS": "-trimpath -buildvcs=false"}
        subprocess.run(
            ["go", "build", "-ldflags=-s -w", "-o", program, "./cmd/playground"], cwd=ROOT, env=environment, check=True
        )
        subprocess.run(["gzip", "--best", "--no-name", program], check=True)
        yield File.generated(config, "playground/playground.wasm.gz", content=Path(program + ".gz").read_bytes())
    goroot = subprocess.run(
        ["go", "env", "GOROOT"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    yield File.generated(config, "playground/wasm_exec.js", abs_src_path=os.path.join(goroot, "lib/wasm/wasm_exec.js"))
    yield File.generated(config, "playground/playground.js", abs_src_path=str(ROOT / "cmd/playground/playground.js"))
    page = (
        "---\ntitle: Try it in the browser\nhide: [toc]\n---\n\n"
        + (ROOT / "cmd/playground/playground.html").read_text()
    )
    yield File.generated(config, "playground.md", content=page)


def on_files(files, config):
    for file in playground(config):
        files.append(file)
    return files
