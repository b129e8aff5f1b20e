"""Measure a run on files that it has not learned from; they come in the form that training took."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import ConfigError, UserError
from regard.data.text.corpus import Corpus, check_length
from regard.data.text.files import TEXT, check_columns
from regard.data.text.labelled import check_labels, read_labelled, read_row_trees
from regard.data.text.masked import MaskedWindows
from regard.data.text.pair_files import read_filled, read_pair_trees, read_pairs
from regard.data.text.tokens import read_tokens, write_tokens
from regard.data.text.windows import Windows
from regard.decode import Beam
from regard.parts.positions import Learned
from regard.recipes.encoded import tell_unknown
from regard.recipes.image_classifier import measure_images
from regard.recipes.summariser import score_summaries, usual_length
from regard.run import Run
from regard.store import CONFIG, read_config
from regard.tasks import Classify, ClassifyImages, FillMasked, LanguageModel, Summarise, Translate
from regard.tasks.classify import label_scores
from regard.tasks.fill import fill_scores
from regard.tasks.language import count_characters, language_scores
from regard.tasks.scores import rouge_protocol, signatures, translation_scores
from regard.text import Tokenizer
from regard.train import evaluate

ROWS = 64  # in a batch: only speed depends on it
LONGEST = 256  # tokens that are written for a line


def measure(
    run: Run,
    files: tuple[str, ...],
    longest: int = LONGEST,
    *,
    beam: Beam | None = None,
    trees: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Scores, with what exactly was counted. Files call their columns as those of training did, or as `columns` say."""
    writes = isinstance(run.task, Translate | Summarise)
    for name, changed in (("beam", beam is not None), ("longest", longest != LONGEST)):
        if changed and not writes:
            raise ConfigError(f"{name}: {run.path} writes no text that is measured; leave it out")
    if trees and not isinstance(run.task, Classify | Translate):
        raise ConfigError(f"{run.path}: neither translates nor classifies texts, so {trees[0]} is of no use to it")
    if isinstance(run.task, ClassifyImages):
        if columns:
            raise ConfigError(f"columns: {run.path} reads images; leave them out")
        return measure_images(run, files)
    if run.tokenizer is None:
        raise UserError(f"{run.path}: has no tokenizer, so it cannot read {files[0]}")
    columns = columns or _columns(run, files)
    if isinstance(run.task, LanguageModel):
        return _language(run, run.task, files, columns)
    if isinstance(run.task, FillMasked):
        return _masked(run, run.task, files, columns)
    if isinstance(run.task, Classify):
        return _labels(run, files, trees, columns)
    if isinstance(run.task, Translate):
        return _translation(run, files, longest, beam, trees, columns)
    if isinstance(run.task, Summarise):
        return _summaries(run, files, longest, beam, columns)
    raise UserError(f"{run.path}: says nothing of the task it was trained for, so nothing can be measured")


def _language(run: Run, task: LanguageModel, files: tuple[str, ...], columns: tuple[str, ...]) -> dict[str, Any]:
    """One pass in windows that do not overlap: each token is told from those before it in its own window."""
    length = _window(run, task.length)
    with _tokens(run, files, columns) as (tokens, tokenizer):
        nats = evaluate(run.model, LanguageModel(), Windows(tokens, length, ROWS))
        characters = count_characters(tokenizer, tokens[1:])
        count = len(tokens) - 1
    protocol = f"windows of {length} tokens that do not overlap"
    return {**language_scores(nats, count, characters), "tokens": count, "protocol": protocol}


@contextmanager
def _tokens(run: Run, files: tuple[str, ...], columns: tuple[str, ...]) -> Iterator[tuple[np.ndarray, Tokenizer]]:
    """The text of the files in tokens, on disk as long as they are needed."""
    assert run.tokenizer is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens"
        check_columns(columns, TEXT)
        write_tokens(map(Path, files), run.tokenizer, path, columns)
        tokens = check_length(read_tokens(path), files)
        tell_unknown(run.tokenizer, tokens, ", ".join(files))
        yield tokens, run.tokenizer


def _window(run: Run, told: int | None) -> int:
    """Tokens of a window: as the task says, or the data of a run from before tasks did, or as many as is usual."""
    length = told or _data(run).get("length") or Corpus.length
    position = getattr(run.config, "position", None)
    return min(int(length), position.length) if isinstance(position, Learned) else int(length)


def _data(run: Run) -> Mapping[str, Any]:
    """What the run was trained on, as far as it tells: the folder of another library says nothing."""
    data = read_config(run.path).get("data") if (run.path / CONFIG).exists() else None
    return data if isinstance(data, dict) else {}


def _columns(run: Run, files: tuple[str, ...]) -> tuple[str, ...]:
    """What the files of training called their fields; two that run in parallel have none."""
    parallel = len(files) == 2 and isinstance(run.task, Translate | Summarise)
    return () if parallel else tuple(map(str, _data(run).get("columns") or ()))


def _masked(run: Run, task: FillMasked, files: tuple[str, ...], columns: tuple[str, ...]) -> dict[str, Any]:
    """The same words are hidden whenever the same text is measured."""
    length = _window(run, task.length)
    with _tokens(run, files, columns) as (tokens, tokenizer):
        windows = MaskedWindows(tokens, length, tokenizer, task.share, ROWS)
        scores = fill_scores(run.model, windows)
        count = sum(int(batch.counted.sum()) for batch in windows.once())
    protocol = f"{task.share:.0%} of the words hidden, the same ones every time, in windows of {length} tokens"
    return {**scores, "hidden": count, "protocol": protocol}


def _labels(run: Run, files: tuple[str, ...], trees: tuple[str, ...], columns: tuple[str, ...]) -> dict[str, Any]:
    assert isinstance(run.task, Classify)
    rows = read_labelled(files, columns)
    check_labels(rows, run.task.labels)
    answers = run.classify([row.fields[1] for row in rows], read_row_trees(trees, rows))
    return {**label_scores(answers, [row.fields[0] for row in rows]), "texts": len(rows)}


def _translation(
    run: Run,
    files: tuple[str, ...],
    longest: int,
    beam: Beam | None,
    trees: tuple[str, ...],
    columns: tuple[str, ...],
) -> dict[str, Any]:
    pairs = list(read_pairs(files, columns))
    if not pairs:
        raise UserError(f"{', '.join(files)}: no pairs")
    parses = read_pair_trees(trees, files, columns=columns) if trees else None
    answers = run.translate([source for source, _ in pairs], longest, beam=beam, trees=parses)
    scores = translation_scores(answers, [target for _, target in pairs])
    return {**scores, "pairs": len(pairs), "signatures": signatures()}


def _summaries(
    run: Run, files: tuple[str, ...], longest: int, beam: Beam | None, columns: tuple[str, ...]
) -> dict[str, Any]:
    documents = read_filled(files, columns)
    words = usual_length([targets for _, targets in documents])
    return {
        **score_summaries(run, documents, longest, beam),
        "documents": len(documents),
        "cut": run.how_many_cut([source for source, _ in documents]),  # longer than what is read of them
        "protocol": f"{rouge_protocol()}; first_words: the first {words} words of each document",
    }
