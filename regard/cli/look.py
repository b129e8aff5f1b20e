"""Verbs that look inside: a page for a browser, and pictures for papers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.app import app
from regard.core.errors import ConfigError, UserError

if TYPE_CHECKING:
    from regard.view.recording import Given
    from regard.view.shown import Shown

Cells = Annotated[tuple[str, ...], Parameter(name="--cell")]


@app.command
def view(
    *runs: Path,
    input: str | None = None,
    target: str | None = None,
    cells: Cells = (),
    trees: tuple[Path, ...] = (),
    export: Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open: bool = False,
) -> None:
    """Look inside runs in a browser: attention, alignment, evidence, training. Nothing leaves the machine.

    Parameters
    ----------
    runs
        Run folders, or Hugging Face folders; several are compared. A folder of runs, or a study, stands for all
        of them.
    input
        A text to begin with; for a run on images, a picture file.
    target
        What was written for it; without it the model writes.
    cells
        For a table: COLUMN=value of the row to predict; may be given several times.
    trees
        CoNLL-U files that hold the tree of each text, for runs with Tree positions; other sentences may be in them too.
    export
        Instead of serving, write the page with all that it shows as one HTML file.
    host
        Address to serve on; any other than the loopback lets the network in.
    port
        Port to serve on; without it 7417, or one that is free.
    open
        Open the page in the browser.
    """
    from regard.view.answers import Desk

    given = read_given(input, target, cells)
    if export is not None:
        check_export(export)
    shown = show(check_runs(runs), trees)
    desk, given = Desk(shown), given and as_image(given, shown)
    if cells and not any(run.describe()["kind"] == "row" for run in shown):
        raise ConfigError("--cell: is for tables, and none of these runs holds one")
    if export is not None:
        from regard.core.files import write_text
        from regard.view.export import export_page

        write_text(export, export_page(desk, given))
        print(f"wrote {export}: open it in a browser, with or without a network")
        return
    from regard.view.guard import is_loopback
    from regard.view.server import bind, serve

    if given is not None and given.image is not None:
        desk.keep(given.image)
    place = bind(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{place.getsockname()[1]}/{link(given)}"
    if not is_loopback(host):
        print(f"note: {host} lets others on the network look at these runs", file=sys.stderr)
    print(f"look at {address} (Ctrl-C ends it)", flush=True)
    if open:
        import webbrowser

        webbrowser.open(address)
    serve(desk, place, host)


@app.command
def plot(
    *runs: Path,
    out: Path,
    input: str | None = None,
    target: str | None = None,
    cells: Cells = (),
    picture: Literal["alignment", "evidence", "head", "image", "overview", "positions", "training"] | None = None,
    look: str | None = None,
    head: int | None = None,
    as_: Annotated[Literal["map", "lines"], Parameter(name="--as")] = "map",
    trees: tuple[Path, ...] = (),
) -> None:
    """Draw what a run looks at, what it knows of places, or how it was trained, as a file for a paper.

    Parameters
    ----------
    runs
        Run folders; alignments and curves of several stand together. Of a study, seeds are drawn as one curve.
    out
        .png, .svg or .pdf to write.
    input
        The text or picture file to look at; without it the curves of training are drawn.
    target
        What was written for it; without it the model writes.
    cells
        For a table: COLUMN=value of the row whose evidence is drawn; may be given several times.
    picture
        Which picture; without it the alignment of a translator, attention on an image, evidence of a row, else all
        heads.
    look
        Which attention, such as decoder.1.cross; without it the mean of all (alignment), the last (image), or the
        first (head).
    head
        Which head; without it the mean of all (alignment, image), or the first.
    as_
        A head as a map of all weights, or as lines between tokens.
    trees
        CoNLL-U files that hold the tree of the text, for runs with Tree positions; other sentences may be in them too.
    """
    from regard.view import figures
    from regard.view.plot import Wish, drawn

    figures.check_file(out)
    if input is not None and not input.strip():
        raise ConfigError("--input: needs a text to look at; give it with --input")
    given, shown = read_given(input, target, cells), show(check_runs(runs), trees)
    figure, answer = drawn(shown, given and as_image(given, shown), Wish(picture, look, head, as_))
    figures.save(figure, out)
    print(f"wrote {out}: {shorten(answer, 100, placeholder=' …')}" if answer else f"wrote {out}")


def check_export(path: Path) -> None:
    """Refuse a file that cannot be written before there is anything to write."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; --export needs a file, such as {path / 'look.html'}")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: there is no such folder")


def show(paths: tuple[Path, ...], trees: tuple[Path, ...]) -> "list[Shown]":
    """The runs, each with the trees among which it finds that of its text."""
    from regard.data.trees.conllu import read_trees
    from regard.view.shown import Shown

    parses = read_trees(trees) if trees else ()
    shown = [Shown(path, parses) for path in paths]
    if trees and not any(run.takes_trees() for run in shown):
        raise ConfigError(f"--trees {trees[0]}: is of no use, for none of these runs has Tree positions")
    return shown


def check_runs(runs: tuple[Path, ...]) -> tuple[Path, ...]:
    """Folders that are there, one of runs standing for all in it; what they hold is found out when it is asked for."""
    if not runs:
        raise ConfigError("name a run folder to look at, such as runs/demo/dates")
    for path in runs:
        if not path.is_dir():
            raise UserError(f"{path}: {'is a file, and no' if path.exists() else 'there is no such'} run folder")
    return tuple(run for path in runs for run in runs_in(path))


def runs_in(path: Path) -> list[Path]:
    """The folder itself where it holds a model, else the runs that lie in it, or in the `runs` of a study."""
    if any((path / name).exists() for name in ("config.yaml", "config.json", "metrics.jsonl")):
        return [path]
    within = path / "runs" if (path / "study.json").is_file() else path
    inside = sorted(config.parent for config in within.glob("*/config.yaml"))
    if not inside:
        raise UserError(f"{path}: is no run folder and holds none; `regard train` and `regard fit` make them")
    return inside


def read_given(text: str | None, target: str | None, cells: tuple[str, ...]) -> "Given | None":
    from regard.view.recording import Given

    if target is not None and text is None:
        raise ConfigError("--target: is what was written for an --input; give both")
    if cells and text is not None:
        raise ConfigError("--cell and --input: a table takes the one, a text the other")
    if cells:
        row = {}
        for word in cells:
            name, equals, value = word.partition("=")
            if not equals:
                raise ConfigError(f"--cell {word}: must be COLUMN=value")
            row[name] = value
        return Given(row=row)
    return None if text is None else Given(text, target)


def as_image(given: "Given", runs: "Sequence[Shown]") -> "Given":
    """What is given, where one of the runs reads images: then the input is not a text but a file."""
    from regard.view.image_file import read_image_file
    from regard.view.recording import Given

    if given.row is not None or not any(run.describe()["kind"] == "image" for run in runs):
        return given
    if given.target is not None:
        raise ConfigError("--target: is what was written for a text, and this run reads images")
    return Given(image=read_image_file(Path(given.text)))


def link(given: "Given | None") -> str:
    """The part of an address that tells the page what to begin with."""
    import json
    from urllib.parse import urlencode

    if given is None:
        return ""
    words = {
        "text": given.text or None,
        "target": given.target,
        "row": given.row and json.dumps(given.row),
        "picture": given.image and given.image.digest,
    }
    return "#" + urlencode({name: value for name, value in words.items() if value is not None})
