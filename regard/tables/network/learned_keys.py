"""Learned keys: an encoder trained on one table, so that rows with like targets are near each other (see `models/nca`).

In training the rows of a batch attend to each other, never to themselves or their copies. At prediction all rows of
the table are keys, also those that were held out to choose the weights. The weights of attention are the weights of the
labels, so they say which rows decided; of a numeric target they give the whole distribution.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.machine import seed_for
from regard.data.batch import TensorBatch
from regard.models.nca import NCA, NCAModel, RowInputs
from regard.parts.masks import MaskTensor
from regard.parts.taps import listen
from regard.tables.encode.table import EncodedTable
from regard.tables.network.in_context_loss import quantile_levels, smooth_probabilities
from regard.tables.network.training import train_in_memory
from regard.train import WSD, AdamW, Training

BATCH_ROWS = 1024
MAX_STEPS = 4000
EVALUATIONS = 12  # on held-out rows, at least
MAX_EVALUATIONS = 60  # where they are cheap: keys of a small table soon learn it by heart
EVALUATION_TIME = 0.15  # fraction of the time limit
MAX_HELD_OUT_ROWS = 2000  # of an evaluation
MAX_EVALUATION_KEYS = 16_384
MAX_KEYS = 65_536  # at prediction; a larger table is sampled
MAX_CATEGORIES = 20_000  # of a column; rarer ones count as never seen
PATTERN = 2**24  # weights that are computed at once, which bounds memory
ROWS_PER_PASS = 8192  # of the encoder
QUANTILES = 33


class LearnedKeysPredictor:
    """A trained encoder with its table."""

    attends_to_labels = True

    def __init__(self, model: NCAModel, table: EncodedTable, seed: int):
        self.model, self.table, self.seed = model.eval(), table, seed
        self.key_rows = _sample(len(table.values), MAX_KEYS, seed)
        self._keys: Tensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The keys can be computed again."""
        return {**self.__dict__, "_keys": None}

    @torch.inference_mode()
    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        """The probability of each class; or the mean and the quantiles of a number."""
        labels = self.table.target[self.key_rows]
        if self.table.classes:
            attended = torch.cat([part @ _one_hot(labels, self.table.classes) for part, _ in self._weights(values)])
            return smooth_probabilities(attended, self.table.classes)
        parts = [self._distribution(weights, queries, labels) for weights, queries in self._weights(values)]
        return torch.cat(parts)

    def _distribution(self, weights: Tensor, queries: Tensor, numbers: Float[Tensor, " key"]) -> Tensor:
        """The mean and the quantiles of the keys' numbers, corrected for the difference between query and key."""
        correction = self.model.correction
        assert correction is not None, "keys of a numeric target are trained with a correction"
        std = self.model.label_std.double()
        numbers = numbers.double() - std * correction(self._key_rows())[:, 0]
        return _quantiles(weights.double(), numbers) + std * correction(queries).double()

    @torch.inference_mode()
    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """Attention on each training row."""
        weights = torch.zeros(len(values), len(self.table.values))
        weights[:, self.key_rows] = torch.cat([part for part, _ in self._weights(values)])
        return weights

    def _weights(self, values: Float[Tensor, "row column"]) -> Iterator[tuple[Tensor, Tensor]]:
        """The weights of all keys for some query rows at a time, and these rows as the encoder has them."""
        keys = self._key_rows()
        nothing = torch.zeros(len(keys), 1)
        for queries in embed_rows(self.model, values).split(max(1, PATTERN // len(keys))):
            with listen(self.model) as heard:
                self.model(queries, keys, nothing)
            yield heard["pattern"][0].mean(0), queries

    def _key_rows(self) -> Float[Tensor, "key width"]:
        if self._keys is None:
            self._keys = embed_rows(self.model, self.table.values[self.key_rows])
        return self._keys


@torch.inference_mode()
def embed_rows(model: NCAModel, values: Float[Tensor, "row column"]) -> Float[Tensor, "row width"]:
    return torch.cat([model.embed(model.encode(part)) for part in values.split(ROWS_PER_PASS)])


def _one_hot(target: Float[Tensor, " row"], classes: int) -> Float[Tensor, "row class"]:
    return F.one_hot(target.long(), classes).float()


def _quantiles(weights: Float[Tensor, "row key"], numbers: Float[Tensor, " key"]) -> Float[Tensor, "row prediction"]:
    """The mean and the quantiles of numbers with these weights."""
    order = numbers.argsort()
    cumulative = weights[:, order].cumsum(1)
    levels = quantile_levels(QUANTILES).double() * cumulative[:, -1:]
    place = torch.searchsorted(cumulative, levels).clamp(max=len(numbers) - 1)
    return torch.cat([(weights @ numbers)[:, None], numbers[order][place]], 1)


@dataclass(frozen=True)
class KeyBatch(TensorBatch):
    """Query rows and the rows that they attend to; without keys, the queries attend to each other."""

    numbers: Float[Tensor, "row number input"]
    codes: Int[Tensor, "row category"]
    labels: Float[Tensor, "row label"]
    source: Int[Tensor, " row"]  # of rows that are queries and keys: those with the same one are copies
    keys: int = 0  # of the last rows; 0: all rows are queries and keys

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> int:
        return self.rows


@dataclass(frozen=True)
class LearnedKeysObjective:
    """Cross-entropy of classes, squared error of numbers."""

    classes: int
    unit = "rows"

    def loss(self, model: nn.Module, batch: KeyBatch) -> Loss:
        rows = _embed(model, RowInputs(batch.numbers, batch.codes))
        queries = batch.rows - batch.keys
        if batch.keys:
            predicted = model(rows[:queries], rows[queries:], batch.labels[queries:])
        else:
            others = batch.source[:, None] != batch.source
            predicted = model(rows, rows, batch.labels, MaskTensor(others[None]))
        labels = batch.labels[:queries]
        if self.classes:
            losses = -(smooth_probabilities(predicted, self.classes).log() * labels).sum(-1)
        else:
            losses = (predicted - labels).square().sum(-1)
        return Loss(losses.sum(), torch.tensor(queries))


def _embed(model: nn.Module, rows: RowInputs) -> Tensor:
    embed: Any = model.embed
    return torch.cat(
        [embed(rows.take(slice(start, start + ROWS_PER_PASS))) for start in range(0, len(rows), ROWS_PER_PASS)]
    )


@dataclass(frozen=True)
class KeyBatches:
    """Random rows in every step; evaluation of held-out rows against the training rows, or some of them.

    Rows are encoded when they are needed: of a very large table most never are.
    """

    encode: Callable[[Tensor], RowInputs]
    values: Float[Tensor, "row column"]
    labels: Float[Tensor, "row label"]
    held_out_values: Float[Tensor, "held column"]
    held_out_labels: Float[Tensor, "held label"]
    source: Int[Tensor, " row"]
    seed: int
    fixed_shape = True

    @property
    def steps_per_epoch(self) -> int:
        return max(1, len(self.values) // BATCH_ROWS)

    def batch(self, step: int) -> KeyBatch:
        epoch, place = divmod(step, self.steps_per_epoch)
        order = _order(len(self.values), seed_for("keys", self.seed, epoch))
        chosen = order[place :: self.steps_per_epoch][:BATCH_ROWS]
        return self._batch(self.values[chosen], self.labels[chosen], self.source[chosen])

    def once(self) -> Iterator[KeyBatch]:
        keys = _sample(len(self.values), MAX_EVALUATION_KEYS, self.seed)
        some = _sample(len(self.held_out_values), MAX_HELD_OUT_ROWS, self.seed)
        values = torch.cat([self.held_out_values[some], self.values[keys]])
        labels = torch.cat([self.held_out_labels[some], self.labels[keys]])
        yield replace(self._batch(values, labels, torch.arange(len(values))), keys=len(keys))

    def _batch(self, values: Tensor, labels: Tensor, source: Tensor) -> KeyBatch:
        rows = self.encode(values)
        return KeyBatch(rows.numbers, rows.codes, labels, source)


def train_learned_keys(table: EncodedTable, held_out: EncodedTable, seconds: float, seed: int) -> NCAModel:
    """An encoder trained on a table for so many seconds, with the weights that were best on the held-out rows."""
    began = time.monotonic()
    torch.manual_seed(seed_for("learned keys", seed))
    model = NCA(categories=_categories(table), correction=not table.classes).build()
    some = _sample(len(table.values), MAX_KEYS, seed)
    model.inputs.fit(table.values[some][:, ~table.category])
    if not table.classes:
        model.label_std.copy_(_std(table))
    labels, others = _labels(table, table), _labels(held_out, table)
    source = torch.arange(len(table.values)) if table.source is None else table.source
    batches = KeyBatches(model.encode, table.values, labels, held_out.values, others, source, seed)
    objective = LearnedKeysObjective(table.classes)
    every = _steps_between_evaluations(model, objective, batches, seconds - (time.monotonic() - began))
    training = Training(
        steps=MAX_STEPS,
        minutes=max(1e-6, seconds - (time.monotonic() - began)) / 60,
        optimiser=AdamW(lr=2e-3, weight_decay=1.0),
        schedule=WSD(warmup=20, stable=0.0),
        eval_every=every,
        checkpoint_minutes=600,
        precision="float32",
        compile="never",
        seed=seed,
    )
    train_in_memory(model, objective, batches, training, batches)
    return model


def _steps_between_evaluations(
    model: NCAModel, objective: LearnedKeysObjective, batches: KeyBatches, seconds: float
) -> int:
    """So many that there is time for all evaluations."""
    objective.loss(model, batches.batch(0)).total.backward()  # the first step is slower
    began = time.monotonic()
    objective.loss(model, batches.batch(1)).total.backward()
    step = time.monotonic() - began
    with torch.inference_mode():
        began = time.monotonic()
        objective.loss(model, next(batches.once()))
    evaluation = time.monotonic() - began
    model.zero_grad(set_to_none=True)
    count = max(EVALUATIONS, min(MAX_EVALUATIONS, int(EVALUATION_TIME * seconds / evaluation)))
    steps = min(MAX_STEPS, int((seconds - (count + 2) * evaluation) / step))
    return max(1, steps // count)


def _labels(rows: EncodedTable, table: EncodedTable) -> Float[Tensor, "row label"]:
    """One-hot classes, or numbers standardised as those of the table."""
    if table.classes:
        return _one_hot(rows.target, table.classes)
    return ((rows.target - table.target.mean()) / _std(table)).float()[:, None]


def _std(table: EncodedTable) -> Tensor:
    return table.target.std(correction=0).clamp(min=1e-30)


def _categories(table: EncodedTable) -> tuple[int, ...]:
    most = table.values.nan_to_num(0.0).amax(0).long() + 1
    return tuple(
        min(MAX_CATEGORIES, int(count)) if category else 0 for count, category in zip(most, table.category, strict=True)
    )


@lru_cache(maxsize=2)
def _order(count: int, seed: int) -> Int[Tensor, " row"]:
    """The rows of an epoch in random order, drawn once for all of its batches."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def _sample(count: int, most: int, seed: int) -> Int[Tensor, " row"]:
    """All rows, or as many as allowed; ascending."""
    if count <= most:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(seed_for("key rows", seed))
    return torch.randperm(count, generator=generator)[:most].sort().values
