"""Tiny runs of every recipe, trained for two steps by the command line."""

from pathlib import Path

from tests.command import regard as command
from tests.images.make import write_classes

PAIRS = "ein Hund schläft\ta dog sleeps\nzwei Hunde spielen\ttwo dogs play\neine Katze\ta cat\n"
TAGGED = "Ada\tB-person\nmet\tO\nAlan\tB-person\n\nshe\tO\nsaw\tO\nRome\tB-place\n\n"
TEXT = "the cat sat on the mat, and it rained\n"
SMALL = ["--steps", 2, "--model.width", 16, "--training.batch_size", 4]
LAYERS = ["--model.layers", 1, "--model.heads", 2]
RECIPES = (
    "lm",
    "fill",
    "classify",
    "tag",
    "translate",
    "translate-rnn",
    "translate-rnn-attention",
    "summarise",
    "image",
)


def train(recipe: str, folder: Path, *more: object) -> Path:
    """Train a recipe as it comes, but for its size; gives the run folder."""
    out = folder / f"run-{recipe}"
    if out.exists():
        return out
    folder.mkdir(exist_ok=True)
    verb, _, model = recipe.partition("-")
    options: list[object] = ["--model", model, "--model.layers", 1] if model else LAYERS
    assert command("train", verb, *_files(verb, folder), *options, *SMALL, "--out", out, *more) == 0
    return out


def _files(verb: str, folder: Path) -> list[object]:
    if verb == "image":
        write_classes(folder / "photos", 6)
        return ["--train", folder / "photos"]
    if verb in ("lm", "fill"):
        (folder / "text.txt").write_text(TEXT * 40)
        return ["--data", folder / "text.txt", "--data.length", 12]
    texts = {"classify": "good\tthe cat sat on the mat\nbad\tit rained and rained\n" * 12, "tag": TAGGED * 8}
    ending = "txt" if verb == "tag" else "tsv"
    (folder / f"{verb}.{ending}").write_text(texts.get(verb, PAIRS * 8))
    named = folder / f"{verb}.{ending}"
    return ["--train", named] if verb in texts else ["--train", named, "--valid", named]
