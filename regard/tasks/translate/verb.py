"""`regard train translate`, `regard train dates` and `regard translate`."""

from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError, at_least
from regard.tasks.inputs import read_line_trees, read_lines
from regard.tasks.options import Changes, TextOptions, columns_setting, strings, tree_settings


def train_dates(options: TextOptions, *, changes: Changes = None) -> int:
    """Train a translator of written dates in seven languages to ISO dates (generated data).

    --model chooses rnn-attention or rnn in place of the Transformer. Any setting can be changed with a dotted option,
    such as --model.layers 4 or --training.optimiser Muon; --show-settings prints them all.
    """
    from regard.tasks.translate.recipe import dates, named_model

    model, changes = named_model(changes or {})
    return options.train(dates(model), changes)


def train_translate(
    options: TextOptions,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    columns: tuple[str, ...] = (),
    trees: tuple[Path, ...] = (),
    valid_trees: tuple[Path, ...] = (),
    changes: Changes = None,
) -> int:
    """Train a translator from pairs of sentences, for `regard translate`.

    --model chooses transformer, rnn-attention or rnn, or any model that reads a source, such as DecoderOnly. Any
    setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Two parallel files, or one with source and target in each row (.tsv, .csv, .jsonl, .parquet).
    valid
        Validation files of the same form.
    columns
        Names of the source and target columns, if they are not named source and target.
    trees
        CoNLL-U files with the dependency tree of each source, in the same order (for --model.position Tree).
    valid_trees
        The trees of the validation sources.
    """
    from regard.tasks.translate.recipe import named_model, translator

    model, changes = named_model(changes or {})
    plan = translator(strings(train), strings(valid), model or "transformer")
    return options.train(plan, {**columns_setting(columns), **tree_settings(trees, valid_trees), **changes})


def translate(
    run: Path,
    *,
    beam: int = 1,
    nbest: int = 1,
    scores: bool = False,
    align: bool = False,
    max_tokens: int = 256,
    trees: tuple[Path, ...] = (),
    precision: str = "auto",
) -> None:
    """Translate the lines of standard input.

    Parameters
    ----------
    run
        Run folder of a translator, or a Hugging Face folder of one (Marian, T5).
    beam
        Beam width; 5 is better than 1 and slower.
    nbest
        Print this many translations of a line, best first, each after the number of its line and its score.
    scores
        Print the mean log-probability of a token before each translation.
    align
        Print after each translation the word of the line that each of its words attends to: 0-0 2-1, from 0.
    max_tokens
        Maximum number of tokens to write for a line.
    trees
        CoNLL-U files with the tree of each line, in the same order, for a run with Tree positions.
    precision
        Of the weights while writing, as of `regard generate`: auto, float32, bfloat16 or int8.
    """
    from regard.decode import Beam, accelerate
    from regard.decode.accelerate import check_choice
    from regard.tasks.run import load_run

    at_least(1, beam=beam, nbest=nbest)
    check_choice(precision)
    if nbest > beam:
        raise ConfigError(f"--nbest {nbest}: a beam of {beam} finds only {beam}; give --beam {nbest} or more")
    loaded, texts = load_run(run), read_lines()
    accelerate(loaded.model, precision)
    search = Beam(beam) if beam != 1 else None
    parses = read_line_trees(trees, texts)
    sources = [text for text in texts if text.strip() or parses]  # nothing is invented for a blank line
    translations = loaded.translations(sources, max_tokens, beam=search, trees=parses)
    if search is None and scores:
        likely = loaded.score([(text, best[0].text) for text, best in zip(sources, translations, strict=True)], parses)
        translations = [[replace(best[0], score=score)] for best, score in zip(translations, likely, strict=True)]
    remaining = iter(translations)
    for number, text in enumerate(texts, 1):
        if not text.strip() and not parses:
            print()
            continue
        for one in next(remaining)[:nbest]:
            cells = [str(number)] if nbest > 1 else []
            cells += [f"{one.score:.4f}"] if scores or nbest > 1 else []
            cells.append(one.text)
            if align:
                tree = parses[number - 1] if parses else None
                cells.append(" ".join(f"{read}-{word}" for read, word in loaded.align(text, one.text, tree)))
            print("\t".join(cells))


TRAIN = {"dates": train_dates, "translate": train_translate}
USE = (translate,)
