"""What stands beside an exported model: its tokenizer, its settings as JSON, a README, and a script that uses it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.core.files import write_text
from regard.core.version import VERSION
from regard.export.base import Subject, settings_of
from regard.models import BERT, RNN, ClassifierHead, DecoderOnly, MaskedLMHead, RNNClassifier, TokenClassifierHead, ViT
from regard.models import Transformer as EncoderDecoder
from regard.tasks.base import Run, Task
from regard.tasks.classify.ngram_model import FLOOR
from regard.tasks.tag.words import WORD
from regard.text import MaskFilling, Tokenizer

if TYPE_CHECKING:
    from regard.export.graphs import Graph

SETTINGS, SCRIPT, README = "regard.json", "predict.py", "README.md"


def write_beside(subject: Subject, folder: Path, graphs: "Mapping[str, Graph]") -> None:
    """The files that every format of graphs has."""
    settings = describe(subject)
    write_text(folder / SETTINGS, json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
    if isinstance(subject, Run):
        from regard.interop.special import copy_tokenizer, tokenizer_file

        with tokenizer_file(subject.path, subject.tokenizer) as file:
            if file is not None:
                copy_tokenizer(file, folder, settings.get("max_length"), framed=isinstance(subject.config, BERT))
    if "ngrams" in settings:
        _write_ngrams(subject, folder)
    if "extractor" in settings:
        _write_extractor(subject, folder)
    write_text(folder / README, readme(settings, graphs))


def _write_ngrams(subject: Any, folder: Path) -> None:
    """The n-gram model beside a classifier: its arrays, and how texts are hashed."""
    model = subject.extra["ngrams"]
    arrays = {"buckets": model.features.buckets, "idf": model.features.idf}
    np.savez(folder / "ngrams.npz", weight=model.weight, bias=model.bias, **arrays)
    hashing = files("regard.tables.encode") / "hashing.py"
    write_text(folder / "ngrams.py", hashing.read_text(encoding="utf-8"))


def _write_extractor(subject: Any, folder: Path) -> None:
    """The extractor beside a summariser: its weights, and how spans are scored."""
    np.savez(folder / "extractor.npz", weight=subject.extra["extractor"].weight)
    spans = files("regard.tasks.summarise") / "spans.py"
    write_text(folder / "spans.py", spans.read_text(encoding="utf-8"))


def write_script(subject: Subject, folder: Path) -> None:
    """A script that needs the runtime alone."""
    name = describe(subject)["task"]
    write_text(folder / SCRIPT, (files("regard.export") / "scripts" / f"{name}.py").read_text(encoding="utf-8"))


def describe(subject: Subject) -> dict[str, Any]:
    """All that a program needs to use the graphs; `task` is the name of the script that does."""
    if not isinstance(subject, Run):
        from regard.export.graphs.table import describe_table

        return describe_table(subject)
    task = settings_of(subject)
    if isinstance(subject.config, ViT):
        config = subject.config
        settings = {"image": config.image, "channels": config.channels, "resize": task.get("resize", "stretch")}
        means = {"mean": list(task.get("mean", ())), "std": list(task.get("std", ()))}
        return {"task": "image", "labels": list(task.get("labels", ())), **settings, **means}
    return _describe_text(subject, subject.require_tokenizer("it cannot be exported with one"), task)


def _describe_text(run: Run, tokenizer: Tokenizer, task: Mapping[str, Any]) -> dict[str, Any]:
    config = run.config
    tokens = {"start": tokenizer.start, "end": tokenizer.end, "pad": tokenizer.pad}
    labels, length = {"labels": list(task.get("labels", ()))}, {"max_length": task.get("max_length")}
    written = {"ends": sorted(tokenizer.ends), "max_tokens": (run.task or Task).max_tokens}
    head = getattr(config, "head", None)
    if isinstance(config, RNN | EncoderDecoder):
        return {"task": "translate", **tokens, **length, **written, **_extraction(run, task)}
    if isinstance(config, DecoderOnly):
        around = {"before": [], "after": [tokenizer.end, tokenizer.start], "empty": []}
        return {"task": "generate", **around, **length, **written}
    if isinstance(config, RNNClassifier) or isinstance(head, ClassifierHead):
        return {"task": "classify", **labels, **tokens, **length, **_mixture(task)}
    if isinstance(head, TokenClassifierHead):
        return {"task": "tag", **labels, **tokens, **length, "word": WORD.pattern}
    if isinstance(head, MaskedLMHead):
        gaps = MaskFilling(tokenizer)
        allowed = {"fits": _places(gaps.fits), "begins": _places(gaps.begins_word)}
        return {"task": "fill", **tokens, "mask": tokenizer.mask, "marks_words": gaps.marks_words, **allowed}
    around = {"before": list(tokenizer.prefix), "after": [], "empty": [tokenizer.end]}
    return {"task": "generate", **around, "max_length": None, **written}


def _mixture(task: Mapping[str, Any]) -> dict[str, Any]:
    """How the scores of a classifier are weighted, and the settings of its n-gram model."""
    mixture, ngrams = task.get("mixture"), task.get("ngrams")
    weights = {} if mixture is None else {"weights": {"network": mixture.network, "ngrams": mixture.ngrams}}
    if ngrams is None:
        return weights
    return weights | {"ngrams": {"bits": ngrams.bits, "max_characters": ngrams.max_characters, "floor": FLOOR}}


def _extraction(run: Run, task: Mapping[str, Any]) -> dict[str, Any]:
    """How a summariser chooses between its network and its extractor."""
    if task.get("extract") is None:
        return {}
    model, choice = run.extra["extractor"], task["choice"]
    return {
        "extractor": {"mean": model.mean, "max_words": model.max_words},
        "choice": {"constant": choice.constant, "network": choice.network, "extractor": choice.extractor},
    }


def _places(flags: list[bool]) -> list[int]:
    return [place for place, flag in enumerate(flags) if flag]


def readme(settings: Mapping[str, Any], graphs: "Mapping[str, Graph]") -> str:
    """What the files are, and what goes in and comes out of each graph."""
    lines = ["---", "library_name: onnx", "tags: [regard]", "---", "", "# A model of regard", ""]
    lines += [f"Exported by regard {VERSION}. `{SETTINGS}` holds what a program needs beside the graphs.", ""]
    if any(name.endswith(".onnx") for name in graphs):
        lines += [f"`{SCRIPT}` uses the model without regard: `python {SCRIPT} --help` is its first lines.", ""]
    for name, graph in graphs.items():
        lines += [f"## {name}", "", "| input | type | shape |", "|---|---|---|"]
        for label, each in graph.inputs.items():
            shape = [each.axes.get(axis, str(size)) for axis, size in enumerate(each.example.shape)]
            kind = str(each.example.dtype).removeprefix("torch.")
            lines.append(f"| `{label}` | {kind} | {' × '.join(shape)} |")
        lines += ["", f"Outputs: {', '.join(f'`{output}`' for output in graph.outputs)}.", ""]
    if any(name.startswith("past") for graph in graphs.values() for name in graph.inputs):
        lines += ["What is `present` after one step is `past` in the next; before the first its length is 0.", ""]
    if "ngrams" in settings:
        lines += [
            "The scores of the graph are half of the model: `ngrams.npz` holds a linear model of the n-grams of a",
            f"text, `ngrams.py` hashes them, and `weights` in `{SETTINGS}` says how much each counts.",
            "",
        ]
    return "\n".join(lines + settings.get("notes", []))
