"""`regard train fill` and `regard fill`."""

import logging
from pathlib import Path

from regard.tasks.inputs import read_lines
from regard.tasks.options import Changes, CorpusOptions

log = logging.getLogger(__name__)


def train_fill(options: CorpusOptions, *, changes: Changes = None) -> int:
    """Train a masked language model on your own text, for `regard fill` and for `regard train classify --init`.

    Any setting can be changed with a dotted option, such as --model.layers 6 or --data.tokenizer WordPiece;
    --show-settings prints them all.
    """
    from regard.tasks.fill.recipe import masked_lm

    return options.train(masked_lm(options.files), changes)


def fill(run: Path, *, nbest: int | None = None) -> None:
    """Fill in the words that stand as [MASK] in the lines of standard input.

    Parameters
    ----------
    run
        Run folder of `regard train fill`, or a Hugging Face folder of a BERT.
    nbest
        Instead of the lines, print this many of the most probable words for each [MASK]: the number of the line, the
        number of the [MASK] in it, the word and its probability, separated by tabs. A word that begins with ##
        continues the one before it.
    """
    from regard.tasks.run import load_run
    from regard.text import MASK_PLACEHOLDER

    loaded, lines = load_run(run), read_lines()
    if nbest is None:
        for line in loaded.fill(lines):
            print(line)
    else:
        for number, masks in enumerate(loaded.candidates(lines, nbest), 1):
            for mask, words in enumerate(masks, 1):
                for word, probability in words:
                    print(number, mask, word, f"{probability:.4f}", sep="\t")
    complete = sum(MASK_PLACEHOLDER not in line for line in lines)
    if complete:
        log.info(f"{complete:,} of {len(lines):,} lines have no {MASK_PLACEHOLDER}: nothing to fill in there")


TRAIN = {"fill": train_fill}
USE = (fill,)
