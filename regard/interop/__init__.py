"""Other tools' folders, in and out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.files import read_json
from regard.interop.folder import has_file
from regard.interop.image_task import image_task, write_image_task
from regard.interop.tokenizer import read_tokenizer
from regard.models import BERT, ClassifierHead, Model, ViT
from regard.parts.positions import Learned
from regard.run import Run, load_run
from regard.store import CONFIG, TOKENIZER
from regard.tasks import Classify, ClassifyImages, Task
from regard.text import Tokenizer


def load(path: str | Path) -> Run:
    """A trained model, ready to use, from a run folder or a Hugging Face folder."""
    path = Path(path)
    if (path / CONFIG).exists():
        return load_run(path)
    if has_file(path, "config.json"):
        from regard.interop import huggingface

        found = huggingface.read(path)
        task = _task(path, found.config, found.extra)
        tokenizer, lacking = _tokenizer(path, found.config)
        return Run(path, found.config, found.model, task, tokenizer, {**found.extra, **lacking})
    if not path.is_dir():
        raise UserError(f"{path}: {'is a file, and no' if path.exists() else 'there is no such'} folder")
    raise UserError(f"{path}: is neither a run folder ({CONFIG}) nor a Hugging Face folder (config.json)")


def _task(path: Path, config: Model, extra: Mapping[str, Any]) -> Task | None:
    """What the folder's model was trained for, where that is to name labels."""
    if isinstance(config, ViT):
        return image_task(path, config, extra)
    if isinstance(config, BERT) and isinstance(config.head, ClassifierHead) and isinstance(config.position, Learned):
        return Classify(labels=tuple(extra["id2label"].values()), longest=config.position.length)
    return None


def _tokenizer(path: Path, config: Model) -> tuple[Tokenizer | None, dict[str, str]]:
    """Their tokenizer, or what is lacking of it: without one the model still runs on tokens."""
    if isinstance(config, ViT):
        return None, {}
    try:
        return read_tokenizer(path, config), {}
    except UserError as error:
        return None, {"no_tokenizer": str(error)}


def export_huggingface(run: Path, out: Path) -> str:
    """A run folder as a Hugging Face folder; gives the class of `transformers` that its model is one of."""
    from regard.interop import huggingface

    loaded = load(run)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose a new folder")
    tokenizer = run / TOKENIZER
    extra = dict(loaded.extra)
    if isinstance(loaded.task, Classify | ClassifyImages):
        extra["id2label"] = dict(enumerate(loaded.task.labels))
    if isinstance(loaded.task, Classify):
        extra["longest"] = loaded.task.longest
    huggingface.write(loaded.config, loaded.model, out, tokenizer if tokenizer.exists() else None, extra)
    if isinstance(loaded.task, ClassifyImages) and isinstance(loaded.config, ViT):
        write_image_task(out, loaded.config, loaded.task)
    return str(read_json(out / "config.json")["architectures"][0])
