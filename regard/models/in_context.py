"""A transformer for tables that it has never seen: it reads the known rows and answers the others in one pass.

The idea of the Non-Parametric Transformer (rows look at rows, attributes at attributes) with weights that belong to no
table, so that they can be learned once, on many (Hollmann et al., 2023). Cells enter with what their column says about
the labels; attention between the attributes of a row sums it up in a few states (Qu et al., 2025), so that attention
between rows costs one token a row. Each row enters with what a linear model and the rows that resemble it say; in the
end the known rows vote, and the network says how far to trust that vote.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.core.errors import MANY, ConfigError, at_least, at_most
from regard.core.shapes import Memory, States
from regard.parts.attention import Attention, Full
from regard.parts.cache import KVCache
from regard.parts.column_facts import FACTS, NEAR, ColumnFacts, Values
from regard.parts.experts import Feed
from regard.parts.feed import SquaredReLU
from regard.parts.guesses import Guesses, TwoGuesses
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.multihead import width_per_head
from regard.parts.positions import NoPosition, Position
from regard.parts.trunk import Trunk
from regard.parts.vote import Trust, Vote

DIGITS = 10  # a class is coded by the digits of its number, so that weights for ten know a hundred
COLUMN_CODE = 8  # random numbers by which columns are told apart
PIECES = 8  # of the range of numeric labels

Codes = Float[Tensor, "table column code"]


@dataclass(frozen=True, kw_only=True)
class InContext(Trunk):
    """`width`, `layers` and `heads` are those of the attention between rows."""

    width: int = 192
    layers: int = 6
    heads: int = 6
    cell_width: int = 64
    cell_layers: int = 2
    cell_heads: int = 2
    summaries: int = 3  # states that sum up the cells of a row
    thinking: int = 16  # learned rows beside those of the table
    quantiles: int = 33  # of a predicted number
    attention: Attention = Full(grows=True)
    position: Position = NoPosition()
    feed: Feed = SquaredReLU(hidden=384)
    dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, cell_layers=self.cell_layers, summaries=self.summaries, thinking=self.thinking)
        at_most(MANY, cell_layers=self.cell_layers)
        at_least(3, quantiles=self.quantiles)
        width_per_head(self.cell_width, self.cell_heads)
        if not isinstance(self.attention, Full) or self.alternate is not None:
            raise ConfigError("attention: every row looks at all known rows, so Full")
        if self.recall:
            raise ConfigError("recall: rows enter once, beside learned ones")
        if not isinstance(self.position, NoPosition):
            raise ConfigError(f"position: rows of a table have no order, so NoPosition, not {self.position}")

    def build(self) -> "InContextModel":
        return InContextModel(self)


@dataclass(frozen=True)
class Known:
    """What has been read of a table's known rows: all that answering more rows needs."""

    columns: ColumnFacts
    guesses: Guesses
    codes: Codes
    cache: Sequence[KVCache]
    rows: States  # the known rows at the end of the stack
    labels: Float[Tensor, "table row label"]
    classes: int  # 0: the labels are numbers


