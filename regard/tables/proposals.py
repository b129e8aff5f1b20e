"""Thresholds that held-out rows propose: with the best F1, and with the least cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from regard.core.errors import ConfigError
from regard.tables.costs import Cost, cheapest_threshold, mean_cost
from regard.tables.encode.cells import Label, as_label
from regard.tables.leaks import HeldOut
from regard.tables.problem import Problem
from regard.tables.rare_class import FEW, best_threshold, detection_scores, is_rare, rare_class

MORE_F1 = 0.05  # than with the threshold of one half
BY_COST, BY_F1 = "threshold_cost", "threshold_f1"  # as a run keeps them beside its scores


@dataclass(frozen=True)
class Detected:
    """Held-out rows, of which some are of the rarer of two classes."""

    label: Label
    truth: Bool[np.ndarray, " row"]
    probability: Float[np.ndarray, " row"]

    @property
    def count(self) -> int:
        return int(self.truth.sum())

    def f1(self, threshold: float = 0.5) -> float:
        return detection_scores(self.truth, self.probability, threshold)["f1"]

    def detections(self, threshold: float = 0.5) -> str:
        """Such as: 2 of 3 are found, with 1 false alarm."""
        detected = self.probability >= threshold
        right, wrong = int((detected & self.truth).sum()), int((detected & ~self.truth).sum())
        alarms = "1 false alarm" if wrong == 1 else f"{wrong:,} false alarms"
        return f"{right:,} of {self.count:,} are found, with {alarms}"


def check_cost(problem: Problem, cost: Cost | None) -> None:
    """Refuse a cost where there is no rarer of two classes."""
    if cost is not None and (not problem.classifies or problem.target.nunique() != 2):
        raise ConfigError(f"--cost {cost}: is for a target with two classes")


def propose_thresholds(result: HeldOut, cost: Cost | None = None) -> tuple[list[str], dict[str, float]]:
    """Lines that name thresholds for a rare class, and for a cost if there is one; and the thresholds by name."""
    rare = rare_class(result.estimator)
    if rare is None or (cost is None and not is_rare(result.estimator)):
        return [], {}
    label = as_label(result.estimator.classes_[rare])
    truth = (result.target == label).to_numpy()
    if not truth.any():
        return [f"no held-out row is {label!r}, so no threshold can be proposed"], {}
    rows = Detected(label, truth, result.estimator.predict_proba(result.features)[:, rare])
    by_f1, f1 = best_threshold(rows.truth, rows.probability)
    lines, thresholds = [], dict[str, float]()
    if is_rare(result.estimator) and f1 > rows.f1() + MORE_F1:
        lines.append(_rare_class_line(rows, by_f1))
        thresholds[BY_F1] = by_f1
    if cost is not None:
        by_cost = cheapest_threshold(rows.truth, rows.probability, cost)
        lines.append(_cost_line(rows, cost, by_cost, by_f1))
        thresholds = {BY_COST: by_cost, BY_F1: by_f1}
    if lines and rows.count < FEW:
        lines[-1] += f"; {rows.count} of {label!r} are too few to rely on these numbers"
    return lines, thresholds


def _rare_class_line(rows: Detected, threshold: float) -> str:
    return (
        f"{rows.label!r} is rare ({rows.count:,} of {len(rows.truth):,} held-out rows). Predicted where it is the more "
        f"probable class, {rows.detections()} (F1 {rows.f1():.2f}); with predict --threshold {threshold:g}, "
        f"{rows.detections(threshold)} (F1 {rows.f1(threshold):.2f}). The threshold was chosen on these rows, so "
        "new rows will be predicted a little worse"
    )


def _cost_line(rows: Detected, cost: Cost, by_cost: float, by_f1: float) -> str:
    named = {by_cost: "the least", by_f1: "the best F1", 0.5: "the more probable class"}
    if by_cost == by_f1:
        named[by_cost] = "the least, and the best F1"
    paid = [
        f"{mean_cost(rows.truth, rows.probability, one, cost):.3g} with --threshold {one:g} ({why})"
        for one, why in named.items()
    ]
    return f"cost {cost} (false alarm : miss) of {rows.label!r}: mean cost per held-out row {', '.join(paid)}"


def proposed_threshold(config: Mapping[str, Any]) -> float | None:
    """The threshold that `fit` has proposed for a run: by its cost if it was given one, or else by F1."""
    scores = config.get("scores") or {}
    threshold = scores.get(BY_COST, scores.get(BY_F1))
    return float(threshold) if threshold is not None and 0 < threshold < 1 else None
