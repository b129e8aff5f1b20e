"""The heads of one or several runs in words."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from regard.core.files import write_text
from regard.studies.heads.heads import Head, Heads
from regard.studies.heads.roles import OTHER_THAN_BY_CHANCE, named
from regard.studies.heads.syntax import FEWEST
from regard.studies.runner.plots import canvas
from regard.studies.runner.report import Block, Grid, Heading, Picture, Words, command, write_report


def report_heads(folder: Path, found: Sequence[Heads]) -> None:
    blocks: list[Block] = [command()]
    for number, one in enumerate(found):
        blocks += [Heading(str(one.run)), Words(_told(one)), _picture(one, number), _table(one), *_relations(one)]
    blocks.append(Words(_how_to_read(found)))
    write_text(folder / "heads.json", json.dumps([{**asdict(one), "run": str(one.run)} for one in found], indent=1))
    write_report(folder, "What heads attend to, and what each is worth", blocks)


def _told(found: Heads) -> str:
    free = sum(head.cost <= 0.001 for head in found.heads)
    told = (
        f"Loss **{found.loss:.4f}** on {found.batches} batches. Of {len(found.heads)} heads {free} can be silenced, "
        "one at a time, for at most 0.001."
    )
    if found.relations:
        every = found.relations[0]
        told += (
            f" The head that follows syntax best, {every.layer} {every.number}, looks most at the word that a word "
            f"hangs from in **{every.share:.1%}** of cases; always looking {every.offset:+d} words away would in "
            f"{every.by_offset:.1%}."
        )
    return told


def _table(found: Heads) -> Grid:
    every = {role: max(0.0, *chances) for role, chances in _chances(found).items()}
    roles = [role for role, chance in every.items() if chance > 0]  # who reads left to right has no next token
    heads = ["layer", "head", "cost of losing it", "looks at", *roles]
    if found.relations:
        heads.append("syntax")
    return Grid(heads, [_row(head, roles, bool(found.relations)) for head in found.heads])


def _relations(found: Heads) -> list[Block]:
    if not found.relations:
        return []
    rows = [
        [one.name, f"{one.words:,}", f"{one.layer} {one.number}", f"{one.share:.1%}", f"{one.offset:+d}",
         f"{one.by_offset:.1%}"]
        for one in found.relations
    ]  # fmt: skip
    told = (
        "By the relation that a word has to the word it hangs from: the head that looks there most often, and the "
        "distance in words at which it stands most often. Both are chosen by every other sentence and counted on "
        f"those between; relations of fewer than {FEWEST} words in either half are not shown."
    )
    return [Words(told), Grid(["relation", "words", "head", "looks there", "distance", "stands there"], rows)]


def _chances(found: Heads) -> dict[str, list[float]]:
    chances: dict[str, list[float]] = {}
    for head in found.heads:
        for role, (_, chance) in head.shares.items():
            chances.setdefault(role, []).append(chance)
    return chances


def _row(head: Head, roles: Sequence[str], syntax: bool) -> list[str]:
    shares = [f"{head.shares[role][0]:.0%} ({head.shares[role][1]:.0%})" if head.shares else "" for role in roles]
    row = [head.layer, str(head.number), f"{head.cost:+.4f}", named(head.shares) if head.shares else "–", *shares]
    return [*row, "–" if head.syntax is None else f"{head.syntax:.1%}"] if syntax else row


def _how_to_read(found: Sequence[Heads]) -> str:
    told = (
        "Each share is the attention that falls on such a place, where there is one; in brackets what a head gives "
        f"that looks at all it may alike. A head is named by a role which it has {OTHER_THAN_BY_CHANCE:.0%} beyond it. "
        "Costs are of one head at a time: heads that can stand in for each other all look cheap."
    )
    if any("duplicate" in role for one in found for head in one.heads for role in head.shares):
        told += (
            " The duplicate of a row of a table is a copy that shows the target which the row hides; costs are "
            "without it."
        )
    return told


def _picture(found: Heads, number: int) -> Picture:
    layers = list(dict.fromkeys(head.layer for head in found.heads))
    most = max(head.number for head in found.heads) + 1
    grid = [[float("nan")] * most for _ in layers]
    for head in found.heads:
        grid[layers.index(head.layer)][head.number] = head.cost
    with canvas(1.8 + 0.55 * most, 0.9 + 0.34 * len(layers)) as drawing:
        image = drawing.axes.imshow(grid, cmap="magma_r", aspect="auto", vmin=0)
        drawing.axes.set_yticks(range(len(layers)), layers)
        drawing.axes.set_xticks(range(most))
        drawing.axes.set_xlabel("head")
        drawing.figure.colorbar(image, label="rise of the loss")
    return Picture(f"heads-{number}", drawing.svg, "What the loss rises by when a head is silent.")
