"""`regard train classify` and `regard classify`, which takes texts and images."""

import json as writer
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import ConfigError, UserError
from regard.tasks.inputs import read_line_trees, read_lines
from regard.tasks.options import Changes, TextOptions, columns_setting, strings, tree_settings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.tasks.base import Run


def train_classify(
    options: TextOptions,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    unlabelled: tuple[Path, ...] = (),
    trees: tuple[Path, ...] = (),
    valid_trees: tuple[Path, ...] = (),
    changes: Changes = None,
) -> int:
    """Train a classifier from labelled texts, for `regard classify`.

    Any setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Files with a label and a text in each row (.tsv, .csv, .jsonl, .parquet; also compressed).
    valid
        Validation files of the same form; without them a tenth of the rows is held out.
    columns
        Names of the label and text columns, if they are not named label and text.
    unlabelled
        Files or folders of texts without labels, one on each line or in each record, to pre-train on: a model of their
        masked words, trained first (--task.pretraining.minutes 5), is where the classifier starts.
    trees
        CoNLL-U files with the dependency tree of each text, in the same order (for --model.position Tree).
    valid_trees
        The trees of the validation texts.
    """
    from regard.tasks.classify.recipe import classifier, pretrained_classifier

    if options.init is not None and unlabelled:
        raise ConfigError("--init and --unlabelled: choose one of them; `train fill` pre-trains a run for --init")
    plan = classifier(strings(train), strings(valid))
    if unlabelled:
        plan = pretrained_classifier(strings(train), strings(valid), strings(unlabelled))
    settings = {**columns_setting(columns), **tree_settings(trees, valid_trees), **(changes or {})}
    if options.continues or options.init is not None:
        return options.train(plan, settings)
    from regard.core.config import override
    from regard.tasks.classify.sizing import fitted

    plan, reasons = fitted(override(plan, columns_setting(columns)))
    return options.train(plan, settings, reasons)


def classify(run: Path, *images: Path, json: bool = False, words: bool = False, trees: tuple[Path, ...] = ()) -> int:
    """Predict the label of each line of standard input, or of each image.

    Parameters
    ----------
    run
        Run folder of a classifier.
    images
        For a classifier of images: their files, or folders of them.
    json
        Print a JSON object for each, with the probability of every label.
    words
        Print a JSON object for each line, with what each word contributes to the label: how much the log-probability
        falls when the word is left out.
    trees
        CoNLL-U files with the dependency tree of each line.
    """
    from regard.tasks.run import load_run

    loaded = load_run(run)
    if loaded.task is not None and loaded.task.unit == "images":
        if trees:
            raise ConfigError(f"{run}: classifies images, so {trees[0]} is of no use to it")
        if words:
            raise ConfigError(f"--words: {run} classifies images, which have no words")
        if not images:
            raise ConfigError(f"classify: name the images, as {run} reads no text")
        return _classify_images(loaded, images, json)
    if images:
        raise ConfigError(f"{images[0]}: {run} reads texts, a line each, from standard input: … < {images[0]}")
    lines = read_lines()
    if words:
        return _attribute(loaded, lines, trees)
    labels, probabilities = loaded.label_probabilities(lines, read_line_trees(trees, lines))
    for row in probabilities:
        print(_as_json(labels, row) if json else labels[int(row.argmax())])
    return 0


def _attribute(loaded: "Run", lines: list[str], trees: tuple[Path, ...]) -> int:
    """One JSON object a line, with the contribution of each word in nats."""
    if trees:
        raise ConfigError("--words: leaves words out, which a tree cannot; remove --trees")
    for line in lines:
        [one] = loaded.attribute([line])
        words = [[word, round(value, 4)] for word, value in one.words]
        answer = {"label": one.label, "probability": round(one.probability, 6), "words": words}
        print(writer.dumps(answer, ensure_ascii=False))
    return 0


def _classify_images(loaded: "Run", images: tuple[Path, ...], json: bool) -> int:
    """One line an image; an image that cannot be read is reported, and the others are classified."""
    from regard.data.images.image_files import files_below
    from regard.data.images.image_record import ImageRecord

    files = [file for path in images for file in (files_below(path) if path.is_dir() else [path])]
    labels, failed = loaded.task.labels, 0  # type: ignore[union-attr]
    for record, answer in loaded.each_probability(ImageRecord(str(file), "", file) for file in files):
        if isinstance(answer, UserError):
            failed += 1
            print(f"regard: {answer}", file=sys.stderr)
            if json:
                print(writer.dumps({"file": record.where, "error": str(answer)}))
        else:
            label = labels[int(answer.argmax())]
            print(_as_json(labels, answer, file=record.where) if json else f"{record.where}\t{label}")
    return 1 if failed else 0


def _as_json(labels: tuple[str, ...], probabilities: "Tensor", **more: str) -> str:
    by_label = {label: round(value, 6) for label, value in zip(labels, probabilities.tolist(), strict=True)}
    answer = {**more, "label": labels[int(probabilities.argmax())], "probabilities": by_label}
    return writer.dumps(answer, ensure_ascii=False)


TRAIN = {"classify": train_classify}
USE = (classify,)
