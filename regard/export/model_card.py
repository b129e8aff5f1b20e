"""The model card of an exported folder, with the YAML head that indexes of models read, and how text is generated."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from regard.core.files import write_text
from regard.core.version import VERSION
from regard.interop.settings import TOKENS
from regard.models import GPT, Transformer

if TYPE_CHECKING:
    from regard.tasks.base import Run

PIPELINES = {
    "lm": "text-generation",
    "fill": "fill-mask",
    "classify": "text-classification",
    "tag": "token-classification",
    "translate": "translation",
    "summarise": "summarization",
    "image": "image-classification",
}
CARD = "card.md"
MAX_LENGTH = 256  # tokens of what a translator writes


def write_card(run: "Run", folder: Path, architecture: str) -> None:
    """README.md: what the model is for, how to load it, and what is known of its training."""
    verb = run.task.verb if run.task is not None else ""
    head: dict[str, Any] = {"library_name": "transformers", "tags": ["regard"]}
    if verb in PIPELINES:
        head["pipeline_tag"] = PIPELINES[verb]
    trained = run.path / CARD
    body = trained.read_text(encoding="utf-8") if trained.is_file() else "# A model of regard\n"
    text = f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{body.rstrip()}\n\n"
    text += f"Exported by regard {VERSION}: `transformers.{architecture}.from_pretrained(folder)` loads it.\n"
    write_text(folder / "README.md", text)


def write_generation(run: "Run", folder: Path) -> None:
    """generation_config.json of a model that writes: where it begins and ends, and how its makers sample from it."""
    if not isinstance(run.config, GPT | Transformer):
        return
    settings = {key: run.extra[key] for key in TOKENS if key in run.extra}
    if (tokenizer := run.tokenizer) is not None:
        ends = sorted(tokenizer.ends)
        settings |= {"bos_token_id": tokenizer.start, "pad_token_id": tokenizer.pad}
        settings["eos_token_id"] = ends[0] if len(ends) == 1 else ends
        if isinstance(run.config, Transformer):
            settings["decoder_start_token_id"] = tokenizer.start
    if isinstance(run.config, Transformer):
        settings |= {"max_length": MAX_LENGTH, "num_beams": 1}
    if sampling := dict(run.extra.get("sampling") or {}):
        greedy = sampling.get("temperature") == 0
        settings |= {"do_sample": False} if greedy else {"do_sample": True, **sampling}
    write_text(folder / "generation_config.json", json.dumps(settings, indent=2) + "\n")
