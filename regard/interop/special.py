"""A tokenizer beside the weights: the file itself, and which of its tokens begin, end, pad or hide."""

import json
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.files import write_text
from regard.interop.folder import read_json

ROLES = {
    "bos": ("<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>"),
    "pad": ("<pad>", "[PAD]"),
    "unk": ("<unk>", "[UNK]"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]", "<mask>"),
}


def copy_tokenizer(tokenizer: Path, folder: Path, length: int | None) -> dict[str, Any]:
    """Copy a tokenizer.json, with what `transformers` wants beside it; gives the ids that config.json names."""
    data = read_json(tokenizer.parent, tokenizer.name)
    tokens = _special(data, tokenizer)
    write_text(folder / "tokenizer.json", json.dumps(data, indent=2, ensure_ascii=False))
    found = {role: next((word for word in words if word in tokens), None) for role, words in ROLES.items()}
    beside: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    beside |= {f"{role}_token": word for role, word in found.items() if word is not None}
    if length is not None:
        beside["model_max_length"] = length
    write_text(folder / "tokenizer_config.json", json.dumps(beside, indent=2, ensure_ascii=False) + "\n")
    return {f"{role}_token_id": tokens[word] for role in ("bos", "eos", "pad") if (word := found[role]) is not None}


def _special(data: dict[str, Any], path: Path) -> dict[str, int]:
    try:
        return {token["content"]: token["id"] for token in data.get("added_tokens", ()) if token["special"]}
    except (KeyError, TypeError):
        raise UserError(f"{path}: is not a tokenizer.json (its added_tokens have no content, id and special)") from None
