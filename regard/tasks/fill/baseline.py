"""The baseline of masked words: how often each token occurs, whatever stands around it."""

import numpy as np

from regard.data.text.masked import MaskedWindows
from regard.tasks.baseline import Baseline

MAX_TRAIN = 50_000_000  # tokens
REMEDY = "train longer (--minutes), or with more text"


def unigram_baseline(train: np.ndarray, valid: MaskedWindows, vocab: int) -> Baseline:
    """The mean loss of a masked token in nats, with one added to each count."""
    counts = np.bincount(np.asarray(train[-MAX_TRAIN:]), minlength=vocab) + 1.0
    losses = -np.log(counts / counts.sum())
    masked = [losses[batch.answer[batch.chosen_valid].numpy()] for batch in valid.once()]
    loss = float(np.concatenate(masked).mean()) if sum(map(len, masked)) else float("nan")
    return Baseline("the frequency of each token", "loss", loss, REMEDY, lower_is_better=True)
