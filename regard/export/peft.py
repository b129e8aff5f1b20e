"""PEFT folders: the adapter of a run alone, which `peft` puts beside the base model that it was trained beside."""

from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import ConfigError
from regard.core.files import complete_folder
from regard.export.base import ExportFormat, Subject, require_run


@dataclass(frozen=True)
class PEFT(ExportFormat):
    def write(self, subject: Subject, out: Path) -> str:
        from regard.interop.loading import find_base
        from regard.interop.peft_writing import write_adapter
        from regard.parts.adapter import Adapter
        from regard.store import CONFIG
        from regard.store.loaded import read_part

        run = require_run(subject, self.name())
        adapter = read_part(run.path, Adapter | None, "adapter") if (run.path / CONFIG).exists() else None
        if adapter is None:
            raise ConfigError(f"--to peft: {run.path} has no adapter; `--to huggingface` writes whole models")
        base, _ = find_base(run.path)
        if (base / CONFIG).exists():
            raise ConfigError(
                f"--to peft: {base}, the base model, is a run, which peft cannot load; use `regard merge`"
            )
        with complete_folder(out) as folder:
            write_adapter(run.path, run.config, adapter, base, folder)
            if run.tokenizer is not None:
                run.tokenizer.save(folder / "tokenizer.json")
        return f"peft loads it with PeftModel.from_pretrained(base, {str(out)!r}), where base is {base}"
