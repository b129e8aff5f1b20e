"""The report on the heads of one or several runs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from regard.core.files import write_text
from regard.studies.heads.importance import Head, HeadResults
from regard.studies.heads.roles import MIN_EXCESS, main_role
from regard.studies.heads.syntax import MIN_WORDS
from regard.studies.runner.plots import canvas
from regard.studies.runner.report import Block, Figure, Heading, Paragraph, Table, command, write_report

NEGLIGIBLE = 0.001  # increase of the loss


def report_heads(folder: Path, results: Sequence[HeadResults]) -> None:
    blocks: list[Block] = [command()]
    for i, one in enumerate(results):
        blocks += [Heading(str(one.run)), Paragraph(_summary(one)), _figure(one, i), _table(one), *_relations(one)]
    blocks.append(Paragraph(_explanation(results)))
    write_text(folder / "heads.json", json.dumps([{**asdict(one), "run": str(one.run)} for one in results], indent=1))
    write_report(folder, "What heads attend to, and what each is worth", blocks)


def _summary(results: HeadResults) -> str:
    free = sum(head.loss_increase <= NEGLIGIBLE for head in results.heads)
    text = (
        f"Loss **{results.loss:.4f}** on {results.batches} batches. Of {len(results.heads)} heads, {free} can be "
        f"masked, one at a time, at a cost of at most {NEGLIGIBLE}."
    )
    if results.relations:
        best = results.relations[0]
        text += (
            f" The head that follows syntax best, {best.layer} {best.head}, attends most to the syntactic head of a "
            f"word in **{best.accuracy:.1%}** of cases; a fixed offset of {best.offset:+d} words finds it in "
            f"{best.offset_accuracy:.1%}."
        )
    return text


def _table(results: HeadResults) -> Table:
    uniform: dict[str, float] = {}
    for head in results.heads:
        for role, (_, share) in head.shares.items():
            uniform[role] = max(uniform.get(role, 0.0), share)
    roles = [role for role, share in uniform.items() if share > 0]  # a causal model has no next token
    header = ["layer", "head", "loss increase", "role", *roles]
    if results.relations:
        header.append("syntax")
    return Table(header, [_row(head, roles, bool(results.relations)) for head in results.heads])


def _row(head: Head, roles: Sequence[str], syntax: bool) -> list[str]:
    shares = [f"{head.shares[role][0]:.0%} ({head.shares[role][1]:.0%})" if head.shares else "" for role in roles]
    role = main_role(head.shares) if head.shares else "–"
    row = [head.layer, str(head.head), f"{head.loss_increase:+.4f}", role, *shares]
    return [*row, "–" if head.syntax is None else f"{head.syntax:.1%}"] if syntax else row


def _relations(results: HeadResults) -> list[Block]:
    if not results.relations:
        return []
    rows = [
        [one.relation, f"{one.words:,}", f"{one.layer} {one.head}", f"{one.accuracy:.1%}", f"{one.offset:+d}",
         f"{one.offset_accuracy:.1%}"]
        for one in results.relations
    ]  # fmt: skip
    text = (
        "For each dependency relation: the head that attends to the syntactic head most often, and the most frequent "
        "offset in words. Both are selected on every second sentence and evaluated on the others; relations with fewer "
        f"than {MIN_WORDS} words in either half are omitted."
    )
    header = ["relation", "words", "head", "accuracy", "offset", "accuracy of the offset"]
    return [Paragraph(text), Table(header, rows)]


def _explanation(results: Sequence[HeadResults]) -> str:
    text = (
        "Each share is the attention on such a token, where there is one; in brackets that of uniform attention. A "
        f"head has a role if its share exceeds uniform attention by {MIN_EXCESS:.0%}. Heads are masked one at a time: "
        "heads that can replace each other all look cheap."
    )
    if any("duplicate" in role for one in results for head in one.heads for role in head.shares):
        text += (
            " The duplicate of a row is a copy that shows the target which is hidden in the row; loss increases are "
            "measured without it."
        )
    return text


def _figure(results: HeadResults, number: int) -> Figure:
    layers = list(dict.fromkeys(head.layer for head in results.heads))
    width = max(head.head for head in results.heads) + 1
    grid = [[float("nan")] * width for _ in layers]
    for head in results.heads:
        grid[layers.index(head.layer)][head.head] = head.loss_increase
    with canvas(1.8 + 0.55 * width, 0.9 + 0.34 * len(layers)) as drawing:
        image = drawing.axes.imshow(grid, cmap="magma_r", aspect="auto", vmin=0)
        drawing.axes.set_yticks(range(len(layers)), layers)
        drawing.axes.set_xticks(range(width))
        drawing.axes.set_xlabel("head")
        drawing.figure.colorbar(image, label="increase of the loss")
    return Figure(f"heads-{number}", drawing.svg, "Increase of the loss when a head is masked.")
