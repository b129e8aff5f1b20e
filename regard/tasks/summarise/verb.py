"""`regard train summarise` and `regard summarise`."""

import logging
from pathlib import Path

from regard.core.errors import at_least
from regard.tasks.inputs import read_lines
from regard.tasks.options import Changes, TextOptions, columns_setting, strings

log = logging.getLogger(__name__)


def train_summarise(
    options: TextOptions,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    columns: tuple[str, ...] = (),
    changes: Changes = None,
) -> int:
    """Train a summariser from documents and their summaries, for `regard summarise`.

    --model chooses Transformer, RNN or DecoderOnly; for long documents --model DecoderOnly --model.attention Window
    --model.alternate Compressed, with --task.max-length tokens read of each. Any setting can be changed with a dotted
    option; --show-settings prints them all.

    Parameters
    ----------
    train
        One file with a document and its summary, or several, in each row (.tsv, .csv, .jsonl, .parquet; also
        compressed), or two parallel files.
    valid
        Validation files of the same form.
    columns
        Names of the document and summary columns, if they are not named source and target.
    """
    from regard.tasks.summarise.recipe import summariser

    plan = summariser(strings(train), strings(valid))
    return options.train(plan, {**columns_setting(columns), **(changes or {})})


def summarise(run: Path, *, beam: int = 1, max_tokens: int = 128, precision: str = "auto") -> None:
    """Summarise the lines of standard input, one document a line.

    Parameters
    ----------
    run
        Run folder of a summariser.
    beam
        Beam width; 5 is better than 1 and slower.
    max_tokens
        Maximum number of tokens to write for a document.
    precision
        Of the weights while writing, as of `regard generate`: auto, float32, bfloat16 or int8.
    """
    from regard.decode import Beam, accelerate
    from regard.decode.accelerate import check_choice
    from regard.tasks.run import load_run

    at_least(1, beam=beam)
    check_choice(precision)
    loaded, texts = load_run(run), read_lines()
    accelerate(loaded.model, precision)
    if truncated := loaded.count_truncated(texts):
        log.info(f"{truncated:,} of {len(texts):,} documents are longer than what is read of them: truncated")
    for summary in loaded.summarise(texts, max_tokens, beam=Beam(beam) if beam != 1 else None):
        print(summary)


TRAIN = {"summarise": train_summarise}
USE = (summarise,)
