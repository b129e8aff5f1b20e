"""regard's own methods: the table estimators in each of their modes, given the columns as the file has them."""

from functools import partial
from typing import Any

from .methods import Method, Setup


def regard(mode: str, setup: Setup) -> Any:
    from regard.tables import NPTClassifier, NPTRegressor

    _set_threads(setup.threads)
    kind = NPTClassifier if setup.classifies else NPTRegressor
    return kind(mode=mode, time_limit=setup.limit, random_state=setup.seed)


def _set_threads(count: int) -> None:
    import torch

    torch.set_num_threads(count)


MODES = {
    "regard_auto": "auto",
    "regard_attention": "attention",
    "regard_in_context": "in_context",
    "regard_scratch": "scratch",
}
OURS = {
    name: Method(partial(regard, mode), ("regard", "regard.tables", "torch"), keeps_limit=True)
    for name, mode in MODES.items()
}
