"""A keeper: where a run keeps its weights, checkpoints and metrics. A run folder is one; so is memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training needs to continue as if it had never stopped."""

    progress: Mapping[str, Any]  # step, seconds, best validation loss, …
    weights: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    ema: Mapping[str, Tensor] | None = None


@runtime_checkable
class Keeper(Protocol):
    @property
    def title(self) -> str | None:
        """What to call the run on screen; None: training shows nothing."""

    @property
    def has_weights(self) -> bool: ...

    def write_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Keep the best weights so far."""

    def checkpoints(self) -> Sequence[Path]:
        """Complete checkpoints, oldest first."""

    def save_checkpoint(self, checkpoint: Checkpoint, keep: int) -> None: ...

    def load_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, or None where there is none."""

    def log(self, **values: Any) -> None:
        """Add a line of metrics."""

    def forget_metrics_after(self, step: int) -> None:
        """Drop what was logged after a checkpoint: training will log it again."""


@dataclass
class MemoryKeeper:
    """Keeps the best weights and the metrics in memory and writes no file: for fine-tuning that lasts seconds."""

    weights: dict[str, Tensor] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    title: str | None = None

    @property
    def has_weights(self) -> bool:
        return bool(self.weights)

    def write_weights(self, weights: Mapping[str, Tensor]) -> None:
        self.weights = {name: tensor.detach().clone() for name, tensor in weights.items()}

    def checkpoints(self) -> Sequence[Path]:
        return ()

    def save_checkpoint(self, checkpoint: Checkpoint, keep: int) -> None:
        """Nothing to do: a process that ends takes its memory along."""

    def load_checkpoint(self) -> Checkpoint | None:
        return None

    def log(self, **values: Any) -> None:
        self.metrics.append(values)

    def forget_metrics_after(self, step: int) -> None:
        self.metrics = [line for line in self.metrics if line["step"] <= step]
