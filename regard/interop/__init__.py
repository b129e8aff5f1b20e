"""Other tools' folders, in and out."""

from pathlib import Path

from regard.core.errors import UserError
from regard.models import Model
from regard.run import CONFIG, TOKENIZER, Run, load_run
from regard.text import Tokenizer


def load(path: str | Path) -> Run:
    """A trained model, ready to use, from a run folder or a Hugging Face folder."""
    path = Path(path)
    if (path / CONFIG).exists():
        return load_run(path)
    from regard.interop import huggingface

    if huggingface.is_folder(path):
        found = huggingface.read(path)
        return Run(path, found.config, found.model, tokenizer=_tokenizer(path, found.config), extra=found.extra)
    if not path.is_dir():
        raise UserError(f"{path}: there is no such folder")
    raise UserError(f"{path}: is neither a run folder ({CONFIG}) nor a Hugging Face folder (config.json)")


def _tokenizer(path: Path, config: Model) -> Tokenizer | None:
    """Their tokenizer where it has the special tokens that ours need; without it the model still runs on tokens."""
    try:
        tokenizer = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    except UserError:
        return None
    too_many = tokenizer is not None and tokenizer.vocab > getattr(config, "vocab", 0)
    return None if too_many else tokenizer


def export_huggingface(run: Path, out: Path) -> None:
    """A run folder as a Hugging Face folder."""
    from regard.interop import huggingface

    loaded = load(run)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose a new folder")
    tokenizer = run / TOKENIZER
    huggingface.write(loaded.config, loaded.model, out, tokenizer if tokenizer.exists() else None, loaded.extra)
