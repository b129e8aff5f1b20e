"""The best size for a budget: with so many operations to spend, how large a model and how many tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.studies.scale.laws import Interval, JointFit, Point

TIMES = (1, 10, 100)  # the most work of a run on the grid
MANY_PASSES = 4  # beyond, tokens seen again teach less (Muennighoff et al., 2023)


@dataclass(frozen=True)
class BestSize:
    flops: float
    parameters: Interval  # without embeddings
    tokens: Interval
    loss: float
    passes: float  # over the text that there is

    def __str__(self) -> str:
        return (
            f"best for {self.flops:.3g} operations: {whole(self.parameters)} parameters without embeddings, "
            f"{whole(self.tokens)} tokens, loss about {self.loss:.3f}{self.beyond}"
        )

    @property
    def beyond(self) -> str:
        """What to think of it where the text is too short for that."""
        return (
            f" if there were so much text: it is {self.passes:,.0f} passes over this"
            if self.passes > MANY_PASSES
            else ""
        )


def best_sizes(fit: JointFit, points: Sequence[Point], budgets: Sequence[float], text: float) -> list[BestSize]:
    """For the most work of a run and multiples of it, and for the budgets that were asked for.

    Parameters × tokens is what a budget fixes; operations follow from the largest run's own ratio of the two. `text` is
    the number of tokens that there are to learn from.
    """
    largest = max(points, key=lambda p: p.flops)
    each = largest.flops / (largest.parameters * largest.tokens)
    found = []
    for flops in sorted({*(times * largest.flops for times in TIMES), *budgets}):
        work = flops / each
        size = fit.best_parameters(work)
        tokens = Interval(work / size.value, work / size.high, work / size.low)
        found.append(BestSize(flops, size, tokens, fit.law.loss(size.value, tokens.value), tokens.value / text))
    return found


def whole(told: Interval) -> str:
    """Large numbers to three figures, written out."""
    value, low, high = (f"{float(f'{x:.3g}'):,.0f}" for x in (told.value, told.low, told.high))
    return f"{value} ({low} to {high})"
