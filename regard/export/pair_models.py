"""Models that read one text and write another as Hugging Face folders: what Marian's and T5's have in common."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.torch import save_file
from torch import Tensor

from regard.core.files import write_text
from regard.interop.families import FAMILIES
from regard.interop.special import copy_tokenizer, tokenizer_file
from regard.interop.table import collect, fitting

if TYPE_CHECKING:
    from regard.tasks.base import Run

Tensors = dict[str, Tensor]


def write_pair_model(
    run: "Run",
    folder: Path,
    family: str,
    settings: Mapping[str, Any],
    *,
    length: int | None = None,
    more: Callable[[Tensors], Tensors] = dict,
) -> str:
    """Write config, weights and tokenizer of a family; gives the class that loads them. `more` adds tensors that theirs
    always has, `length` is the most tokens that it reads."""
    tokenizer = run.require_tokenizer("a translator without one cannot be used")
    tokens = {"pad_token_id": tokenizer.pad, "eos_token_id": tokenizer.end, "bos_token_id": tokenizer.start}
    architecture = FAMILIES[family].architectures[0]
    named = {"architectures": [architecture], "model_type": family, "is_encoder_decoder": True}
    named |= {**settings, **tokens, "decoder_start_token_id": tokenizer.start, "dtype": "float32"}
    ours = {name: tensor.detach().cpu() for name, tensor in run.model.state_dict().items()}
    tensors = more(collect(fitting(FAMILIES[family].table(run.config), ours), ours))
    with tokenizer_file(run.path, tokenizer) as file:
        assert file is not None
        copy_tokenizer(file, folder, length, framed=False)
    _end_sources(folder / "tokenizer.json", tokenizer.end)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # the library makes files that only their owner may read
    write_text(folder / "config.json", json.dumps(named, indent=2) + "\n")
    return architecture


def _end_sources(file: Path, end: int) -> None:
    """A source ends with the end token, as in training."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    engine = Tokenizer.from_file(str(file))
    piece = engine.id_to_token(end)
    engine.post_processor = TemplateProcessing(single=f"$A {piece}", pair=None, special_tokens=[(piece, end)])
    write_text(file, engine.to_str(pretty=True))
