"""Verbs of the viewer: `view` shows runs in a browser, `plot` draws a figure for a paper."""

import sys
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.app import app
from regard.cli.view_input import as_files, read_input, url_fragment
from regard.core.errors import ConfigError, UserError

if TYPE_CHECKING:
    from regard.tasks.recording import ViewInput
    from regard.view.open_run import OpenRun
    from regard.view.session import Session

Cells = Annotated[tuple[str, ...], Parameter(name="--cell")]
PictureName = Literal[
    "alignment", "contacts", "evidence", "head", "image", "overview", "positions", "residues", "sequences", "training"
]
SHIPPED = Path("contacts")  # names the weights of `regard contacts`, where there is no such folder


@app.command
def view(
    *runs: Path,
    input: str | None = None,
    target: str | None = None,
    cells: Cells = (),
    structure: Path | None = None,
    trees: tuple[Path, ...] = (),
    export: Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open: bool = False,
) -> None:
    """View runs in a browser: attention, alignment, evidence, training curves. Nothing leaves this machine.

    Parameters
    ----------
    runs
        Run folders or Hugging Face folders. A folder of runs, or a study, stands for all runs in it; `contacts` for the
        shipped weights of `regard contacts`.
    input
        The text to show first; for a model of images, an image file; for one of contacts, an alignment file.
    target
        The target of the input; without it the model writes one.
    cells
        For a table: COLUMN=value of the row to predict; repeat for more cells.
    structure
        For contacts: a structure to compare with (.pdb, .cif, .npz); by default the one beside the alignment.
    trees
        CoNLL-U files with the dependency trees of the texts, for runs with Tree positions.
    export
        Write the page with all its data to this HTML file instead of serving it.
    host
        Address to listen on; any but a loopback address is reachable from the network.
    port
        Port to listen on; by default 7417, or any free port if it is taken.
    open
        Open the page in the browser.
    """
    view_input = read_input(input, target, cells)
    check_export(export)
    open_runs = open_all(check_runs(runs), trees)
    view_input = as_files(view_input, structure, open_runs)
    if cells and not any(run.describe()["kind"] == "row" for run in open_runs):
        raise ConfigError("--cell: only for tables, and none of these runs is one")
    from regard.view.session import Session

    if export is not None:
        _export(Session(open_runs), view_input, export)
    else:
        _serve(Session(open_runs), view_input, host, port, open)


def _export(session: "Session", view_input: "ViewInput | None", path: Path) -> None:
    from regard.core.files import write_text
    from regard.view.export import export_page

    write_text(path, export_page(session, view_input))
    print(f"wrote {path}: open it in a browser; it needs no network", file=sys.stderr)


def _serve(session: "Session", view_input: "ViewInput | None", host: str, port: int | None, open: bool) -> None:
    from regard.view.guard import is_loopback
    from regard.view.server import bind, check_installed, serve

    check_installed()
    if view_input is not None:
        session.keep_input(view_input)
    listener = bind(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/{url_fragment(view_input)}"
    if not is_loopback(host):
        print(f"warning: {host} makes these runs visible to others on the network", file=sys.stderr)
    print(f"serving at {address} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    if open:
        import webbrowser

        webbrowser.open(address)
    serve(session, listener, host)


@app.command
def plot(
    *runs: Path,
    out: Path,
    input: str | None = None,
    target: str | None = None,
    cells: Cells = (),
    structure: Path | None = None,
    picture: PictureName | None = None,
    attention: str | None = None,
    head: int | None = None,
    as_: Annotated[Literal["map", "lines"], Parameter(name="--as")] = "map",
    trees: tuple[Path, ...] = (),
) -> None:
    """Draw attention, evidence, position encodings or training curves to a file.

    Parameters
    ----------
    runs
        Run folders. Alignments, images and curves of several runs are drawn together; seeds of a study as one curve.
    out
        The .png, .svg or .pdf file to write.
    input
        The text, image file or alignment file to draw the attention for; without it the training curves are drawn.
    target
        The target of the input; without it the model writes one.
    cells
        For a table: COLUMN=value of the row to explain; repeat for more cells.
    structure
        For contacts: a structure to compare with (.pdb, .cif, .npz); by default the one beside the alignment.
    picture
        What to draw; by default what suits the input: alignment, image, evidence or contacts, else all heads.
    attention
        The attention module, such as decoder.1.cross; by default the mean of all (alignment), the last (image,
        residues, sequences) or the first (head).
    head
        The head; by default the first (head), else the mean of all.
    as_
        Draw a head as a map of all weights, or as lines between tokens.
    trees
        CoNLL-U files with the dependency tree of the text, for runs with Tree positions.
    """
    from regard.core.extras import require
    from regard.view import figures
    from regard.view.plot import PlotRequest, draw_plot

    figures.check_file(out)
    require("plot", "regard plot")
    if input is not None and not input.strip():
        raise ConfigError("--input: is empty; give the text to draw the attention for")
    view_input, open_runs = read_input(input, target, cells), open_all(check_runs(runs), trees)
    request = PlotRequest(picture, attention, head, as_)
    figure, answer = draw_plot(open_runs, as_files(view_input, structure, open_runs), request)
    figures.save(figure, out)
    print(f"wrote {out}: {shorten(answer, 100, placeholder=' …')}" if answer else f"wrote {out}", file=sys.stderr)


def check_export(path: Path | None) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is not None and path.is_dir():
        raise UserError(f"{path}: is a folder; --export needs a file such as {path / 'view.html'}")
    if path is not None and not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder")


def open_all(paths: tuple[Path, ...], trees: tuple[Path, ...]) -> "list[OpenRun]":
    """The runs, each with the dependency trees in which it finds that of its input."""
    from regard.data.trees.conllu import read_trees
    from regard.view.open_run import OpenRun

    parses = read_trees(trees) if trees else ()
    open_runs = [OpenRun(path, parses, _label(path)) for path in paths]
    if trees and not any(run.takes_trees() for run in open_runs):
        raise ConfigError(f"--trees {trees[0]}: not needed, none of these runs has Tree positions")
    return open_runs


def _label(path: Path) -> str | None:
    """How the page names a run that is no folder of the user."""
    from regard.tasks.contacts.shipped import FOLDER

    return "contacts (shipped)" if path == FOLDER else None


def check_runs(runs: tuple[Path, ...]) -> tuple[Path, ...]:
    """The run folders that the arguments stand for; what they contain is checked when it is needed."""
    if not runs:
        raise ConfigError("name a run folder, such as runs/demo/dates")
    for path in runs:
        if not path.is_dir() and path != SHIPPED:
            raise UserError(f"{path}: {'is a file, not a' if path.exists() else 'no such'} run folder")
    return tuple(run for path in runs for run in runs_in(path))


def runs_in(path: Path) -> list[Path]:
    """The folder itself if it is a run, else the runs in it, or in the `runs` folder of a study."""
    if path == SHIPPED and not path.is_dir():
        from regard.tasks.contacts.shipped import FOLDER

        return [FOLDER]
    if any((path / name).exists() for name in ("config.yaml", "config.json", "metrics.jsonl")):
        return [path]
    parent = path / "runs" if (path / "study.json").is_file() else path
    inside = sorted(config.parent for config in parent.glob("*/config.yaml"))
    if not inside:
        raise UserError(f"{path}: not a run folder, and contains none; `regard train` and `regard fit` create them")
    return inside
