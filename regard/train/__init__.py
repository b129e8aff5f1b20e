"""Training: one loop for every task."""

from regard.train.loop import Report, evaluate, fit
from regard.train.optimise import AdamW, Muon
from regard.train.ranks import Ranks, join_ranks
from regard.train.schedule import Constant, CoolDown, Cosine, InverseRoot
from regard.train.settings import Training

__all__ = [
    "AdamW", "Constant", "CoolDown", "Cosine", "InverseRoot", "Muon", "Ranks", "Report", "Training", "evaluate", "fit",
    "join_ranks",
]  # fmt: skip
