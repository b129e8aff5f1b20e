"""Pairs from files: two that run in parallel, line by line, or one with a source and a target in each row."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.text.files import Fields, Row, check_columns, read_lines, read_rows
from regard.data.trees.conllu import Parse, both_or_neither, match_trees, read_trees
from regard.text import BPE, Tokenizing

FIELDS = ("source", "target")
Pair = tuple[str, str]
Referenced = tuple[str, tuple[str, ...]]  # a source, and every target that is right for it


@dataclass(frozen=True, kw_only=True)
class PairFiles:
    train: tuple[str, ...]  # two parallel files, or one of pairs
    valid: tuple[str, ...]
    columns: tuple[str, ...] = ()  # what one file of pairs calls a source and its target; none: so
    tokenizer: Tokenizing = BPE(vocab=8000)
    trees: tuple[str, ...] = ()  # CoNLL-U: the n-th tree is that of the n-th source
    valid_trees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            _check_count(getattr(self, name), f"{name}: ")
        check_columns(self.columns, FIELDS)
        both_or_neither(self.trees, self.valid_trees)

    def pairs(self) -> dict[str, list[Pair]]:
        """The pairs to train on and to measure by. A pair with an empty side teaches nothing and is left out."""
        return {name: first_targets(rows) for name, rows in self.referenced().items()}

    def referenced(self) -> dict[str, list[Referenced]]:
        """The same with all targets of each source."""
        return {name: read_filled(getattr(self, name), self.columns) for name in ("train", "valid")}

    def parses(self) -> dict[str, list[Parse]]:
        """The trees of the sources of `pairs`; nothing where none are given."""
        given = {"train": self.trees, "valid": self.valid_trees}
        return {
            name: read_pair_trees(trees, getattr(self, name), _is_filled, self.columns)
            for name, trees in given.items()
            if trees
        }


def first_targets(rows: Sequence[Referenced]) -> list[Pair]:
    return [(source, targets[0]) for source, targets in rows]


def all_targets(rows: Sequence[Referenced]) -> list[Pair]:
    """A pair for each target: there is something to learn from every one."""
    return [(source, target) for source, targets in rows for target in targets]


def read_pairs(files: tuple[str, ...], columns: Sequence[str] = ()) -> Iterator[Pair]:
    """Every pair of one file or of two parallel ones."""
    for source, targets in read_referenced(files, columns):
        yield source, targets[0]


def read_referenced(files: tuple[str, ...], columns: Sequence[str] = ()) -> Iterator[Referenced]:
    """Every source with all its targets; of two parallel files each line has one."""
    for row in _rows(files, columns):
        yield row.fields[0], row.fields[1:]


def read_pair_trees(
    trees: tuple[str, ...],
    files: tuple[str, ...],
    keep: Callable[[Referenced], bool] = lambda row: True,
    columns: Sequence[str] = (),
) -> list[Parse]:
    """The trees beside the sources of pairs, for those pairs that are kept."""
    rows, parses = list(_rows(files, columns)), read_trees(trees)
    match_trees(parses, [row.fields[0] for row in rows], lambda number: str(rows[number]))
    return [parse for row, parse in zip(rows, parses, strict=True) if keep((row.fields[0], row.fields[1:]))]


def _check_count(files: tuple[str, ...], where: str = "") -> None:
    if len(files) not in (1, 2):
        raise ConfigError(
            f"{where}two parallel files or one file of pairs are needed, not {', '.join(files) or 'none'}"
        )


def _rows(files: tuple[str, ...], columns: Sequence[str]) -> Iterator[Row]:
    _check_count(files)
    check_columns(columns, FIELDS)
    if len(files) == 1:
        yield from read_rows(Path(files[0]), Fields.called(FIELDS, columns), more=True)
        return
    if columns:
        raise ConfigError("columns: files that run in parallel have no columns to name; leave them out")
    sources, targets = (read_lines(Path(file)) for file in files)
    while True:
        source, target = next(sources, None), next(targets, None)
        if source is None and target is None:
            return
        if source is None or target is None:
            number = (source or target or (0, ""))[0]
            longer, shorter = files if target is None else files[::-1]
            raise UserError(f"{longer}, line {number}: has no partner, for {shorter} ends before it")
        yield Row(Path(files[0]), source[0], (source[1], target[1]))


def _is_filled(row: Referenced) -> bool:
    source, targets = row
    return bool(source.strip()) and any(target.strip() for target in targets)


def read_filled(files: tuple[str, ...], columns: Sequence[str] = ()) -> list[Referenced]:
    """Sources and targets that are not empty; what is left out is counted on screen."""
    pairs = list(read_referenced(files, columns))
    filled = [
        (source, tuple(target for target in targets if target.strip())) for source, targets in filter(_is_filled, pairs)
    ]
    if not filled:
        raise UserError(f"{', '.join(files)}: no pairs")
    if len(filled) < len(pairs):
        left_out = len(pairs) - len(filled)
        print(f"{', '.join(files)}: {left_out:,} of {len(pairs):,} pairs have an empty side: left out", file=sys.stderr)
    return filled
