"""A tokenizer beside the weights: the file itself, and which of its tokens begin, end, pad or hide.

`transformers` frames a text as the file's post-processor says, and knows a gap by its mask token. Our encoders frame
texts themselves, so that what is written for one says it in the file: else the same text would be read differently.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers.processors import TemplateProcessing

from regard.core.errors import ConfigError, UserError
from regard.core.files import write_text
from regard.interop.folder import read_json
from regard.store import TOKENIZER
from regard.text import MaskFilling, Tokenizer

ROLES = {
    "bos": ("<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>"),
    "pad": ("<pad>", "[PAD]"),
    "unk": ("<unk>", "[UNK]"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]", "<mask>"),
}


@contextmanager
def tokenizer_file(path: Path, tokenizer: Tokenizer | None) -> Iterator[Path | None]:
    """The tokenizer.json of a folder; where it has another kind of file, one that exists for as long as it is read."""
    if (path / TOKENIZER).exists() or tokenizer is None:
        yield path / TOKENIZER if (path / TOKENIZER).exists() else None
        return
    if tokenizer.targets is not tokenizer:
        raise ConfigError(f"{path}: sources and targets have tokenizers of their own, and a {TOKENIZER} holds one")
    with TemporaryDirectory() as folder:
        tokenizer.save(Path(folder) / TOKENIZER)
        yield Path(folder) / TOKENIZER


def copy_tokenizer(tokenizer: Path, folder: Path, length: int | None, framed: bool) -> dict[str, Any]:
    """Copy a tokenizer.json, with what `transformers` wants beside it; gives the ids that config.json names. `framed`:
    for a model that reads each text between its start and its end."""
    data = read_json(tokenizer.parent, tokenizer.name)
    tokens = _special(data, tokenizer)
    named = {role: next((word for word in words if word in tokens), None) for role, words in ROLES.items()}
    if framed and (ours := _read(tokenizer)) is not None:
        [named["cls"], named["sep"]] = ours.pieces([ours.start, ours.end])
        data = _framed(data, ours)
    write_text(folder / "tokenizer.json", json.dumps(data, indent=2, ensure_ascii=False))
    settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    settings |= {f"{role}_token": word for role, word in named.items() if word is not None}
    if length is not None:
        settings["model_max_length"] = length
    write_text(folder / "tokenizer_config.json", json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    return {f"{role}_token_id": tokens[word] for role in ("bos", "eos", "pad") if (word := named[role]) is not None}


def _read(tokenizer: Path) -> Tokenizer | None:
    """A file of another library's making may have other names for its tokens; it then says itself how texts begin."""
    try:
        return Tokenizer.load(tokenizer)
    except UserError:
        return None


def _framed(data: dict[str, Any], ours: Tokenizer) -> dict[str, Any]:
    """The same file, framing texts and cutting them at gaps as ours does."""
    engine = Engine.from_str(json.dumps(data))
    if engine.encode("a").ids != [ours.start, *ours.encode(["a"])[0], ours.end]:
        start, end = ours.pieces([ours.start, ours.end])
        engine.post_processor = TemplateProcessing(
            single=f"{start} $A {end}",
            pair=f"{start} $A {end} $B:1 {end}:1",
            special_tokens=[(start, ours.start), (end, ours.end)],
        )
    data = json.loads(engine.to_str())
    for token in data["added_tokens"]:
        if token["content"] in ROLES["mask"]:
            token["lstrip"] = MaskFilling(
                ours
            ).marks_words  # the space before a gap belongs to the word that is missing
    return data


def _special(data: dict[str, Any], path: Path) -> dict[str, int]:
    try:
        return {token["content"]: token["id"] for token in data.get("added_tokens", ()) if token["special"]}
    except (KeyError, TypeError):
        raise UserError(f"{path}: is not a tokenizer.json (its added_tokens have no content, id and special)") from None
