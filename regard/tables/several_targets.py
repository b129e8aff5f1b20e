"""Several targets of one table: read together, fitted by one estimator, and looked at one by one."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd

from regard.core.errors import ConfigError, UserError
from regard.data.tables.files import read_table
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.problem import Problem, Tables, Task, read_problem


def read_problems(
    path: Tables,
    targets: Sequence[str],
    task: Task = "auto",
    kinds: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
) -> list[Problem]:
    """A problem for each target, of the rows where all are known and without the other targets as features."""
    twice = next((name for place, name in enumerate(targets) if name in targets[:place]), None)
    if twice is not None:
        raise ConfigError(f"--target {twice}: is named twice")
    if len(targets) > 1 and (target := next((name for name in targets if name in ignore), None)):
        raise ConfigError(f"--ignore {target}: is a target")
    frame = read_table(path)  # once, for it says how it is read
    problems = [
        read_problem(path, name, task, kinds, [*ignore, *(other for other in targets if other != name)], frame)
        for name in targets
    ]
    others = [name for name in targets if name not in ignore]  # they are no keys of each other
    problems = [replace(one, ignored=one.ignored.drop(columns=others, errors="ignore")) for one in problems]
    return _with_common_rows(path, problems) if len(problems) > 1 else problems


def _with_common_rows(path: Tables, problems: Sequence[Problem]) -> list[Problem]:
    kinds = {problem.classifies: problem for problem in problems}
    if len(kinds) > 1:
        words = " and ".join(
            f"{one.target.name!r} is {'classification' if one.classifies else 'regression'} ({one.reason})"
            for one in kinds.values()
        )
        raise ConfigError(f"{path}: {words}; fit them in two runs, or set --task")
    total = len(problems[0].rows) + problems[0].dropped
    common = np.flatnonzero(np.bincount(np.concatenate([one.rows for one in problems])) == len(problems))
    if not len(common):
        names = " and ".join(repr(one.target.name) for one in problems)
        raise UserError(f"{path}: no row has {names}")
    cut = [_take(one, np.isin(one.rows, common), total) for one in problems]
    for one in cut:
        if one.target.nunique() == 1:
            raise UserError(f"{path}: {one.target.name!r} is the same in every row that has all targets")
    return cut


def _take(problem: Problem, chosen: np.ndarray, total: int) -> Problem:
    target = problem.target[chosen].reset_index(drop=True)
    return replace(
        problem,
        features=problem.features[chosen],
        ignored=problem.ignored[chosen],
        target=target,
        rows=problem.rows[chosen],
        dropped=total - int(chosen.sum()),
    )


def join_targets(problems: Sequence[Problem]) -> pd.Series | pd.DataFrame:
    """What an estimator is fitted to."""
    if len(problems) == 1:
        return problems[0].target
    return pd.concat([problem.target for problem in problems], axis=1)


def single_target(estimator: NPTClassifier | NPTRegressor, number: int) -> NPTClassifier | NPTRegressor:
    """A fitted estimator as one of the target with this number alone; both share everything."""
    if not estimator.multi_output_:
        return estimator
    one = copy(estimator)
    one.multi_output_ = False
    for name in ("tables_", "predictors_", "target_names_"):
        setattr(one, name, [getattr(estimator, name)[number]])
    if isinstance(one, NPTClassifier):
        one.classes_ = estimator.classes_[number]
    return one
