"""The pre-trained model that a run starts from, by its config: its weights are not read here."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.interop.chat import FILE as CHAT
from regard.interop.chat import read_chat_template
from regard.interop.folder import file_in, has_file
from regard.interop.generation import FILE as GENERATION
from regard.interop.generation import read_generation
from regard.interop.hub import locate
from regard.interop.peft import CONFIG as ADAPTER
from regard.interop.peft import read_adapter
from regard.interop.pixels import FILE as PIXELS
from regard.interop.pixels import read_pixels
from regard.interop.tokenizer import read_tokenizer
from regard.models import GPT, Model, ViT
from regard.store import CONFIG, ORIGIN, TOKENIZER
from regard.store.loaded import read_model_config
from regard.text import Tokenizer

FILES = (
    GENERATION, CHAT, PIXELS, "tokenizer_config.json", "special_tokens_map.json", "tokenizer.json",
    "vocab.json", "merges.txt", "vocab.txt",
)  # fmt: skip


@dataclass(frozen=True)
class BaseModel:
    """A pre-trained model by its config alone: its weights are not read."""

    path: Path
    config: Model
    tokenizer: Tokenizer | None = None
    lacks: str = ""  # why there is no tokenizer
    extra: Mapping[str, Any] = field(default_factory=dict)  # what its folder says beside the model
    heads: Mapping[type, Any] = field(default_factory=dict)  # of its family, by their kinds
    origin: Path | None = None  # the Hugging Face folder whose files say so


def describe_base(path: Path) -> BaseModel:
    """What a run folder, a Hugging Face folder or a PEFT folder holds."""
    from regard.interop.huggingface import open_model

    if (path / CONFIG).exists():
        config, known = read_model_config(path), read_origin(path)
        own = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
        return BaseModel(path, config, own, f"has no {TOKENIZER}", **known)
    folder, adapter = base_folder(path)
    check_folder(folder)
    with open_model(folder, adapter) as opened:
        config = opened.config
        known = {"extra": opened.extra | extra_files(folder, config), "heads": opened.heads, "origin": folder}
    own, lacks = tokenizer_of(folder, config)
    return BaseModel(path, config, own, lacks, **known)


def read_origin(run: Path) -> dict[str, Any]:
    """What the files of the Hugging Face folder say that a run started from."""
    from regard.interop.huggingface import open_model

    origin = run / ORIGIN
    if not origin.is_dir():
        return {}
    with open_model(origin, has_weights=False) as opened:
        extra = opened.extra | extra_files(origin, opened.config)
        return {"extra": extra, "heads": opened.heads, "origin": origin}


def base_folder(path: Path) -> tuple[Path, Path | None]:
    """The Hugging Face folder of that path or name; of a PEFT folder, that of its base model, and itself."""
    path = locate(path)
    if has_file(path, ADAPTER) and not has_file(path, "config.json"):
        return locate(Path(read_adapter(path).base)), path
    return path, None


def check_folder(path: Path) -> None:
    if has_file(path, "config.json"):
        return
    if not path.is_dir():
        raise UserError(f"{path}: {'is a file, and no' if path.exists() else 'there is no such'} folder")
    raise UserError(f"{path}: is neither a run folder ({CONFIG}) nor a Hugging Face folder (config.json)")


def tokenizer_of(folder: Path, config: Model) -> tuple[Tokenizer | None, str]:
    """The tokenizer of a Hugging Face folder, or what is lacking of it: without one the model still runs on tokens."""
    if isinstance(config, ViT):
        return None, ""
    try:
        return read_tokenizer(folder, config), ""
    except UserError as error:
        return None, str(error)


def extra_files(folder: Path, config: Model) -> dict[str, Any]:
    """What other files say: how pixels are read; how the makers sample, and how chats are written."""
    if isinstance(config, ViT):
        return {"pixels": read_pixels(folder, config)}
    if isinstance(config, GPT):
        return {"sampling": read_generation(folder), "chat": read_chat_template(folder)}
    return {}


def keep_origin(base: BaseModel, run: Path) -> None:
    """Copy into a run what its base says beside the weights: it can then answer, and leave, as the base could."""
    if base.origin is None:
        return
    place = run / ORIGIN
    if place.is_dir():
        shutil.rmtree(place)
    place.mkdir()
    for name in ("config.json", *FILES):
        if has_file(base.origin, name):
            shutil.copyfile(file_in(base.origin, name), place / name)
