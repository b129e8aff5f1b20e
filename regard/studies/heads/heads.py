"""Heads: what each attends to, what it costs to lose it, and whether it follows the syntax of a sentence."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError, at_least
from regard.data.text.corpus import Corpus
from regard.data.trees.conllu import Parse, read_trees
from regard.models import BERT, GPT, Transformer
from regard.parts import MultiHead, listen
from regard.recipes import Plan
from regard.recipes.plan import PLAN
from regard.run import Run, load_run
from regard.store import COLUMNS, CONFIG, read_config
from regard.studies.heads.duplicates import Shares, duplicate_shares, hidden_again
from regard.studies.heads.roles import role_shares
from regard.studies.heads.syntax import Relation, Syntax, read_syntax
from regard.studies.runner.folder import StudyFolder
from regard.studies.runner.prepare import prepared
from regard.tables.network.scratch import NPTPredictor
from regard.tables.persist.load import load
from regard.tasks import Batch, MaskedCells, Task
from regard.text import Tokenizer

LONGEST = 200  # tokens of a sentence whose tree is asked for


@dataclass(frozen=True)
class Head:
    """One head of one attention of a run."""

    layer: str
    number: int
    cost: float  # what the loss rises by when it is silent
    shares: dict[str, tuple[float, float]] = field(default_factory=dict)  # by role: its own, and by chance
    syntax: float | None = None  # how often it looks most at the word that a word hangs from


@dataclass(frozen=True)
class Heads:
    run: Path
    loss: float
    unit: str
    heads: tuple[Head, ...]
    relations: tuple[Relation, ...] = ()  # of syntax, where trees were given; that of all words first
    batches: int = 1  # that the loss and the costs are of


@dataclass(frozen=True)
class Subject:
    """A model to be studied, some data to measure it by, its loss there, and the seconds that it took to measure."""

    path: Path
    model: nn.Module
    task: Task
    batches: list[Any]
    loss: float
    seconds: float
    run: Run | None = None  # of a text or of images; a fitted table has none
    longest: int = LONGEST

    @property
    def attentions(self) -> dict[str, MultiHead]:
        return heads_of(self.model)

    def left(self, folder: StudyFolder) -> int:
        """Heads whose cost the folder does not know yet."""
        every = self.attentions.items()
        return sum(_count(heads) for name, heads in every if not folder.knows(self.key(name)))

    def key(self, attention: str) -> str:
        return f"{self.path} {attention}"


def subject_of(path: Path, batches: int) -> Subject:
    at_least(1, batches=batches)
    if (path / COLUMNS).exists():
        network = _own_network(path)
        return _measured(Subject(path, network.model, MaskedCells(), [hidden_again(network)], 0.0, 0.0))
    run = load_run(path)
    if not heads_of(run.model):
        raise UserError(f"{path}: its {type(run.config).__name__} has no attention, so there are no heads to study")
    plan = stored_plan(path)
    longest = plan.data.length if isinstance(plan.data, Corpus) else LONGEST  # more was never read at once
    with prepared(plan, path) as ready:
        if ready.valid is None:
            raise UserError(f"{path}: has no data to measure by")
        some = list(islice(ready.valid.once(), batches))
        return _measured(Subject(path, run.model, plan.task, some, 0.0, 0.0, run, longest))


def _own_network(path: Path) -> NPTPredictor:
    networks = getattr(load(path), "predictors_", [])
    if len(networks) != 1 or not isinstance(networks[0], NPTPredictor):
        raise UserError(f"{path}: has no network of one target's own; heads are studied of `regard fit --mode scratch`")
    return networks[0]


@torch.inference_mode()
def _measured(subject: Subject) -> Subject:
    _loss(replace(subject, batches=subject.batches[:1]))  # warms up
    began = time.monotonic()
    loss = _loss(subject)
    return replace(subject, loss=loss, seconds=time.monotonic() - began)


@torch.inference_mode()
def study_heads(subject: Subject, folder: StudyFolder, trees: Sequence[Path], sentences: int) -> Heads:
    """What costs time is kept in the folder attention by attention."""
    at_least(1, sentences=sentences)
    parses = read_trees(trees)[:sentences] if trees else []
    shares = _shares(subject)
    costs: dict[tuple[str, int], float] = {}
    for name, heads in subject.attentions.items():
        rises = folder.settled(subject.key(name), partial(_costs, subject, heads))
        costs |= {(name, number): cost for number, cost in enumerate(rises)}
    syntax = _syntax(subject, parses) if parses else Syntax({}, ())
    found = tuple(
        Head(*key, cost, {role: (float(own[key[1]]), chance) for role, (own, chance) in shares.get(key[0], {}).items()},
             syntax.shares.get(key))
        for key, cost in costs.items()
    )  # fmt: skip
    return Heads(subject.path, subject.loss, subject.task.unit, found, syntax.relations, len(subject.batches))


def _costs(subject: Subject, heads: MultiHead) -> list[float]:
    rises = []
    for number in range(_count(heads)):
        with silent(heads, number):
            rises.append(_loss(subject) - subject.loss)
    return rises


def stored_plan(path: Path) -> Plan:
    stored = read_config(path)
    if stored.get("data") is None:
        raise UserError(f"{path}: was not made by `regard train`, so it names no data to measure its heads by")
    try:
        plan: Plan = from_dict(Plan, {name: stored.get(name) for name in PLAN})
    except ConfigError as error:
        raise ConfigError(f"{path / CONFIG}: {error}") from None
    return plan


def heads_of(model: nn.Module) -> dict[str, MultiHead]:
    """Every attention by the name that its pattern is heard under."""
    return {
        ".".join(word for word in name.split(".") if word != "blocks"): module
        for name, module in model.named_modules()
        if isinstance(module, MultiHead)
    }


def _count(heads: MultiHead) -> int:
    return heads.out.in_features // heads.head_size


@contextmanager
def silent(heads: MultiHead, number: int) -> Iterator[None]:
    """One head says nothing: what it found is zero before the heads are mixed."""

    def hush(module: nn.Module, given: tuple[Any, ...]) -> tuple[Tensor]:
        found = given[0].clone()
        found[..., number * heads.head_size : (number + 1) * heads.head_size] = 0
        return (found,)

    hook = heads.out.register_forward_pre_hook(hush)
    try:
        yield
    finally:
        hook.remove()


def _loss(subject: Subject) -> float:
    losses = [subject.task.loss(subject.model, batch) for batch in subject.batches]
    return float(sum(loss.total for loss in losses) / sum(loss.terms for loss in losses))


def _shares(subject: Subject) -> dict[str, Shares]:
    """Roles of every self-attention over text or between rows, from the first of the batches; patterns are large."""
    model, batch = subject.model, subject.batches[0]
    if isinstance(subject.task, MaskedCells):
        return duplicate_shares(model, batch)
    if subject.run is None or subject.run.tokenizer is None:
        return {}
    delimiters = delimiting(subject.run.tokenizer)
    found = {}
    with listen(model) as heard:
        subject.task.loss(model, batch)
    for name, pattern in heard.items():
        text = _text(name, batch)
        if text is not None and pattern.shape[-2:] == (text[0].shape[1],) * 2:
            found[name.removesuffix(".pattern")] = role_shares(pattern.clone(), *text, delimiters)
    return found


def _text(name: str, batch: Batch) -> tuple[Tensor, Tensor] | None:
    """The tokens between which an attention looks; None where it looks from one text to another."""
    if ".cross." in name:
        return None
    if hasattr(batch, "source"):
        both = ("source", "source_valid") if name.startswith("encoder") else ("target", "answer_valid")
    else:
        both = ("tokens", "answer_valid" if hasattr(batch, "answer_valid") else "valid")
    found = tuple(getattr(batch, key, None) for key in both)
    if found[0] is None:
        return None
    return found[0], torch.ones_like(found[0], dtype=torch.bool) if found[1] is None else found[1]


def delimiting(tokenizer: Tokenizer) -> Tensor:
    """Which tokens hold neither letter nor digit: spaces, punctuation, ends of texts."""
    special = set(tokenizer.special)
    pieces = tokenizer.pieces(list(range(tokenizer.vocab)))
    return torch.tensor([i in special or not any(map(str.isalnum, piece)) for i, piece in enumerate(pieces)])


def _syntax(subject: Subject, parses: Sequence[Parse]) -> Syntax:
    run = subject.run
    if run is None or run.tokenizer is None or not isinstance(run.config, GPT | BERT | Transformer):
        raise UserError(f"{subject.path}: reads no sentences, so trees are of no use to it")
    return read_syntax(parses, run.tokenizer, subject.longest, isinstance(run.config, GPT), partial(_read, run))


def _read(run: Run, tokens: Tensor) -> dict[str, Tensor]:
    """Patterns of self-attention while a sentence is read, by layer."""
    with listen(run.model) as heard:
        if isinstance(run.config, Transformer):
            run.model.encode(tokens)  # type: ignore[operator]
        else:
            run.model.read(tokens)  # type: ignore[operator]
    return {name.removesuffix(".pattern"): pattern for name, pattern in heard.items()}
