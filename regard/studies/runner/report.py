"""A report as blocks, written twice: Markdown for whoever reads text, and one HTML file that needs nothing else."""

import html
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import regard
from regard.core.files import write_text


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Words:
    """A paragraph; `code` may stand in it, and **what matters**."""

    text: str


@dataclass(frozen=True)
class Lines:
    """Text to be copied as it is: commands, settings."""

    text: str


@dataclass(frozen=True)
class Grid:
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    name: str
    svg: str
    told: str


Block = Heading | Words | Lines | Grid | Picture


def write_report(folder: Path, title: str, blocks: Sequence[Block]) -> None:
    """`report.md` with its plots beside it, and `report.html` with everything inside."""
    for block in blocks:
        if isinstance(block, Picture):
            (folder / "plots").mkdir(exist_ok=True)
            write_text(folder / "plots" / f"{block.name}.svg", block.svg)
    write_text(folder / "report.md", f"# {title}\n\n" + "\n\n".join(map(_markdown, blocks)) + "\n")
    body = "\n".join(map(_html, blocks))
    write_text(folder / "report.html", PAGE.format(title=html.escape(title), style=STYLE, body=body))


def command() -> Lines:
    """The words that made this report, and that make it again."""
    import torch

    return Lines(f"{shlex.join(['regard', *sys.argv[1:]])}\n# regard {regard.__version__}, torch {torch.__version__}")


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Words(text):
            return text
        case Lines(text):
            return "\n".join(f"    {line}" for line in text.splitlines())
        case Picture(name, _, told):
            return f"![{told}](plots/{name}.svg)\n\n*{told}*"
        case Grid(heads, rows):
            table = [heads, ["---"] * len(heads), *rows]
            return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{_inline(text)}</h2>"
        case Words(text):
            return f"<p>{_inline(text)}</p>"
        case Lines(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Picture(_, svg, told):
            inline = svg[svg.index("<svg") :]  # an XML declaration has no place inside a page
            return f"<figure>{inline}<figcaption>{_inline(told)}</figcaption></figure>"
        case Grid(heads, rows):
            head = "".join(f"<th>{_inline(cell)}</th>" for cell in heads)
            body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
            return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(text: str) -> str:
    number = re.fullmatch(r"[-+−±]?[\d.,]+(e[-+]?\d+)?%?( ± [\d.,]+| \(\d+%\))?", text) is not None
    kind = " class=number" if number else ""
    return f"<td{kind}>{_inline(text)}</td>"


def _inline(text: str) -> str:
    safe = html.escape(text, quote=False)
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)


STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1f }
body { max-width: 62rem; margin: 2.5rem auto; padding: 0 1.25rem }
h1 { font-size: 1.7rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
table { border-collapse: collapse; font-size: .9rem } .wide { overflow-x: auto }
th { text-align: left; border-bottom: 2px solid #999; padding: .3rem .8rem .3rem 0; vertical-align: bottom }
td { border-bottom: 1px solid #e3e3e6; padding: .28rem .8rem .28rem 0; vertical-align: top }
td:first-child { white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
pre { background: #f4f4f6; padding: .7rem .9rem; white-space: pre-wrap; font-size: .85rem; border-radius: 4px }
code { background: #f4f4f6; padding: 0 .2rem }
figure { margin: 1.2rem 0 } figure svg { max-width: 100%; height: auto }
figcaption { color: #55555c; font-size: .9rem }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""
