"""`regard bench`: what this machine gives."""

import sys
from pathlib import Path

from regard.cli.app import app
from regard.core.errors import UserError, at_least


@app.command
def bench(*what: str, rounds: int = 3, json: Path | None = None) -> None:
    """Measure what this machine gives, in about two minutes.

    Each figure is the median of several rounds; a ratio is how many times as fast regard is. In a round regard and
    the other libraries take turns. Nothing is downloaded, and nothing is left on the disk.

    Parameters
    ----------
    what
        Measurements, of: machine (memory bandwidth, matrix products), train (a step of the language-model recipe),
        decode (a Llama-shaped model, beside transformers and llama.cpp), serve (clients of `regard serve`), tables
        (beside CatBoost and LightGBM). Default: all. Libraries that are not installed are left out.
    rounds
        Rounds that are measured, after one that warms up.
    json
        File for the results as JSON; it is written when all is measured.
    """
    at_least(1, rounds=rounds)
    check_file(json)
    from rich.console import Console

    from regard.bench import Measurement, as_dict, busy, choose, run, sizes
    from regard.bench.rendering import lines, screen
    from regard.core.system import load_average

    names, load = choose(what), load_average()
    if warning := busy(load):
        print(f"warning: {warning}", file=sys.stderr)
    console = Console(highlight=False)

    def show(one: Measurement) -> None:
        status.stop()
        if console.is_terminal:
            console.print(screen(one), "")
        else:
            print(*lines(one), sep="\n", flush=True)

    def start(name: str) -> None:
        status.update(f"measuring {name} …")
        status.start()

    with Console(stderr=True).status("") as status:
        results = run(names, sizes.FULL, rounds, start, show)
    if json:
        import json as writer

        from regard.core.files import write_text

        write_text(json, writer.dumps(as_dict(results, rounds, load), indent=1) + "\n")


def check_file(path: Path | None) -> None:
    """Two minutes from now it should be possible to write it."""
    if path and path.exists() and not path.is_file():
        raise UserError(f"{path}: is not a file; --json needs the name of one")
    if path and not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it, or choose another file with --json")
