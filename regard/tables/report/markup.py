"""Pieces of HTML: tables, figures, paragraphs. Texts are escaped here, unless they are HTML already."""

import re
from collections.abc import Collection, Sequence
from html import escape

WHOLE = re.compile(r"[−+-]?\d[\d.,:/−-]{0,24}( \d\d:\d\d(:\d\d)?)?")  # a number or a date: never broken


def paragraph(content: str) -> str:
    return f"<p>{escape(content)}</p>"


def note(content: str) -> str:
    return f'<p class="note">{escape(content)}</p>'


def figure(drawing: str, caption: str) -> str:
    """A drawing with its caption, which is HTML."""
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = (), first_own: bool = False
) -> str:
    """A table of HTML cells under plain titles; numbers are aligned to the right, and the first row may stand out."""
    kinds = [' class="n"' if place in right else "" for place in range(len(heads))]
    title = "".join(f"<th{kind}>{escape(head)}</th>" for kind, head in zip(kinds, heads, strict=True))
    body = ""
    for number, row in enumerate(rows):
        own = ' class="own"' if first_own and number == 0 else ""
        cells = "".join(f"<td{kind or _unbroken(cell)}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True))
        body += f"<tr{own}>{cells}</tr>"
    return f'<div class="wide"><table><thead><tr>{title}</tr></thead><tbody>{body}</tbody></table></div>'


def _unbroken(cell: str) -> str:
    return ' class="w"' if WHOLE.fullmatch(cell) else ""
