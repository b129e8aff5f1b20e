"""Verbs that train: each settles a recipe with the user's changes and makes a run of it."""

from pathlib import Path

from regard.cli.app import Changes, pretrain, train
from regard.cli.run_options import CorpusRun, Run, TextRun, columns_setting, tree_settings


@train.command(name="dates")
def train_dates(run: TextRun, *, changes: Changes = None) -> int:
    """Written dates in seven languages to ISO dates (generated data).

    Any setting can be changed with a dotted option, such as --model.layers 4 or --training.optimiser Muon;
    --show-settings prints them all.
    """
    from regard.recipes import dates, train_translator

    return run.make(dates(), changes, train_translator)


@train.command(name="lm")
def train_lm(run: CorpusRun, *, changes: Changes = None) -> int:
    """A language model of your own text, which `regard generate` then writes with.

    Any setting can be changed with a dotted option, such as --model.layers 4 or --data.tokenizer BPE;
    --show-settings prints them all.
    """
    from regard.recipes import language, train_language_model

    return run.make(language(run.files), changes, train_language_model)


@train.command(name="fill")
def train_fill(run: CorpusRun, *, changes: Changes = None) -> int:
    """An encoder of your own text that fills in hidden words, for `regard fill` and for `regard train classify --init`.

    Any setting can be changed with a dotted option, such as --model.layers 6 or --data.tokenizer WordPiece;
    --show-settings prints them all.
    """
    from regard.recipes import filler, train_filler

    return run.make(filler(run.files), changes, train_filler)


@train.command(name="translate")
def train_translate(
    run: TextRun,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    columns: tuple[str, ...] = (),
    trees: tuple[Path, ...] = (),
    valid_trees: tuple[Path, ...] = (),
    changes: Changes = None,
) -> int:
    """A translator from pairs of sentences, for `regard translate`.

    --model chooses transformer, rnn-attention or rnn, or any model that reads a source, such as DecoderOnly. Any
    setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Two files that run in parallel, or one with source and target in each row (.tsv, .csv, .jsonl, .parquet).
    valid
        The same, to measure by.
    columns
        Names of the columns of the source and of its target, where files call them otherwise than source and target.
    trees
        CoNLL-U files with the dependency tree of each source, in the same order (for --model.position Tree).
    valid_trees
        The same of the sources to measure by.
    """
    from regard.recipes import MODELS, train_translator, translator

    changes = dict(changes or {})
    named = changes.get("model")
    model = changes.pop("model") if isinstance(named, str) and named in MODELS else "transformer"
    plan = translator(tuple(map(str, train)), tuple(map(str, valid)), model)
    return run.make(
        plan, {**columns_setting(columns), **tree_settings(trees, valid_trees), **(changes or {})}, train_translator
    )


@train.command(name="summarise")
def train_summarise(
    run: TextRun,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    columns: tuple[str, ...] = (),
    changes: Changes = None,
) -> int:
    """A summariser from documents and their summaries, for `regard summarise`.

    --model chooses Transformer, RNN or DecoderOnly; for long documents --model DecoderOnly --model.attention Window
    --model.alternate Compressed, with --task.longest tokens read of each. Any setting can be changed with a dotted
    option; --show-settings prints them all.

    Parameters
    ----------
    train
        One file with a document and its summary, or several, in each row (.tsv, .csv, .jsonl, .parquet; also packed),
        or two that run in parallel.
    valid
        The same, to measure by.
    columns
        Names of the columns of the document and of its summary, where files call them otherwise than source and target.
    """
    from regard.recipes import summariser, train_summariser

    plan = summariser(tuple(map(str, train)), tuple(map(str, valid)))
    return run.make(plan, {**columns_setting(columns), **(changes or {})}, train_summariser)


@train.command(name="classify")
def train_classify(
    run: TextRun,
    *,
    train: tuple[Path, ...],
    valid: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    init: Path | None = None,
    trees: tuple[Path, ...] = (),
    valid_trees: tuple[Path, ...] = (),
    changes: Changes = None,
) -> int:
    """A classifier from labelled texts, for `regard classify`.

    Any setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Files with a label and a text in each row (.tsv, .csv, .jsonl, .parquet; also packed).
    valid
        The same, to measure by; without it a tenth of the rows is held out for that.
    columns
        Names of the columns of the label and of its text, where files call them otherwise than label and text.
    init
        Begin from what another run has learned: one of `train fill` or of `train classify`, or a Hugging Face BERT.
    trees
        CoNLL-U files with the dependency tree of each text, in the same order (for --model.position Tree).
    valid_trees
        The same of the texts to measure by.
    """
    from regard.recipes import classifier, train_classifier, tuned

    plan = classifier(tuple(map(str, train)), tuple(map(str, valid)))
    settings = {**columns_setting(columns), **tree_settings(trees, valid_trees)}
    if init is not None:
        settings["init"] = str(init)
        plan = plan if run.goes_on else tuned(plan, init)
    return run.make(plan, {**settings, **(changes or {})}, train_classifier)


@train.command(name="image")
def train_image(run: Run, *, train: tuple[Path, ...], valid: tuple[Path, ...] = (), changes: Changes = None) -> int:
    """A classifier of images, for `regard classify`: a Vision Transformer of your own.

    Any setting can be changed with a dotted option, such as --model.image 64 or --data.augment.flip 0.5;
    --show-settings prints them all.

    Parameters
    ----------
    train
        A folder with a sub-folder of images for each class; or one of idx files (train-images-idx3-ubyte.gz, …); or an
        .npz with the arrays images and labels; or a file with a path and a label in each row (.csv, .tsv, .jsonl).
    valid
        The same, to measure by; without it a tenth of the images is held out for that.
    """
    from regard.recipes import image_classifier, train_image_classifier

    plan = image_classifier(tuple(map(str, train)), tuple(map(str, valid)))
    return run.make(plan, changes, train_image_classifier)


@pretrain.command(name="tables")
def pretrain_tables(run: Run, *, init: Path | None = None, changes: Changes = None) -> int:
    """Pre-train the in-context table model on synthetic tables, as the shipped weights were.

    Any setting can be changed with a dotted option, such as --model.layers 8 or --data.max-rows 2048;
    --show-settings prints them all.

    Parameters
    ----------
    init
        Begin from what another run of this command has learned, as far as the two networks are alike.
    """
    from regard.recipes import table_reader, train_table_reader

    settings = {} if init is None else {"init": str(init)}
    return run.make(table_reader(), {**settings, **(changes or {})}, train_table_reader)
