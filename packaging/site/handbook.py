"""Builds the site from the Markdown that GitHub shows: the pages that can be reached from the map, docs/README.md.

The map is the navigation, and links to files that are not on the site lead to the repository.
"""

import logging
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/stintdb/stint"
MAP = "docs/README.md"

LINK = re.compile(r"(?:\[([^\]]*))?\]\(([^)\s#]*)(#[^)\s]*)?\)")  # its text may begin in an earlier line
FOREIGN = re.compile(  # what a browser would fetch from another host
    r"""<(?:script|img|iframe|source)[^>]*\ssrc(?:set)?=["']?(?:https?:)?//[^>]*"""
    r"""|<link(?![^>]*canonical)[^>]*\shref=["']?(?:https?:)?//[^>]*|url\(["']?(?:https?:)?//[^)]*"""
)
LANGUAGES = {"transcript": "text", "redis": "text"}

log = logging.getLogger("mkdocs.hooks.site")
places: dict[str, str] = {}  # of the pages on the site, by their paths in the repository


def prose(text):
    """Yields the lines of a page, each with whether it is prose: not in a fenced block."""
    is_code = False
    for line in text.splitlines(keepends=True):
        fence = line.startswith("```")
        yield line, not is_code and not fence
        is_code ^= fence


def targets(path):
    """Yields the texts and the paths in the repository of a page's links."""
    for line, is_prose in prose((ROOT / path).read_text()):
        if is_prose:
            for text, target, _ in LINK.findall(line):
                if target and ":" not in target:
                    yield text, posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def place(path):
    """The place on the site of a page in the repository."""
    if path == "README.md":
        return "index.md"
    if path == MAP:
        return "handbook.md"
    if path.endswith("/README.md") and not path.startswith("docs/"):
        return posixpath.dirname(path) + ".md"  # as README.md it would be taken for the index of its section
    return path.removeprefix("docs/")


def in_repository(path):
    """The address of a file or folder that is not on the site."""
    return f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def reachable():
    """The pages that links lead to from the map."""
    found = [MAP]
    for page in found:
        for _, target in targets(page):
            if target.endswith(".md") and target not in found and (ROOT / target).is_file():
                found.append(target)
    return found


def navigation():
    """The sections of the map, and all pages in their order. A README.md in docs brings the pages that it lists."""
    nav = [{"Stint": "index.md"}, {"Handbook": "handbook.md"}, {"Try it in the browser": "playground.md"}]
    section, listed = nav, ["README.md", MAP]
    for line in (ROOT / MAP).read_text().splitlines():
        if line.startswith("## "):
            section = []
            nav.append({line[3:]: section})
        for text, target, _ in LINK.findall(line):
            path = posixpath.normpath(posixpath.join("docs", target))
            if path not in places or path in listed:
                continue
            listed.append(path)
            below = []
            if path.startswith("docs/") and path.endswith("/README.md"):
                beside = (t for _, t in targets(path) if posixpath.dirname(t) == posixpath.dirname(path))
                below = [t for t in dict.fromkeys(beside) if t in places and t not in listed]
                listed += below
            section.append({text: [place(path), *map(place, below)] if below else place(path)})
    return nav, listed


def for_programs(config, listed):
    """The files for language models (llmstxt.org): the repository's index with links to the site, and all pages."""

    def link(match):
        text, path, anchor = match[1], match[2], match[3] or ""
        url = File.generated(config, place(path), content="").url if path in places else in_repository(path)
        return f"[{text}]({url}{anchor})"

    index = LINK.sub(link, (ROOT / "llms.txt").read_text())
    yield File.generated(config, "llms.txt", content=index)
    pages = (f"<!-- {path} -->\n\n{(ROOT / path).read_text()}" for path in listed)
    yield File.generated(config, "llms-full.txt", content="\n".join(pages))


def on_files(files, config):
    pages = reachable()
    places.update((path, place(path)) for path in pages)
    assets = (f for f in files if f.src_dir != config.docs_dir or f.src_uri.endswith((".svg", ".png", ".txt")))
    config.nav, listed = navigation()
    on_site = (File.generated(config, place(p), abs_src_path=str(ROOT / p)) for p in pages)
    return Files([*assets, *on_site, *for_programs(config, listed)])


def on_page_markdown(markdown, page, config, files):
    """Has links lead to where their targets are on the site or in the repository, and fences name only a language."""
    path = next((p for p, at in places.items() if at == page.file.src_uri), None)
    if path is None:
        return None
    here = posixpath.dirname(page.file.src_uri)

    def link(match):
        target, anchor = match[2], match[3] or ""
        text = match[0][: match.start(2) - match.start()]
        if not target or ":" in target:
            return match[0]
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if full in places or files.get_file_from_path(place(full)):
            return f"{text}{posixpath.relpath(place(full), here or '.')}{anchor})"
        if (ROOT / full).exists():
            return f"{text}{in_repository(full)}{anchor})"
        return match[0]

    def fence(line):
        words = line[3:].split()
        return f"```{LANGUAGES.get(words[0], words[0])}\n" if words else line

    return "".join(
        LINK.sub(link, line) if is_prose else fence(line) if line.startswith("```") else line
        for line, is_prose in prose(markdown)
    )


def on_post_page(output, page, config):
    for tag in FOREIGN.findall(output):
        log.warning("%s asks another host: %s", page.file.src_uri, tag)
    return output
