"""Attention maps from what `listen` has heard: labelled queries and keys, within the bounds of memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import device_of
from regard.parts.positions import Positions
from regard.parts.taps import Heard, listen, taps
from regard.tasks.base import Run
from regard.tasks.recording import AttentionMap
from regard.text import Tokenizer

MAX_BYTES = 2**30  # of the patterns in a recording
SHOWN = 10  # probabilities
START, END = "⟨start⟩", "⟨end⟩"  # as they are drawn
VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"})


def hear(run: Run, tokens: Sequence[int], positions: Positions | None = None) -> tuple[Tensor, Heard]:
    """The output of an encoder for one text, and every pattern behind it."""
    check_length(run, len(tokens))
    device = device_of(run.model)
    positions = None if positions is None else positions.to(device)
    with torch.inference_mode(), listen(run.model) as heard:
        output = run.model(torch.tensor([list(tokens)], device=device), positions=positions)
    return output, heard


def check_length(run: Run, length: int, what: str = "text", remedy: str = "shorten it") -> None:
    """Refuse an input whose patterns would fill the memory, before it is read."""
    needed = 4 * length**2 * len(taps(run.model)) * getattr(run.config, "heads", 1)
    if needed > MAX_BYTES:
        most = int(length * (MAX_BYTES / needed) ** 0.5)
        raise UserError(f"the {what} has {length:,} tokens; patterns of at most {most:,} fit in memory: {remedy}")


def patterns(heard: Heard) -> dict[str, Tensor]:
    """The pattern of the first row of the batch, by the path of its attention."""
    return {name.removesuffix(".pattern"): pattern[0].float().cpu() for name, pattern in heard.items()}


def self_attention_maps(heard: Heard, labels: tuple[str, ...]) -> tuple[AttentionMap, ...]:
    return tuple(attention_map(name, pattern, labels, labels) for name, pattern in patterns(heard).items())


def attention_map(
    name: str,
    pattern: Tensor,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    source: int = 0,
    written: bool = False,
) -> AttentionMap:
    """Attentions that fold keys into slots have other keys than tokens: their slots are numbered."""
    if pattern.shape[-1] != len(keys):
        keys, source = tuple(f"slot {number}" for number in range(1, pattern.shape[-1] + 1)), 0
    return AttentionMap(name, pattern, queries, keys, "target" if written or source else "source", source)


def token_labels(tokenizer: Tokenizer, tokens: Sequence[int]) -> tuple[str, ...]:
    """Each token as a person reads it: without the space before a word, and with visible white space."""
    texts = tokenizer.decode([[token] for token in tokens])
    pairs = zip(texts, tokenizer.pieces(tokens), strict=True)
    readable = (
        piece if not text or "\ufffd" in text else text for text, piece in pairs
    )  # half a character stays coded
    return tuple((text.removeprefix(" ") or text).translate(VISIBLE) for text in readable)


def ranked(probabilities: Tensor, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """The most probable of some labels, with their probabilities."""
    best = probabilities.topk(min(SHOWN, len(probabilities)))
    return tuple((names[place], value) for value, place in zip(*map(Tensor.tolist, best), strict=True))


def label_names(extra: Mapping[str, Any], count: int) -> list[str]:
    """The names of labels that another library's folder gives; numbers where it gives none."""
    names = extra.get("id2label", {})
    return [str(names.get(str(place), names.get(place, place))) for place in range(count)]


def as_texts(inputs: Iterable[object], path: object) -> list[str]:
    """Refuse what is not a text."""
    texts = [one for one in inputs if isinstance(one, str)]
    if len(texts) < len(list(inputs)):
        raise UserError(f"{path}: reads texts, and was given something else")
    return texts
