"""Weights in shards: several files of at most a given size, and an index that says which tensor is where."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def parse_size(text: str) -> int:
    """Bytes of a size such as 500MB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(KB|MB|GB)", text.upper())
    if match is None or not float(match[1]):
        raise ConfigError(f"--max-shard-size {text}: is not a size; write a number with KB, MB or GB, such as 5GB")
    return int(float(match[1]) * UNITS[match[2]])


def shard(folder: Path, limit: int) -> None:
    """Split the weights of a folder if they are larger than `limit`; a tensor that is larger has a file of its own."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(folder / SINGLE, framework="pt") as stored:
        sizes = {name: _bytes(stored.get_tensor(name)) for name in stored.keys()}  # noqa: SIM118
        if sum(sizes.values()) <= limit:
            return
        groups: list[list[str]] = []
        filled = limit
        for name, size in sizes.items():
            if filled + size > limit and (filled or not groups):
                groups.append([])
                filled = 0
            groups[-1].append(name)
            filled += size
        where: dict[str, str] = {}
        for number, names in enumerate(groups, start=1):
            file = folder / f"model-{number:05d}-of-{len(groups):05d}.safetensors"
            save_file({name: stored.get_tensor(name) for name in names}, file, metadata={"format": "pt"})
            file.chmod(0o644)  # the library makes files that only their owner may read
            where |= dict.fromkeys(names, file.name)
    (folder / SINGLE).unlink()
    index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": where}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _bytes(tensor: "Tensor") -> int:
    return tensor.numel() * tensor.element_size()
