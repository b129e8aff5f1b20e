"""Pairs from files: two parallel files, line by line, or one file with a source and a target in each row."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.text.files import Fields, Row, check_columns, read_rows
from regard.data.text.lines import read_lines
from regard.data.text.pairs import Pair, References
from regard.data.trees.conllu import Parse, check_tree_settings, match_trees, read_trees
from regard.text import BPE, TokenizerConfig

log = logging.getLogger(__name__)
FIELDS = ("source", "target")


@dataclass(frozen=True, kw_only=True)
class PairFiles:
    train: tuple[str, ...]  # two parallel files, or one file of pairs
    valid: tuple[str, ...]
    columns: tuple[str, ...] = ()  # the names of the source and target columns, if not "source" and "target"
    tokenizer: TokenizerConfig | None = BPE(vocab=8000)  # None: that of the pre-trained model
    trees: tuple[str, ...] = ()  # CoNLL-U files: the n-th tree belongs to the n-th source
    valid_trees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            _check_count(getattr(self, name), f"{name}: ")
        check_columns(self.columns, FIELDS)
        check_tree_settings(self.trees, self.valid_trees)

    @property
    def has_trees(self) -> bool:
        return bool(self.trees)

    def pairs(self) -> dict[str, list[Pair]]:
        """Training and validation pairs. A pair with an empty side is skipped."""
        return {name: first_targets(rows) for name, rows in self.references().items()}

    def references(self) -> dict[str, list[References]]:
        """The same with all reference targets of each source."""
        return {name: read_nonempty(getattr(self, name), self.columns) for name in ("train", "valid")}

    def parses(self) -> dict[str, list[Parse]]:
        """The trees of the sources of `pairs`; empty without tree files."""
        files = {"train": self.trees, "valid": self.valid_trees}
        return {
            name: read_pair_trees(trees, getattr(self, name), _is_nonempty, self.columns)
            for name, trees in files.items()
            if trees
        }


def first_targets(rows: Sequence[References]) -> list[Pair]:
    return [(source, targets[0]) for source, targets in rows]


def all_targets(rows: Sequence[References]) -> list[Pair]:
    """One pair for each reference target, to train on all of them."""
    return [(source, target) for source, targets in rows for target in targets]


def read_pairs(files: tuple[str, ...], columns: Sequence[str] = ()) -> Iterator[Pair]:
    """Every pair of one file or of two parallel ones."""
    for source, targets in read_references(files, columns):
        yield source, targets[0]


def read_references(files: tuple[str, ...], columns: Sequence[str] = ()) -> Iterator[References]:
    """Every source with all its reference targets; in two parallel files each source has one."""
    for row in _rows(files, columns):
        yield row.fields[0], row.fields[1:]


def read_pair_trees(
    trees: tuple[str, ...],
    files: tuple[str, ...],
    keep: Callable[[References], bool] = lambda row: True,
    columns: Sequence[str] = (),
) -> list[Parse]:
    """The trees of the sources of those pairs for which `keep` is true."""
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
        yield from read_rows(Path(files[0]), Fields.named(FIELDS, columns), more=True)
        return
    if columns:
        raise ConfigError("columns: parallel files have no columns; remove the setting")
    sources, targets = (read_lines(Path(file)) for file in files)
    while True:
        source, target = next(sources, None), next(targets, None)
        if source is None and target is None:
            return
        if source is None or target is None:
            number = (source or target or (0, ""))[0]
            longer, shorter = files if target is None else files[::-1]
            raise UserError(f"{longer}, line {number}: has no counterpart, because {shorter} ends before it")
        yield Row(Path(files[0]), source[0], (source[1], target[1]))


def _is_nonempty(row: References) -> bool:
    source, targets = row
    return bool(source.strip()) and any(target.strip() for target in targets)


def read_nonempty(files: tuple[str, ...], columns: Sequence[str] = ()) -> list[References]:
    """Sources and targets that are not empty; the number of skipped pairs is logged."""
    pairs = list(read_references(files, columns))
    nonempty = [
        (source, tuple(target for target in targets if target.strip()))
        for source, targets in filter(_is_nonempty, pairs)
    ]
    if not nonempty:
        raise UserError(f"{', '.join(files)}: no pairs")
    if skipped := len(pairs) - len(nonempty):
        log.info("%s: skipped %s of %s pairs with an empty side", ", ".join(files), f"{skipped:,}", f"{len(pairs):,}")
    return nonempty
