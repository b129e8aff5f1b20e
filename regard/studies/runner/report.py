"""A report as a list of blocks, written as Markdown with plots beside it and as one self-contained HTML file."""

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
class Paragraph:
    """Text with `code` and **bold** in it."""

    text: str


@dataclass(frozen=True)
class CodeBlock:
    """Verbatim text: commands, settings."""

    text: str


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    name: str
    svg: str
    caption: str


Block = Heading | Paragraph | CodeBlock | Table | Figure


def write_report(folder: Path, title: str, blocks: Sequence[Block]) -> None:
    """Write `report.md` with its `plots/`, and `report.html` with the plots inside."""
    for block in blocks:
        if isinstance(block, Figure):
            (folder / "plots").mkdir(exist_ok=True)
            write_text(folder / "plots" / f"{block.name}.svg", block.svg)
    write_text(folder / "report.md", f"# {title}\n\n" + "\n\n".join(map(_markdown, blocks)) + "\n")
    body = "\n".join(map(_html, blocks))
    write_text(folder / "report.html", PAGE.format(title=html.escape(title), style=STYLE, body=body))


def command() -> CodeBlock:
    """The command line that made this report, with the versions."""
    import torch

    return CodeBlock(
        f"{shlex.join(['regard', *sys.argv[1:]])}\n# regard {regard.__version__}, torch {torch.__version__}"
    )


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(text):
            return text
        case CodeBlock(text):
            return "\n".join(f"    {line}" for line in text.splitlines())
        case Figure(name, _, caption):
            return f"![{caption}](plots/{name}.svg)\n\n*{caption}*"
        case Table(header, rows):
            table = [header, ["---"] * len(header), *rows]
            return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{_inline(text)}</h2>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case CodeBlock(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Figure(_, svg, caption):
            inline = svg[svg.index("<svg") :]  # without the XML declaration
            return f"<figure>{inline}<figcaption>{_inline(caption)}</figcaption></figure>"
        case Table(header, rows):
            head = "".join(f"<th>{_inline(cell)}</th>" for cell in header)
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
