"""Merging: an adapter added to the weights of its base, W + s·B·A, so that the model stands alone (Hu et al., 2022)."""

import shutil
from pathlib import Path

from safetensors.torch import save_file

from regard.core import tensors
from regard.core.errors import UserError
from regard.core.files import complete_folder
from regard.interop.base_model import FILES, base_folder, check_folder
from regard.interop.folder import SINGLE, file_in, has_file
from regard.interop.huggingface import open_model
from regard.interop.loading import load_run_model
from regard.interop.spm import FILES as PIECES
from regard.store import BASE, CONFIG, WEIGHTS, RunFolder, read_config

PASSING = {BASE, CONFIG, WEIGHTS, ".lock", "checkpoints", "images", "tensorboard", "tokens"}  # not of a merged run


def merge_adapter(path: str | Path, out: str | Path) -> str:
    """Write the model of a run with an adapter, or of a PEFT folder, with plain weights as a new folder `out`.

    A run becomes a run, a PEFT folder a Hugging Face folder of the same family. Returns a line that says what it is.
    """
    path, out = Path(path), Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose a new folder")
    if (path / CONFIG).exists():
        return _merge_run(path, out)
    folder, adapter = base_folder(path)
    if adapter is None:
        check_folder(folder)
        raise UserError(f"{path}: has no adapter; its weights are whole already")
    return _merge_peft(folder, adapter, out)


def _merge_run(path: Path, out: Path) -> str:
    config = read_config(path)
    if config.get("adapter") is None:
        raise UserError(f"{path}: has no adapter; its weights are whole already")
    merged = load_run_model(path)
    with complete_folder(out) as folder:
        for file in sorted(path.iterdir()):
            if file.is_dir() and file.name not in PASSING:
                shutil.copytree(file, folder / file.name)
            elif file.is_file() and file.name not in PASSING:
                shutil.copyfile(file, folder / file.name)
        tensors.save(folder / WEIGHTS, merged.model.state_dict())
        RunFolder(folder).write_config({**config, "init": None, "adapter": None})
    return f"a run; `regard show {out}` says what it is"


def _merge_peft(base: Path, adapter: Path, out: Path) -> str:
    with open_model(base, adapter) as opened, complete_folder(out) as folder:
        weights = {
            name: opened.weights.read(name).to(opened.plain.read(name).dtype).contiguous() for name in opened.weights
        }
        save_file(weights, folder / SINGLE, metadata={"format": "pt"})
        (folder / SINGLE).chmod(0o644)  # the library makes files that only their owner may read
        for name in ("config.json", *FILES, *PIECES):
            source = next((place for place in (adapter, base) if has_file(place, name)), None)
            if source is not None:
                shutil.copyfile(file_in(source, name), folder / name)
    return f"a Hugging Face folder of the family {opened.family.model_type}"
