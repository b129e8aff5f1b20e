"""Answers of models that answer at once, whatever their task: one table of routes, each a function of some inputs.

A task that is not in the table still has a route, under its own verb, through its own `answer`.
"""

import base64
import binascii
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError
from regard.decode import Beam
from regard.interop.sentence import SentenceSettings, read_sentence_settings
from regard.serve.tables import plain, predict_json
from regard.tasks.base import Run
from regard.tasks.embed.embedding import Embedder
from regard.tasks.image.image_file import ImageFile, image_file
from regard.tasks.recording import AttentionMap, ViewInput

Result = dict[str, Any]
Options = Mapping[str, Any]
Answer = Callable[[Any, Sequence[Any], Options], Sequence[Result]]

MAX_WEIGHTS = 2**21  # numbers of attention in one answer


def answer_task(run: Run, inputs: Sequence[str], options: Options) -> list[Result]:
    """By the task's own `answer`."""
    assert run.task is not None
    taken = {name: options[name] for name in ("beam", "max_tokens") if options.get(name) is not None}
    for name in taken:
        if name not in run.task.eval_options:
            raise ConfigError(f"{name}: a model that was trained to {run.task.verb} does not take it")
    if "beam" in taken:
        taken["beam"] = Beam(taken["beam"])
    return [{"output": _output(one)} for one in run(list(inputs), **taken)]


def _output(one: Any) -> Any:
    """Tagged words are pairs."""
    return one if isinstance(one, str) else [{"word": word, "label": label} for word, label in one]


def classify(run: Run, inputs: Sequence[str], options: Options) -> list[Result]:
    """The labels of texts or images with their probabilities, the most probable first."""
    if options.get("images"):
        inputs = [_image(data, place).data for place, data in enumerate(inputs)]  # type: ignore[misc]
    task: Any = run.task
    labels, probabilities = task.label_probabilities(run, list(inputs))
    results = []
    for row in probabilities:
        best = row.topk(min(options.get("top") or len(labels), len(labels)))
        ranked = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        results.append({"labels": [{"label": labels[place], "probability": value} for place, value in ranked]})
    return [{"output": one["labels"][0]["label"], **one} for one in results]


@lru_cache
def _sentence_settings(folder: Path) -> SentenceSettings:
    """As they were at the first request: a folder may change or go while its model is served."""
    return read_sentence_settings(folder)


def embed(run: Run, inputs: Sequence[str | Sequence[int]], options: Options) -> list[Result]:
    """The vectors of texts, as of `regard embed`; but what the model cannot read whole is refused, not cut, unless its
    folder says how much of a text is to be read."""
    embedder = Embedder(run, _sentence_settings(run.path))
    tokenizer, most = embedder.tokenizer, embedder.settings.max_length or sys.maxsize
    longest = embedder.encoder.encoder.position.max_length or options["context"]
    rows = [
        embedder.encode([one], most)[0] if isinstance(one, str) else [tokenizer.start, *one, tokenizer.end]
        for one in inputs
    ]
    for place, row in enumerate(rows):
        if len(row) > longest:
            raise UserError(f"input[{place}]: has {len(row):,} tokens, and the model reads {longest:,}; shorten it")
        if max(row) >= run.config.vocab or min(row) < 0:  # type: ignore[union-attr]
            raise UserError(f"input[{place}]: has a token that is not in the vocabulary")
    vectors = embedder.embed(rows)
    return [{"embedding": vector.tolist(), "tokens": len(row)} for vector, row in zip(vectors, rows, strict=True)]


def predict(loaded: Any, inputs: Sequence[Mapping[str, Any]], options: Options) -> list[Result]:
    if not isinstance(loaded, Run):
        return list(predict_json(loaded, inputs, options))
    import pandas as pd

    if options.get("evidence"):
        raise ConfigError("evidence: only for a table of `regard fit`")
    return [
        {"predictions": [{"target": "target", "prediction": plain(one)}]} for one in loaded(pd.DataFrame(list(inputs)))
    ]


def attention(run: Run, inputs: Sequence[str], options: Options) -> list[Result]:
    """Where each attention of the model looked, for one input: all that the viewer draws."""
    assert run.task is not None
    [entered] = inputs
    image = _image(entered, 0) if options.get("images") else None
    view_input = ViewInput(image=image) if image else ViewInput(entered, options.get("target"))
    recording = run.task.record(run, view_input)
    wanted = options.get("names")
    maps = [one for one in recording.maps if not wanted or one.name in wanted]
    if wanted and not maps:
        raise ConfigError(f"names: no such attention; there are {', '.join(one.name for one in recording.maps)}")
    if (count := sum(one.pattern.numel() for one in maps)) > MAX_WEIGHTS:
        raise UserError(f"the attention has {count:,} weights, more than {MAX_WEIGHTS:,}: choose some by names")
    return [
        {
            "output": recording.answer,
            "probabilities": [{"label": label, "probability": value} for label, value in recording.probabilities],
            "notes": list(recording.notes),
            "maps": [_map(one) for one in maps],
        }
    ]


def _map(one: AttentionMap) -> Result:
    weights = (one.pattern.double() * 1e6).round() / 1e6
    return {"name": one.name, "part": one.part, "queries": one.queries, "keys": one.keys, "weights": weights.tolist()}


def _image(data: str, place: int) -> ImageFile:
    """An image in base64, also as a data URL."""
    try:
        decoded = base64.b64decode(data.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"images[{place}]: is not base64") from None
    return image_file(f"images[{place}]", decoded)


def tokenize(run: Run, inputs: Sequence[str], options: Options) -> list[Result]:
    """The tokens that a text is read as, without those that a prompt begins with."""
    tokenizer = run.require_tokenizer("it reads no text")
    return [{"tokens": tokens, "pieces": tokenizer.pieces(tokens)} for tokens in tokenizer.encode(list(inputs))]


ROUTES: dict[str, Answer] = {
    "classify": classify,
    "embeddings": embed,
    "predict": predict,
    "attention": attention,
    "tokenize": tokenize,
}


def routes_of(loaded: Any) -> tuple[str, ...]:
    """What a model can be asked."""
    if not isinstance(loaded, Run):
        return ("predict",)
    if loaded.task is None:
        raise UserError(f"{loaded.path}: its config names no task, so there is nothing to serve")
    routes = []
    if "generate" in loaded.task.named:
        routes.append("completions")
    elif "predict" in loaded.task.named:
        routes.append("predict")
    else:
        routes.append("classify" if hasattr(loaded.task, "label_probabilities") else loaded.task.verb)
    if loaded.config.embeds_text and loaded.tokenizer is not None:
        routes.append("embeddings")
    if loaded.task.view_form(loaded.config, loaded.tokenizer is not None) is not None:
        routes.append("attention")
    if loaded.tokenizer is not None:
        routes.append("tokenize")
    return tuple(routes)


def answer(loaded: Any, route: str, inputs: Sequence[Any], options: Options) -> Sequence[Result]:
    return ROUTES.get(route, answer_task)(loaded, inputs, options)
