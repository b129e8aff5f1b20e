"""Training: one loop for every task."""

from regard.train.check import Sample, evaluate
from regard.train.loop import DivergedError, Loop, Report
from regard.train.optimise import AdamW, Muon
from regard.train.processes import is_rank, run_as_ranks
from regard.train.ranks import OtherRankError, Ranks, join_ranks
from regard.train.schedule import Constant, CoolDown, Cosine, InverseRoot
from regard.train.settings import Training

__all__ = [
    "AdamW",
    "Constant",
    "CoolDown",
    "Cosine",
    "DivergedError",
    "InverseRoot",
    "Loop",
    "Muon",
    "OtherRankError",
    "Ranks",
    "Report",
    "Sample",
    "Training",
    "evaluate",
    "is_rank",
    "join_ranks",
    "run_as_ranks",
]
