"""Training: one loop for every task. `regard` makes this package callable: `regard.train(plan, out)` trains a plan."""

from regard.core.batches import Batch, Batches, Loss, Objective
from regard.train.evaluate import Sample, evaluate
from regard.train.keeper import Checkpoint, Keeper, MemoryKeeper
from regard.train.loop import Loop
from regard.train.optimisers import AdamW, Muon
from regard.train.processes import is_rank, run_as_ranks
from regard.train.progress import DivergedError, Progress, Report
from regard.train.ranks import OtherRankError, Ranks, join_ranks
from regard.train.schedules import WSD, Constant, Cosine, InverseRoot
from regard.train.settings import Training
from regard.train.tensorboard import Callback, TensorBoard

__all__ = [
    "WSD",
    "AdamW",
    "Batch",
    "Batches",
    "Callback",
    "Checkpoint",
    "Constant",
    "Cosine",
    "DivergedError",
    "InverseRoot",
    "Keeper",
    "Loop",
    "Loss",
    "MemoryKeeper",
    "Muon",
    "Objective",
    "OtherRankError",
    "Progress",
    "Ranks",
    "Report",
    "Sample",
    "TensorBoard",
    "Training",
    "evaluate",
    "is_rank",
    "join_ranks",
    "run_as_ranks",
]
