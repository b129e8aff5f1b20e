"""The cache that downloads of Hugging Face models leave: a model by its name, without any network.

    models--org--name/refs/main                 the commit that was fetched last
    models--org--name/snapshots/<commit>/...    its files, as links into ../../blobs

Nothing is ever fetched: a model that is not there is named, with the command that fetches it.
"""

import os
import re
from pathlib import Path

from regard.core.errors import UserError

NAME = re.compile(r"(?:[\w.-]+/)?[\w.-]+")


def cache_folder() -> Path:
    """Where models are kept, as `huggingface_hub` decides it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    general = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(general).expanduser() / "huggingface" / "hub"


def locate(path: Path) -> Path:
    """The folder of that path; where there is none, the model of that name in the cache."""
    name = path.as_posix()
    if path.exists() or path.is_symlink() or path.is_absolute() or not NAME.fullmatch(name) or ".." in name:
        return path
    model = cache_folder() / f"models--{name.replace('/', '--')}"
    if model.is_dir():
        return _snapshot(model)
    if "/" in name:
        fetch = f"`hf download {name}` would fetch it from huggingface.co"
        raise UserError(f"{path}: there is no such folder, and no such model in {cache_folder()}; {fetch}")
    return path


def _snapshot(model: Path) -> Path:
    """The newest snapshot that `main` points to; without that reference, the only one there is."""
    main = model / "refs" / "main"
    snapshots = sorted(path for path in (model / "snapshots").glob("*") if path.is_dir())
    if main.is_file():
        commit = main.read_text(encoding="utf-8", errors="replace").strip()
        snapshots = [path for path in snapshots if path.name == commit]
    if len(snapshots) != 1:
        held = "no snapshot" if not snapshots else f"{len(snapshots)} snapshots and no refs/main"
        raise UserError(f"{model}: holds {held}; give the folder of one, or fetch the model again")
    return snapshots[0]
