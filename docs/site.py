"""mkdocs hook: a paragraph that is only a link to source code shows the code itself.

[`FullAttention.watch`](../../regard/parts/attention/full.py) on a line of its own becomes the code of that method;
[`regard/parts/norms.py`](../../regard/parts/norms.py) becomes the whole file. In the Markdown both are links, so that
no page contains a copy that could become outdated.
"""

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = re.compile(r"^\[`([^`\n]+)`\]\(([^)\s]+\.py)\)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called for each page by mkdocs."""
    return with_sources(markdown, page.file.src_uri)


def with_sources(markdown: str, page: str) -> str:
    """A page with the sources that it links to; links to other files outside docs/ become plain text."""
    markdown = SOURCE.sub(lambda found: block(found[1], outside(page, found[2]) or found[2]), markdown)
    return LINK.sub(lambda found: found[1] if outside(page, found[2]) else found[0], markdown)


def outside(page: str, target: str) -> str | None:
    """The path from the root of a linked file outside docs/; None if it is inside."""
    place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if place.startswith("docs/") else place


def block(name: str, file: str) -> str:
    return f"`{file}`\n\n```python\n{source(name, (ROOT / file).read_text(encoding='utf-8'))}\n```"


def source(name: str, text: str) -> str:
    """A class, a function or a method by its dotted name; a whole file by its path."""
    if name.endswith(".py"):
        return text.rstrip()
    body: list[ast.stmt] = ast.parse(text).body
    for word in name.split("."):
        [node] = [one for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == word]
        body = node.body
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)
