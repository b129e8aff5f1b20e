"""Which picture `regard plot` draws, from the request, the runs and the input."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from regard.core.errors import ConfigError
from regard.loading import holds_table
from regard.tasks import Run
from regard.tasks.recording import Recording, ViewInput
from regard.view import figures
from regard.view.open_run import ONLY_CURVES, OpenRun, labels_of
from regard.view.pictures.alignment import attends_to_source
from regard.view.pictures.positions import positions_of
from regard.view.row_explanation import RowExplanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PictureName = Literal[
    "alignment", "contacts", "evidence", "head", "image", "overview", "positions", "residues", "sequences", "training"
]
ONE_RUN = ("evidence", "head", "overview", "positions", "residues", "sequences")  # the others compare several runs


@dataclass(frozen=True)
class PlotRequest:
    """What to draw; None is what suits the input best."""

    picture: PictureName | None = None
    attention: str | None = None
    head: int | None = None
    mode: Literal["map", "lines"] = "map"  # of a head


def draw_plot(runs: Sequence[OpenRun], input: ViewInput | None, request: PlotRequest) -> "tuple[Figure, str]":
    """The figure, and the model's answer as text."""
    name = request.picture or ("training" if input is None else "evidence" if input.row is not None else None)
    if name in ONE_RUN and len(runs) > 1:
        raise ConfigError(f"--picture {name}: draws one run, not {len(runs)}")
    if request.mode == "lines" and name != "head":
        raise ConfigError("--as lines: only for --picture head")
    if name == "training":
        return figures.training_figure([run.path for run in runs]), ""
    if name == "positions":
        return _positions(runs[0]), ""
    if input is None:
        needed = "a row; give its cells with --cell" if name == "evidence" else "an input; give it with --input"
        raise ConfigError(f"--picture {name}: needs {needed}")
    if name == "evidence":
        explanation = _check_input(runs[0], input).record(input)
        if not isinstance(explanation, RowExplanation):
            raise ConfigError(f"--picture evidence: only for tables, and {runs[0].path} is not one")
        return figures.evidence_figure(explanation), explanation.summary
    names = labels_of(runs)
    recordings = [(label, _record(run, input, name)) for label, run in zip(names, runs, strict=True)]
    return _attention_figure(recordings, name, request)


def _positions(run: OpenRun) -> "Figure":
    loaded = run.loaded()
    return figures.positions_figure(str(run.path), positions_of(loaded.model) if isinstance(loaded, Run) else ())


def _check_input(run: OpenRun, input: ViewInput) -> OpenRun:
    """Refuse a text for a table, and a row for any other run."""
    is_table = holds_table(run.path)
    if is_table and input.row is None:
        raise ConfigError(f"{run.path}: is a table model; give it a row with --cell COLUMN=value")
    if not is_table and input.row is not None:
        raise ConfigError(f"--cell: only for tables, and {run.path} is not one")
    return run


def _record(run: OpenRun, input: ViewInput, name: str | None) -> Recording:
    recording = _check_input(run, input).record(input)
    if not isinstance(recording, Recording):
        raise ConfigError(f"--picture {name}: {run.path} is a table model; use --picture evidence")
    if not recording.maps:
        raise ConfigError(f"{run.path}: its model has no attention to draw: {ONLY_CURVES} (leave out --input)")
    return recording


def _attention_figure(
    recordings: Sequence[tuple[str, Recording]], name: str | None, request: PlotRequest
) -> "tuple[Figure, str]":
    first = recordings[0][1]
    name = name or _suitable(first)
    if name == "contacts":
        return figures.contacts_figure(recordings), first.answer
    if name in ("residues", "sequences"):
        draw_family = figures.residues_figure if name == "residues" else figures.sequences_figure
        return draw_family(first, request.attention, request.head), first.answer
    if name == "image":
        return figures.image_figure(recordings, request.attention, request.head), first.answer
    if name == "alignment":
        return figures.alignment_figure(recordings, request.attention, request.head), first.answer
    if len(recordings) > 1:
        raise ConfigError(f"--picture {name}: draws one run, not {len(recordings)}")
    if name == "overview":
        return figures.overview_figure(first), first.answer
    draw = figures.lines_figure if request.mode == "lines" else figures.head_figure
    return draw(first, request.attention or first.maps[0].name, request.head or 0), first.answer


def _suitable(recording: Recording) -> str:
    if recording.family is not None:
        return "contacts"
    if recording.image is not None:
        return "image"
    return "alignment" if any(map(attends_to_source, recording.maps)) else "overview"
