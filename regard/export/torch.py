"""`torch.export` programs: the model as PyTorch runs it without regard, in Python or compiled ahead of time."""

from dataclasses import dataclass
from pathlib import Path

from regard.core.files import complete_folder
from regard.export.base import ExportFormat, Subject


@dataclass(frozen=True)
class Torch(ExportFormat):
    def write(self, subject: Subject, out: Path) -> str:
        import torch

        from regard.export.beside import write_beside
        from regard.export.graphs import graphs_of, trace

        graphs = graphs_of(subject)
        with complete_folder(out) as folder:
            for graph in graphs:
                torch.export.save(trace(graph), folder / f"{graph.name}.pt2")
            write_beside(subject, folder, {f"{graph.name}.pt2": graph for graph in graphs})
        file = out / f"{graphs[0].name}.pt2"
        return f"torch.export.load({str(file)!r}).module() is a function of {', '.join(graphs[0].inputs)}"
