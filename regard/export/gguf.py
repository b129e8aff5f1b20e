"""GGUF: one file with weights and tokenizer, which llama.cpp and the programs around it read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from regard.core.errors import ConfigError
from regard.core.extras import require
from regard.core.files import atomic_file
from regard.export.base import ExportFormat, Subject, require_run

CONTEXT = 2048  # context where a run does not say how long its texts were
BLOCK = 32  # numbers that share a scale in q8_0


@dataclass(frozen=True)
class GGUF(ExportFormat):
    dtype: Literal["float32", "bfloat16", "float16", "q8_0"] = "float32"  # of matrices; vectors stay in float32
    ending: ClassVar[str] = ".gguf"

    def write(self, subject: Subject, out: Path) -> str:
        require("gguf", "exporting to GGUF")
        from gguf import GGUFWriter

        from regard.export.llama_cpp.shapes import shape_of
        from regard.export.llama_cpp.vocabulary import write_vocabulary
        from regard.models import GPT

        run = require_run(subject, self.name())
        if not isinstance(run.config, GPT):
            raise ConfigError(f"model: a {type(run.config).__name__} has no GGUF; a GPT of `regard train lm` has")
        shape = shape_of(run.config)
        tokenizer = run.require_tokenizer("llama.cpp could not read text")
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(out) as temporary:
            writer = GGUFWriter(str(temporary), shape.architecture)
            writer.add_name(out.stem)
            writer.add_file_type(self._file_type())
            shape.write_settings(writer, run.config, self._length(run))
            write_vocabulary(writer, tokenizer, run.config.vocab)
            for name, tensor in shape.tensors(run.config, run.model.state_dict()).items():
                self._add(writer, name, tensor.float().numpy())
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
        return f"llama.cpp reads it: llama-cli -m {out}"

    def _file_type(self) -> Any:
        from gguf import LlamaFileType

        names = {"float32": "ALL_F32", "bfloat16": "MOSTLY_BF16", "float16": "MOSTLY_F16", "q8_0": "MOSTLY_Q8_0"}
        return LlamaFileType[names[self.dtype]]

    def _add(self, writer: Any, name: str, array: Any) -> None:
        from gguf import GGMLQuantizationType, quants

        names = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "q8_0": "Q8_0"}
        kind = GGMLQuantizationType[names[self.dtype]]
        if array.ndim == 1 or name.startswith(("position_embd", "rope_freqs")):  # few numbers, added or multiplied
            kind = GGMLQuantizationType.F32
        elif kind == GGMLQuantizationType.Q8_0 and array.shape[-1] % BLOCK:
            kind = GGMLQuantizationType.F16
        writer.add_tensor(name, quants.quantize(array, kind), raw_dtype=kind)

    @staticmethod
    def _length(run: Any) -> int:
        """How many tokens the model may read: its positions, or the length of its texts in training."""
        most = run.model.max_positions
        return int(most or run.extra.get("length") or getattr(run.task, "length", None) or CONTEXT)
