"""Hugging Face folders, which `transformers` loads: for models made of parts that it has too."""

from dataclasses import dataclass
from pathlib import Path

from regard.export.base import ExportFormat, Subject, require_run


@dataclass(frozen=True)
class HuggingFace(ExportFormat):
    def write(self, subject: Subject, out: Path) -> str:
        from regard.interop import export_huggingface

        architecture = export_huggingface(require_run(subject, self.name()), out)
        return f"transformers loads it with {architecture}.from_pretrained({str(out)!r})"
