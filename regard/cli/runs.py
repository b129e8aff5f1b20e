"""Verbs about runs as a whole: the demonstration, measuring, showing, shipping."""

from pathlib import Path
from typing import Any, Literal

import regard
from regard.cli.app import app
from regard.cli.tables import evaluate_table
from regard.core.errors import ConfigError, at_least


@app.command
def demo(*, out: Path = Path("runs/demo"), quick: bool = False) -> int:
    """Read a table, learn to translate dates and learn to write, each with what it looked at: about two minutes.

    Parameters
    ----------
    out
        Folder for the three runs; what an earlier demo left there is replaced.
    quick
        A few steps only, to see that everything runs.
    """
    from regard.demo import run_demo

    return run_demo(out, quick)


@app.command
def evaluate(
    run: Path,
    *files: Path,
    json: bool = False,
    beam: int = 1,
    longest: int = 256,
    trees: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
) -> None:
    """Measure a run on files that it has not learned from.

    Parameters
    ----------
    run
        Run folder.
    files
        Files as in training: running text, labelled texts, images (of idx files and .npz their test part), or for a
        translator two parallel files or one of pairs;
        a summariser is compared with the first words of each document. For a table, one with the target in it.
    json
        Print one JSON object.
    beam
        Beginnings that a translator or a summariser keeps at every word.
    longest
        Most tokens to write for a line.
    trees
        CoNLL-U files with the dependency tree of each source, or of each text that has a label.
    columns
        Names of the columns, as in training, where these files call them otherwise than those did.
    """
    from regard.decode import Beam
    from regard.loading import holds_table
    from regard.recipes.measure import measure

    at_least(1, beam=beam, longest=longest)
    if not files:
        raise ConfigError("evaluate: name the files to measure by")
    if holds_table(run):
        others = {"beam": beam != 1, "longest": longest != 256, "trees": trees, "columns": columns}
        print_scores(evaluate_table(run, files, **others), json)
        return
    search, beside = Beam(beam) if beam != 1 else None, tuple(map(str, trees))
    named = tuple(map(str, files))
    print_scores(measure(regard.load(run), named, longest, beam=search, trees=beside, columns=columns), json)


def print_scores(scores: dict[str, Any], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(scores))
        return
    for name, value in scores.items():
        if isinstance(value, dict):
            print_scores({f"{name}.{part}": own for part, own in value.items()}, as_json)
        else:
            print(f"{name}: {f'{value:.4f}' if isinstance(value, float) else value}")


@app.command
def show(run: Path) -> None:
    """What a run folder holds: the model, its size, how it was trained, its last scores.

    Parameters
    ----------
    run
        Run folder, or a Hugging Face folder.
    """
    from regard.describe import describe_run

    print(describe_run(run))


@app.command
def export(run: Path, *, to: Literal["huggingface"], out: Path) -> None:
    """Write a run in another tool's format.

    Parameters
    ----------
    run
        Run folder of a GPT, BERT or ViT that has only parts which the format knows; what it has beyond them is named,
        with the options of `regard train` that leave it out.
    to
        The format.
    out
        New folder to write.
    """
    from regard.interop import export_huggingface

    architecture = export_huggingface(run, out)
    print(f"wrote {out}: transformers loads it with {architecture}.from_pretrained({str(out)!r})")
