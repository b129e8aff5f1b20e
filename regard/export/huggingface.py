"""Hugging Face folders, which `transformers` loads: for models made of parts that it has too."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import ConfigError
from regard.core.files import complete_folder
from regard.export.base import ExportFormat, Subject, require_run
from regard.export.shards import parse_size, shard

if TYPE_CHECKING:
    from regard.tasks.base import Run


@dataclass(frozen=True)
class HuggingFace(ExportFormat):
    max_shard_size: str | None = None  # of a file of weights, such as 5GB; none: one file

    def write(self, subject: Subject, out: Path) -> str:
        from regard.export.model_card import write_card, write_generation

        run = require_run(subject, self.name())
        limit = None if self.max_shard_size is None else parse_size(self.max_shard_size)
        with complete_folder(out) as folder:
            architecture = self._write(run, folder)
            if limit is not None:
                shard(folder, limit)
            write_generation(run, folder)
            write_card(run, folder, architecture)
        return f"transformers loads it with {architecture}.from_pretrained({str(out)!r})"

    @staticmethod
    def _write(run: "Run", folder: Path) -> str:
        from regard.export.marian import write_marian
        from regard.export.t5 import write_t5
        from regard.interop import export_huggingface
        from regard.models import Transformer
        from regard.parts import T5Bias

        if not isinstance(run.config, Transformer):
            return export_huggingface(run, folder)
        try:
            return (write_t5 if isinstance(run.config.position, T5Bias) else write_marian)(run, folder)
        except ConfigError as error:
            verb = run.task.verb if run.task is not None else "translate"
            raise ConfigError(
                f"{error}; `regard train {verb} --recipe portable` makes one that can be written"
            ) from None
