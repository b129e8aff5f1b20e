"""The baseline of language modelling: an n-gram model of the same tokens."""

import numpy as np

from regard.tasks.baseline import Baseline
from regard.tasks.lm.kneser_ney import KneserNey

MAX_TRAIN, MAX_VALID = 3_000_000, 1_000_000  # tokens: seconds and a few hundred megabytes
FEW_TOKENS = 1000  # a vocabulary of characters or bytes, whose n-grams are longer
REMEDY = "train longer (--minutes), or with more text"


def ngram_baseline(train: np.ndarray, valid: np.ndarray, vocab: int) -> Baseline:
    """The mean loss of a validation token in nats, each predicted from the tokens before it."""
    order = 6 if vocab <= FEW_TOKENS else 5
    method = f"an n-gram model of order {order} (interpolated Kneser-Ney)"
    if len(train) > MAX_TRAIN:
        method += f" of the last {MAX_TRAIN:,} training tokens"
    if len(valid) > MAX_VALID:
        method += f", on the first {MAX_VALID:,} validation tokens"
    model = KneserNey(np.asarray(train[-MAX_TRAIN:]), vocab, order)
    loss = -float(model.log_probabilities(np.asarray(valid[:MAX_VALID])).mean())
    return Baseline(method, "loss", loss, REMEDY, lower_is_better=True)
