"""Heads: what each attends to, how much the loss rises without it, and whether it follows the syntax of a sentence.

The importance of a head is the increase of the loss when its output is masked (Michel et al., 2019).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.batches import Batch
from regard.core.errors import UserError
from regard.core.machine import device_of
from regard.data.trees.conllu import Parse
from regard.parts import MultiHead, listen
from regard.studies.heads.duplicates import Shares, duplicate_shares
from regard.studies.heads.roles import role_shares
from regard.studies.heads.subject import Subject, count_heads
from regard.studies.heads.syntax import Patterns, RelationScore, Syntax, score_syntax
from regard.studies.runner.folder import StudyFolder
from regard.tables.network.masked_cells import CellBatch
from regard.text import Tokenizer


@dataclass(frozen=True)
class Head:
    """One head of one attention of a run."""

    layer: str
    head: int
    loss_increase: float  # when it is masked
    shares: dict[str, tuple[float, float]] = field(default_factory=dict)  # by role: its own, and of uniform attention
    syntax: float | None = None  # how often it attends most to the syntactic head of a word


@dataclass(frozen=True)
class HeadResults:
    run: Path
    loss: float
    heads: tuple[Head, ...]
    relations: tuple[RelationScore, ...] = ()  # if there were trees; that of all words first
    batches: int = 1  # that the losses are measured on


@torch.inference_mode()
def measure_heads(subject: Subject, folder: StudyFolder, parses: Sequence[Parse]) -> HeadResults:
    """The slow part, the increase of the loss, is cached in the folder for every attention."""
    shares = _shares(subject)
    increases: dict[tuple[str, int], float] = {}
    for layer, attention in subject.attentions.items():
        values = folder.cached(subject.cache_key(layer), partial(_loss_increases, subject, attention))
        increases |= {(layer, head): value for head, value in enumerate(values)}
    syntax = _syntax(subject, parses) if parses else Syntax({}, ())
    heads = []
    for (layer, head), increase in increases.items():
        roles = {role: (float(share[head]), uniform) for role, (share, uniform) in shares.get(layer, {}).items()}
        heads.append(Head(layer, head, increase, roles, syntax.accuracies.get((layer, head))))
    return HeadResults(subject.path, subject.loss, tuple(heads), syntax.relations, len(subject.batches))


def _loss_increases(subject: Subject, attention: MultiHead) -> list[float]:
    increases = []
    for head in range(count_heads(attention)):
        with masked(attention, head):
            increases.append(subject.measure_loss() - subject.loss)
    return increases


@contextmanager
def masked(attention: MultiHead, head: int) -> Iterator[None]:
    """Zero the output of one head before the heads are mixed."""

    def mask(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Tensor]:
        outputs = inputs[0].clone()
        outputs[..., head * attention.head_size : (head + 1) * attention.head_size] = 0
        return (outputs,)

    hook = attention.out.register_forward_pre_hook(mask)
    try:
        yield
    finally:
        hook.remove()


def _shares(subject: Subject) -> dict[str, Shares]:
    """Roles of every self-attention over text or between rows, on the first batch only: patterns are large."""
    model, batch = subject.model, subject.batches[0].to(device_of(subject.model))
    if isinstance(batch, CellBatch):
        return duplicate_shares(model, batch)
    if subject.run is None or subject.run.tokenizer is None:
        return {}
    delimiters = delimiter_tokens(subject.run.tokenizer)
    shares = {}
    with listen(model) as heard:
        subject.task.loss(model, batch)
    for name, pattern in heard.items():
        text = _text(name, batch)
        if text is not None and pattern.shape[-2:] == (text[0].shape[1],) * 2:
            shares[name.removesuffix(".pattern")] = role_shares(pattern.cpu().clone(), *text, delimiters)
    return shares


def _text(name: str, batch: Batch) -> tuple[Tensor, Tensor] | None:
    """The tokens that an attention is over and which of them are valid; None for cross-attention."""
    if ".cross." in name:
        return None
    if hasattr(batch, "source"):
        names = ("source", "source_valid") if name.startswith("encoder") else ("target", "answer_valid")
    else:
        names = ("tokens", "answer_valid" if hasattr(batch, "answer_valid") else "valid")
    tokens, valid = (getattr(batch, key, None) for key in names)
    if tokens is None:
        return None
    return tokens.cpu(), torch.ones_like(tokens, dtype=torch.bool).cpu() if valid is None else valid.cpu()


def delimiter_tokens(tokenizer: Tokenizer) -> Tensor:
    """Which tokens have neither letter nor digit: spaces, punctuation, ends of texts."""
    special = set(tokenizer.special)
    pieces = tokenizer.pieces(list(range(tokenizer.vocab)))
    return torch.tensor([i in special or not any(map(str.isalnum, piece)) for i, piece in enumerate(pieces)])


def _syntax(subject: Subject, parses: Sequence[Parse]) -> Syntax:
    read = getattr(subject.model, "encode", None) or getattr(subject.model, "read", None)
    tokenizer = None if subject.run is None else subject.run.tokenizer
    patterns = partial(_patterns, subject.model, read or (lambda tokens: None))
    probe = {} if tokenizer is None else patterns(torch.zeros(1, 2, dtype=torch.long))
    if tokenizer is None or not probe:
        raise UserError(f"{subject.path}: does not read sentences, so --trees does not apply")
    causal = not any(bool(pattern.triu(1).any()) for pattern in probe.values())
    return score_syntax(parses, tokenizer, subject.max_length, causal, patterns)


def _patterns(model: nn.Module, read: Callable[[Tensor], object], tokens: Tensor) -> Patterns:
    """The self-attention patterns of a sentence, by layer."""
    with listen(model) as heard:
        read(tokens.to(device_of(model)))
    return {name.removesuffix(".pattern"): pattern.cpu() for name, pattern in heard.items()}
