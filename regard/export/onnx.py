"""ONNX: graphs that onnxruntime runs on any machine, in any language, in a browser; with a script that uses them.

Inputs and outputs have the names that onnxruntime-genai, optimum and transformers.js expect.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import UserError, one_line
from regard.core.extras import require
from regard.core.files import complete_folder
from regard.export.base import ExportFormat, Subject

if TYPE_CHECKING:
    from regard.export.graphs import Graph

SINGLE_FILE = 1 << 30  # bytes of weights: protobuf allows twice as many, and more go into a second file


@dataclass(frozen=True)
class ONNX(ExportFormat):
    def write(self, subject: Subject, out: Path) -> str:
        require("onnx", "exporting to ONNX")
        from regard.export.beside import write_beside, write_script
        from regard.export.graphs import graphs_of

        graphs = graphs_of(subject)
        with complete_folder(out) as folder:
            for graph in graphs:
                write_graph(graph, folder / f"{graph.name}.onnx")
            write_beside(subject, folder, {f"{graph.name}.onnx": graph for graph in graphs})
            write_script(subject, folder)
        return f"`python {out / 'predict.py'}` runs it with onnxruntime; {out / 'README.md'} says how"


def write_graph(graph: "Graph", file: Path) -> None:
    """One graph as one file."""
    import torch

    from regard.export.graphs import trace
    from regard.export.onnx_operators import TRANSLATIONS

    program = trace(graph)
    size = sum(
        each.numel() * each.element_size() for each in (*program.state_dict.values(), *program.constants.values())
    )
    try:
        with _quiet():
            converted = torch.onnx.export(
                program,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=(graph.axes,),
                custom_translation_table=TRANSLATIONS,
                verbose=False,
            )
            assert converted is not None
            converted.save(str(file), external_data=size > SINGLE_FILE)
    except torch.onnx.OnnxExporterError as error:
        cause = one_line(error.__cause__ or error)
        raise UserError(f"{graph.name}: ONNX has no operator for a part of this model ({cause[:300]})") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter prints its progress and warns of what does not concern this model, such as torchvision."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
