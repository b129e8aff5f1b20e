"""Checks of parameters, in `fit` as scikit-learn has it: estimators store what they are given."""

import math
from numbers import Integral, Real
from typing import Any

from regard.core.errors import ConfigError


def check_parameters(members: Any, time_limit: Any = 60.0) -> None:
    """Refuse what is no number, such as text, and numbers that cannot be meant."""
    if not isinstance(time_limit, Real) or isinstance(time_limit, bool):
        raise ConfigError(f"time_limit: must be a number of seconds, not {time_limit!r}")
    if not 0 < float(time_limit) < math.inf:
        raise ConfigError(f"time_limit: must be more than 0 seconds, not {time_limit}")
    if not isinstance(members, Integral) or isinstance(members, bool):
        raise ConfigError(f"members: must be a whole number, not {members!r}")
    if members < 1:
        raise ConfigError(f"members: must be at least 1, not {members}")
