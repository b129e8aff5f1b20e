"""Alignment files: FASTA and A3M, Stockholm, Clustal, and .aln with one sequence a line; plain or compressed.

The content decides, not the name of the file. Lower-case letters and dots of A3M are insertions beside the columns of
the first sequence, and are dropped.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.core.errors import UserError
from regard.data.alignments.alignment import Alignment, encode
from regard.data.alignments.alphabet import Molecule
from regard.data.decompress import open_decompressed

CLUSTAL = re.compile(r"^(CLUSTAL|MUSCLE|PROBCONS)", re.IGNORECASE)
MARKS = re.compile(r"^[\s*:.]*$")  # of Clustal, under a block: how well a column is conserved
BYTES = 2**28  # of a file that is not an alignment of one family
BINARY = 2**13  # bytes in which a file that is no text has a zero

Row = tuple[str, str]


def read_alignment(path: str | Path, molecule: Molecule | None = None, data: bytes | None = None) -> Alignment:
    """The alignment of a file, or of `data`, the bytes of one with this name.

    Without `molecule`, its letters say whether it is protein or RNA.
    """
    path = Path(path)
    with open_decompressed(path, data) as file:
        content = file.read(BYTES + 1)
    if len(content) > BYTES:
        raise UserError(f"{path}: is larger than {BYTES >> 20} MiB; keep fewer sequences of the family")
    if b"\0" in content[:BINARY]:
        raise UserError(f"{path}: is no text; known are FASTA, A3M, Stockholm, Clustal and one sequence a line")
    lines = content.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise UserError(f"{path}: is empty")
    if first.startswith(">"):
        rows = _without_insertions(list(_fasta(lines)))
    elif first.startswith("# STOCKHOLM"):
        rows = _blocks(path, [line for line in lines if line.strip() and not line.startswith(("#", "//"))])
    elif CLUSTAL.match(first):
        rows = _blocks(path, [line for line in lines[1:] if not MARKS.match(line) and not CLUSTAL.match(line)])
    else:
        rows = list(_plain(path, lines))
    return encode(str(path), rows, molecule)


def _fasta(lines: list[str]) -> Iterator[Row]:
    label, parts = "", list[str]()
    for line in lines:
        if line.startswith(">"):
            if label:
                yield label, "".join(parts)
            label, parts = line[1:].split()[0] if line[1:].split() else "(no name)", []
        elif not line.startswith(";"):
            parts.append("".join(line.split()))
    yield label, "".join(parts)


def _without_insertions(rows: list[Row]) -> list[Row]:
    """A3M: rows differ in length until insertions are dropped. FASTA in lower case throughout is left as it is."""
    matched = [(label, re.sub(r"[a-z.]", "", row)) for label, row in rows]
    equal = len({len(row) for _, row in rows}) == 1
    upper = len(matched[0][1].replace("-", ""))
    if equal and (upper == 0 or not any(re.search(r"[a-z]", row) for _, row in rows)):
        return rows
    return matched


def _blocks(path: Path, lines: list[str]) -> list[Row]:
    """Stockholm and Clustal: a name and letters on each line, in one block or several."""
    rows: dict[str, list[str]] = {}
    for line in lines:
        words = line.split()
        if len(words) not in (2, 3):  # Clustal may count residues at the end
            raise UserError(f"{path}: {line[:40]!r} is not a name and its letters")
        rows.setdefault(words[0], []).append(words[1])
    return [(label, "".join(parts)) for label, parts in rows.items()]


def _plain(path: Path, lines: list[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) > 2 or not re.fullmatch(r"[A-Za-z.\-*]+", words[-1]):
            raise UserError(
                f"{path}, line {number}: {line[:40]!r} is no aligned sequence; known are FASTA, A3M, Stockholm, "
                "Clustal and one sequence a line"
            )
        yield (words[0] if len(words) == 2 else f"line {number}"), words[-1]
