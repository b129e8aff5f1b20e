"""Tagged sentences: a label for each word, such as its part of speech or the named entity it belongs to.

Two formats are read, plain or compressed: CoNLL-U, where any column can be the label, and files with a word and its
label on each line, separated by a tab or by spaces, with an empty line between sentences (CoNLL-2003).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.core.errors import ConfigError, UserError, at_least, did_you_mean, share
from regard.data.decompress import compression_of
from regard.data.split import validation_rows
from regard.data.text.lines import read_lines
from regard.data.trees.conllu_rows import COLUMNS, ID, read_sentences
from regard.text import BPE, TokenizerConfig

LABEL_COLUMNS = tuple(name for name in COLUMNS if name not in ("id", "form", "head", "deps"))  # of CoNLL-U
EMPTY = "_"  # a CoNLL-U column without a value
DOCUMENT = "-DOCSTART-"  # the first word of the line between two documents in CoNLL-2003
LINES = 200  # looked at to detect the format


@dataclass(frozen=True)
class TaggedSentence:
    words: tuple[str, ...]
    labels: tuple[str, ...]  # one for each word
    where: str  # file and line, for error messages


@dataclass(frozen=True, kw_only=True)
class TaggedFiles:
    train: tuple[str, ...]
    valid: tuple[str, ...] = ()  # none: a random part of the sentences of `train`, the same each time
    valid_fraction: float = 0.1  # of the training sentences, if `valid` is not given
    column: str = "upos"  # the label, in CoNLL-U files; in other files the label is in the last column
    max_length: int = 128  # tokens read of a sentence
    tokenizer: TokenizerConfig | None = BPE(vocab=8000)  # None: that of the pre-trained model

    def __post_init__(self) -> None:
        check_column(self.column)
        at_least(3, max_length=self.max_length)
        share(valid_fraction=self.valid_fraction)
        if not self.train:
            raise ConfigError("train: at least one file is needed")

    def sentences(self) -> tuple[list[TaggedSentence], list[TaggedSentence]]:
        """Training and validation sentences."""
        train = self.read(self.train)
        if self.valid:
            return train, self.read(self.valid)
        if len(train) < 2:
            raise UserError(f"{self.train[0]}: has one sentence, so none can be held out; use --valid")
        held_out = validation_rows([None] * len(train), self.valid_fraction)
        chosen = set(held_out)
        return [one for i, one in enumerate(train) if i not in chosen], [train[i] for i in held_out]

    def read(self, files: Sequence[str]) -> list[TaggedSentence]:
        return [sentence for file in files for sentence in read_tagged(Path(file), self.column)]


def check_column(column: str) -> None:
    if column not in LABEL_COLUMNS:
        raise ConfigError(f"column: {column!r} is not a label column of CoNLL-U; {did_you_mean(column, LABEL_COLUMNS)}")


def read_tagged(path: Path, column: str = "upos") -> list[TaggedSentence]:
    """The sentences of a file with the label of each word; `column` chooses the label in CoNLL-U."""
    check_column(column)
    sentences = list(_conllu(path, column) if is_conllu(path) else _columns(path))
    if not sentences:
        raise UserError(f"{path}: no tagged sentences")
    return sentences


def is_conllu(path: Path) -> bool:
    """By name, or by the first line that is neither empty nor a comment: ten columns, the first a word number."""
    name = path.name.removesuffix(path.suffix) if compression_of(path) else path.name
    if name.lower().endswith((".conllu", ".conllup")):
        return True
    rows = (line.split("\t") for _, line in islice(read_lines(path), LINES) if line.strip() and line[0] != "#")
    first = next(rows, [""])
    return len(first) == len(COLUMNS) and ID.fullmatch(first[0]) is not None


def _conllu(path: Path, column: str) -> Iterator[TaggedSentence]:
    """Syntactic words carry the labels: a multiword token gives its parts, empty nodes are skipped."""
    labelled = False
    for sentence in read_sentences(path):
        labels = sentence.column(column)
        labelled = labelled or any(label != EMPTY for label in labels)
        yield TaggedSentence(sentence.column("form"), labels, f"{path}, line {sentence.line}")
    if not labelled:
        raise UserError(f"{path}: the column {column} is empty for every word; choose another with --data.column")


def _columns(path: Path) -> Iterator[TaggedSentence]:
    words: list[tuple[str, str]] = []
    start, expected = 0, 0
    for number, line in read_lines(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or fields[0] == DOCUMENT:
            if words:
                yield _sentence(path, start, words)
            words = []
            continue
        if line.startswith("#") and not words and "\t" not in line:  # "#" can also be a word
            continue
        fields = [field.strip() for field in fields]
        expected = expected or len(fields)
        if len(fields) < 2 or not fields[0] or not fields[-1]:
            raise UserError(f"{path}, line {number}: a word and its label are needed, separated by a tab or a space")
        if len(fields) != expected:
            raise UserError(f"{path}, line {number}: has {len(fields)} columns, the lines before it {expected}")
        start = start if words else number
        words.append((fields[0], fields[-1]))
    if words:
        yield _sentence(path, start, words)


def _sentence(path: Path, line: int, words: Sequence[tuple[str, str]]) -> TaggedSentence:
    return TaggedSentence(tuple(word for word, _ in words), tuple(label for _, label in words), f"{path}, line {line}")


def tag_labels(sentences: Sequence[TaggedSentence]) -> tuple[str, ...]:
    """The labels that occur, sorted."""
    labels = tuple(sorted({label for sentence in sentences for label in sentence.labels}))
    if len(labels) < 2:
        raise UserError(f"{sentences[0].where}: every word has the label {labels[0]!r}; at least two labels are needed")
    return labels


def check_tag_labels(sentences: Sequence[TaggedSentence], labels: Sequence[str]) -> None:
    """Refuse a label that does not occur in training."""
    known = set(labels)
    for sentence in sentences:
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            if label not in known:
                hint = did_you_mean(label, labels[:20])
                raise UserError(
                    f"{sentence.where}: the label {label!r} of {word!r} does not occur in the training files; {hint}"
                )
