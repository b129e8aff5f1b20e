"""The first input of the viewer and of `regard plot`, from the options of the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import ConfigError

if TYPE_CHECKING:
    from regard.tasks.recording import ViewInput
    from regard.view.open_run import OpenRun


def read_input(text: str | None, target: str | None, cells: tuple[str, ...]) -> "ViewInput | None":
    from regard.tasks.recording import ViewInput

    if target is not None and text is None:
        raise ConfigError("--target: needs the --input that it is the target of")
    if cells and text is not None:
        raise ConfigError("--cell and --input: use --cell for tables and --input for texts and files")
    if cells:
        row = {}
        for cell in cells:
            name, equals, value = cell.partition("=")
            if not equals:
                raise ConfigError(f"--cell {cell}: must be COLUMN=value")
            row[name] = value
        return ViewInput(row=row)
    return None if text is None else ViewInput(text, target)


def as_files(view_input: "ViewInput | None", structure: Path | None, runs: "Sequence[OpenRun]") -> "ViewInput | None":
    """The input, read as a file if one of the runs is a model of images or of families."""
    kinds = {run.describe()["kind"] for run in runs}
    if structure is not None and "family" not in kinds:
        raise ConfigError(f"--structure {structure}: only for models of contacts, and none of these runs is one")
    if structure is not None and view_input is None:
        raise ConfigError("--structure: needs the --input, an alignment, that it is compared with")
    if view_input is None or view_input.row is not None or not kinds & {"image", "family"}:
        return view_input
    from regard.tasks.contacts.family_input import read_family_input
    from regard.tasks.image.image_file import read_image_file
    from regard.tasks.recording import ViewInput

    kind = "image" if "image" in kinds else "family"
    if view_input.target is not None:
        what = "images" if kind == "image" else "alignments"
        raise ConfigError(f"--target: only for texts, and this run reads {what}")
    if kind == "image":
        return ViewInput(image=read_image_file(Path(view_input.text)))
    return ViewInput(family=read_family_input(Path(view_input.text), structure))


def url_fragment(view_input: "ViewInput | None") -> str:
    """The part of the address from which the page reads its first input."""
    import json
    from urllib.parse import urlencode

    if view_input is None:
        return ""
    family = view_input.family
    fields = {
        "text": view_input.text or None,
        "target": view_input.target,
        "row": view_input.row and json.dumps(view_input.row),
        "image": view_input.image and view_input.image.digest,
        "alignment": family and family.alignment.digest,
        "structure": family and family.structure and family.structure.digest,
    }
    return "#" + urlencode({name: value for name, value in fields.items() if value is not None})
