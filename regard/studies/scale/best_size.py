"""The compute-optimal size: for a budget of floating-point operations, how large a model and how many tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.studies.scale.laws import Interval, JointFit, Point

MULTIPLES = (1, 10, 100)  # of the compute of the largest run on the grid
MAX_EPOCHS = 4  # beyond it, repeated tokens are worth less than new ones (Muennighoff et al., 2023)


@dataclass(frozen=True)
class BestSize:
    flops: float
    parameters: Interval  # without embeddings
    tokens: Interval
    loss: float
    epochs: float  # passes over the available text

    def __str__(self) -> str:
        return (
            f"best size for {self.flops:.3g} FLOPs: {rounded(self.parameters)} parameters without embeddings, "
            f"{rounded(self.tokens)} tokens, loss about {self.loss:.3f}{self.caveat}"
        )

    @property
    def caveat(self) -> str:
        return f" with enough text (this text: {self.epochs:,.0f} epochs)" if self.epochs > MAX_EPOCHS else ""


def best_sizes(fit: JointFit, points: Sequence[Point], budgets: Sequence[float], text: float) -> list[BestSize]:
    """For multiples of the compute of the largest run, and for the given budgets in FLOPs.

    A budget fixes parameters × tokens, by the ratio of the largest run. `text` is the number of training tokens.
    """
    largest = max(points, key=lambda p: p.flops)
    flops_per_product = largest.flops / (largest.parameters * largest.tokens)
    sizes = []
    for flops in sorted({*(multiple * largest.flops for multiple in MULTIPLES), *budgets}):
        work = flops / flops_per_product
        size = fit.best_parameters(work)
        tokens = Interval(work / size.value, work / size.high, work / size.low)
        sizes.append(BestSize(flops, size, tokens, fit.law.loss(size.value, tokens.value), tokens.value / text))
    return sizes


def rounded(interval: Interval) -> str:
    """Large numbers to three significant digits, written out."""
    value, low, high = (f"{float(f'{x:.3g}'):,.0f}" for x in (interval.value, interval.low, interval.high))
    return f"{value} ({low} to {high})"
