"""Which picture is drawn for a paper: what was asked for, of the runs and the input that were given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from regard.core.errors import ConfigError
from regard.loading import holds_table
from regard.run import Run
from regard.view import figures
from regard.view.pictures.alignment import looks_across
from regard.view.pictures.positions import positions_of
from regard.view.record import ONLY_CURVES
from regard.view.recording import Given, Recording
from regard.view.rest import Rest
from regard.view.shown import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PictureName = Literal["alignment", "evidence", "head", "image", "overview", "positions", "training"]
OF_ONE = ("evidence", "head", "overview", "positions")  # runs: the others stand together


@dataclass(frozen=True)
class Wish:
    """What to draw; None: whatever suits the input."""

    picture: PictureName | None = None
    look: str | None = None
    head: int | None = None
    mode: Literal["map", "lines"] = "map"  # of a head


def drawn(runs: Sequence[Shown], given: Given | None, wish: Wish) -> "tuple[Figure, str]":
    """The figure, and the answer that it belongs to, in words."""
    name = wish.picture or ("training" if given is None else "evidence" if given.row is not None else None)
    if name in OF_ONE and len(runs) > 1:
        raise ConfigError(f"--picture {name}: draws one run, not {len(runs)}")
    if wish.mode == "lines" and name != "head":
        raise ConfigError("--as lines: is for --picture head")
    if name == "training":
        return figures.training_figure([run.path for run in runs]), ""
    if name == "positions":
        return _positions(runs[0]), ""
    if given is None:
        option = (
            "a row; give its cells with --cell" if name == "evidence" else "a text to look at; give it with --input"
        )
        raise ConfigError(f"--picture {name}: needs {option}")
    if name == "evidence":
        rest = _fitting(runs[0], given).record(given)
        if not isinstance(rest, Rest):
            raise ConfigError(f"--picture evidence: is of tables, and {runs[0].path} holds none")
        return figures.evidence_figure(rest), rest.told
    return _recorded([(str(run.path), _attention(run, given, name)) for run in runs], name, wish)


def _positions(run: Shown) -> "Figure":
    found = run.loaded()
    return figures.positions_figure(str(run.path), positions_of(found.model) if isinstance(found, Run) else ())


def _fitting(run: Shown, given: Given) -> Shown:
    """Refuse a text for a table, and a row for anything else."""
    table = holds_table(run.path)
    if table and given.row is None:
        raise ConfigError(f"{run.path}: holds a table; give it a row with --cell COLUMN=value")
    if not table and given.row is not None:
        raise ConfigError(f"--cell: is for tables, and {run.path} holds none")
    return run


def _attention(run: Shown, given: Given, name: str | None) -> Recording:
    found = _fitting(run, given).record(given)
    if not isinstance(found, Recording):
        raise ConfigError(f"--picture {name}: {run.path} holds a table, of which --picture evidence can be drawn")
    if not found.looks:
        raise ConfigError(f"{run.path}: its model has no attention to draw: {ONLY_CURVES} (leave out --input)")
    return found


def _recorded(recordings: Sequence[tuple[str, Recording]], name: str | None, wish: Wish) -> "tuple[Figure, str]":
    first = recordings[0][1]
    if name is None:
        name = "image" if first.seen else "alignment" if any(map(looks_across, first.looks)) else "overview"
    if name == "image":
        return figures.image_figure(recordings, wish.look, wish.head), first.answer
    if name == "alignment":
        return figures.alignment_figure(recordings, wish.look, wish.head), first.answer
    if len(recordings) > 1:
        raise ConfigError(f"--picture {name}: draws one run, not {len(recordings)}")
    if name == "overview":
        return figures.overview_figure(first), first.answer
    draw = figures.lines_figure if wish.mode == "lines" else figures.head_figure
    return draw(first, wish.look or first.looks[0].name, wish.head or 0), first.answer
