"""Thresholds that held-out rows propose: with the best F1, and with the least cost."""

from regard.core.errors import ConfigError
from regard.tables.costs import Cost, cheapest_threshold, mean_cost
from regard.tables.encode.cells import as_label
from regard.tables.leaks import HeldOut
from regard.tables.problem import Problem
from regard.tables.rare_class import best_threshold, rare_class


def check_cost(problem: Problem, cost: Cost | None) -> None:
    """Refuse a cost where there is no rarer of two classes."""
    if cost is not None and (not problem.classifies or problem.target.nunique() != 2):
        raise ConfigError(f"--cost {cost}: is for a target with two classes")


def propose_thresholds(result: HeldOut, cost: Cost) -> tuple[str, dict[str, float]]:
    """A line that names the thresholds for the rarer class, and both by name; none if no row is of that class."""
    rare = rare_class(result.estimator)
    assert rare is not None, "checked before the fit"
    label = as_label(result.estimator.classes_[rare])
    truth = (result.target == label).to_numpy()
    if not truth.any():
        return f"no held-out row is {label!r}, so no threshold can be proposed", {}
    probability = result.estimator.predict_proba(result.features)[:, rare]
    by_f1, _ = best_threshold(truth, probability)
    by_cost = cheapest_threshold(truth, probability, cost)
    paid = {one: mean_cost(truth, probability, one, cost) for one in (by_cost, by_f1, 0.5)}
    line = (
        f"for cost {cost} (false alarm : miss), predict {label!r} with --threshold {by_cost:g}: {paid[by_cost]:.3g} "
        f"per held-out row; {paid[by_f1]:.3g} with {by_f1:g}, the best F1; {paid[0.5]:.3g} with 0.5"
    )
    return line, {"threshold_cost": by_cost, "threshold_f1": by_f1}