class InContextModel(nn.Module):
    def __init__(self, config: InContext):
        super().__init__()
        self.config = config
        cell = config.cell_width
        self.fact = Linear(FACTS, cell)
        self.said_class, self.said_number = (Linear(len(NEAR) * (cell // 2 + 1), cell) for _ in range(2))
        self.column = Linear(COLUMN_CODE, cell, bias=False)
        self.units, self.tens = nn.Embedding(DIGITS, cell // 2), nn.Embedding(DIGITS, cell // 2)
        self.number = Linear(2 + PIECES, cell // 2)
        self.summary = nn.Parameter(torch.randn(config.summaries, cell) * cell**-0.5)
        inner = replace(
            config, width=cell, heads=config.cell_heads, feed=SquaredReLU(hidden=2 * cell), attention=Full()
        )
        self.cells = nn.ModuleList(inner.table_block() for _ in range(config.cell_layers))
        self.cells_norm = config.norm.build(cell)
        self.row = Linear(config.summaries * cell, config.width)
        self.label, self.guessed_class = (Linear(cell // 2, config.width) for _ in range(2))
        self.guessed_number = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        self.like_class = Linear(cell // 2, config.width)
        self.like_number = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        self.asked = nn.Parameter(torch.zeros(config.width))  # in place of a label that is to be found
        self.thinking = nn.Parameter(torch.randn(config.thinking, config.width) * config.width**-0.5)
        self.rows = nn.ModuleList(config.table_block(number) for number in range(config.layers))
        self.norm = config.last_norm()
        self.vote = Vote(config.width, config.heads)
        self.spread = Linear(config.width, config.quantiles + 2)
        self.trust = Trust(config.width)  # in what the rows that resemble a row say
        init_weights(self, self.cells, self.rows, quiet=config.quiet)

    def forward(
        self,
        values: Values,
        category: Bool[Tensor, "table column"],
        target: Float[Tensor, "table known"],
        classes: int,
        codes: Codes,
    ) -> Float[Tensor, "table asked answer"]:
        """Answers for the rows of `values` after those whose `target` is given, in one pass over all of them.

        They are the probability of each class or, where `classes` is 0, the mean and the quantiles of a number, for
        numbers whose known ones have mean 0 and deviation 1.
        """
        known = target.shape[1]
        labels = label_features(target, classes)
        columns = ColumnFacts.learn(values[:, :known], labels, category)
        x, _, guess = self._enter(columns, values, codes, classes, own=labels)
        x = x + torch.cat([self._label(labels, classes), self.asked.expand(len(x), x.shape[1] - known, -1)], 1)
        x = torch.cat([self.thinking.expand(len(x), -1, -1), x], 1)
        thinking = len(self.thinking)
        for block in self.rows:
            x = block(x, context=thinking + known)
        x = self.norm(x)[:, thinking:]
        return self._answer(x[:, known:], x[:, :known], labels, classes, guess[:, known:])

    def read(
        self,
        values: Values,
        category: Bool[Tensor, "table column"],
        target: Float[Tensor, "table known"],
        classes: int,
        codes: Codes,
        guesses: Guesses | None = None,
    ) -> Known:
        """The known rows by themselves, kept so that `answer` need not read them again.

        `guesses` are those of a larger table, of which these rows are some, and then columns are known from all of it.
        """
        labels = label_features(target, classes)
        columns = guesses.columns_as_told if guesses else ColumnFacts.learn(values, labels, category)
        x, guesses, _ = self._enter(columns, values, codes, classes, own=labels, guesses=guesses)
        x = torch.cat([self.thinking.expand(len(x), -1, -1), x + self._label(labels, classes)], 1)
        cache = [KVCache(x.shape[1]) for _ in self.rows]
        for block, kept in zip(self.rows, cache, strict=True):
            x = block(x, cache=kept, context=x.shape[1])
        return Known(columns, guesses, codes, cache, self.norm(x)[:, len(self.thinking) :], labels, classes)

    def see(self, known: Known, values: Values) -> tuple[States, TwoGuesses]:
        """What the cells of other rows of the same table are and say, before these look at any row; and the guesses."""
        x, _, guess = self._enter(known.columns, values, known.codes, known.classes, guesses=known.guesses)
        return x, guess

    def answer(self, known: Known, values: Values) -> Float[Tensor, "table asked answer"]:
        """Answers for other rows of the same table."""
        x, guess = self.see(known, values)
        x = x + self.asked
        for block, kept in zip(self.rows, known.cache, strict=True):
            x = block(x, cache=kept, context=0)
        return self._answer(self.norm(x), known.rows, known.labels, known.classes, guess)

    def _enter(
        self,
        columns: ColumnFacts,
        values: Values,
        codes: Codes,
        classes: int,
        *,
        own: Tensor | None = None,
        guesses: Guesses | None = None,
    ) -> tuple[States, Guesses, TwoGuesses]:
        """A state for every row, of what its cells are and say; `own` are the labels of the first rows.

        And the closed forms, which are fitted to those rows where none are given, with their guesses for every row.
        """
        with torch.no_grad():
            facts, said = columns.describe(values, own)
            guesses, guess = _guess(guesses, columns, values, facts, own, classes)
        mean, count = said[..., :-1], said[..., -1:]
        told = torch.cat([self._code(mean, classes), count], -1).flatten(3)
        says = self.said_class(told) if classes else self.said_number(told)
        x = self.fact(facts) + says + self.column(codes)[:, None]
        tables, rows = values.shape[:2]
        x = x.flatten(0, 1)
        x = torch.cat([self.summary.expand(len(x), -1, -1), x], 1)
        for number, block in enumerate(self.cells, 1):
            last = number == len(self.cells)
            x = block(x, only=len(self.summary) if last else None)
        summed = self.row(self.cells_norm(x).flatten(1)).unflatten(0, (tables, rows))
        return summed + self._guessed(guess, classes), guesses, guess

    def _code(self, labels: Tensor, classes: int) -> Tensor:
        """Shares of classes, or features of numbers, as a code of fixed width."""
        if not classes:
            return self.number(labels)
        number = torch.arange(classes, device=labels.device)
        return labels @ (self.units(number % DIGITS) + self.tens(number // DIGITS % DIGITS))

    def _guessed(self, guess: TwoGuesses, classes: int) -> States:
        line, like = guess.unbind(2)
        if not classes:
            return line * self.guessed_number + like * self.like_number
        return self.guessed_class(self._code(line, classes)) + self.like_class(self._code(like, classes))

    def _label(self, labels: Tensor, classes: int) -> States:
        return self.label(self._code(labels, classes))

    def _answer(self, asked: States, known: Memory, labels: Tensor, classes: int, guess: TwoGuesses) -> Tensor:
        line, like = guess.unbind(2)
        trust = self.trust(asked)
        if classes:
            like = like.clamp(min=0)  # a closed form knows no bounds
            return torch.lerp(self.vote(asked, known, labels), like / like.sum(-1, keepdim=True), trust)
        around = self.vote(asked, known, labels[..., :1])
        straight, spread = self.spread(asked).float().split([1, self.config.quantiles + 1], -1)
        return torch.lerp(torch.lerp(around, line, straight.sigmoid()), like, trust) + spread


def guesses_of(
    values: Values, category: Bool[Tensor, "table column"], target: Float[Tensor, "table known"], classes: int
) -> Guesses:
    """What all rows of a large table say, for `read` to read a part of it."""
    labels = label_features(target, classes)
    columns = ColumnFacts.learn(values, labels, category)
    return Guesses.fit(columns, values, columns.standing(values), labels, classes)


def _guess(
    guesses: Guesses | None, columns: ColumnFacts, values: Values, facts: Tensor, own: Tensor | None, classes: int
) -> tuple[Guesses, TwoGuesses]:
    if own is None:
        assert guesses is not None, "there must be labels to learn from, or what was learned"
        return guesses, guesses.of(values, facts)
    known = own.shape[1]
    guesses = guesses or Guesses.fit(columns, values[:, :known], facts[:, :known], own, classes)
    return guesses, torch.cat([guesses.own, guesses.of(values[:, known:], facts[:, known:])], 1)


def label_features(target: Float[Tensor, "table known"], classes: int) -> Float[Tensor, "table known label"]:
    """One share a class; or of a number: itself, its square, and the piece of the range that it is in."""
    if classes:
        return nn.functional.one_hot(target.long(), classes).float()
    ordered, sought = target.sort(-1).values, target.contiguous()
    twice = torch.searchsorted(ordered, sought) + torch.searchsorted(ordered, sought, right=True)  # equals share a rank
    piece: Int[Tensor, "table known"] = (twice * PIECES // (2 * target.shape[1])).clamp(max=PIECES - 1)
    return torch.cat([target[..., None], target.square()[..., None], nn.functional.one_hot(piece, PIECES)], -1)
