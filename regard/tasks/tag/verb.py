"""`regard train tag` and `regard tag`."""

import json as writer
from pathlib import Path

from regard.tasks.inputs import read_lines
from regard.tasks.options import Changes, TextOptions, strings


def train_tag(
    options: TextOptions,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...] = (),
    column: str | None = None,
    changes: Changes = None,
) -> int:
    """Train a tagger, which predicts a label for each word: parts of speech, entities, any column of CoNLL-U.

    Any setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        CoNLL-U files, or files with a word and its label in each line and blank lines between sentences; also
        compressed. Labels B-kind, I-kind and O mark spans of words, which are then scored by F1.
    valid
        Validation files of the same form; without them a tenth of the sentences is held out.
    column
        The column of CoNLL-U to predict: upos (the default), xpos, lemma, feats, deprel or misc.
    """
    from regard.tasks.tag.recipe import tagger

    settings = {} if column is None else {"data.column": column}
    return options.train(tagger(strings(train), strings(valid)), {**settings, **(changes or {})})


def tag(run: Path, *, words: bool = False, json: bool = False) -> None:
    """Tag the lines of standard input: prints each word and its label, with a blank line after each sentence.

    Parameters
    ----------
    run
        Run folder of `regard train tag`.
    words
        Lines are split into words already, separated by spaces; otherwise punctuation marks are split off.
    json
        Print a JSON list of words and labels for each line.
    """
    from regard.tasks.run import load_run

    loaded, lines = load_run(run), read_lines()
    for tagged in loaded.tag([line.split() if words else line for line in lines]):
        if json:
            print(writer.dumps(tagged, ensure_ascii=False))
        else:
            print("".join(f"{word}\t{label}\n" for word, label in tagged))


TRAIN = {"tag": train_tag}
USE = (tag,)
