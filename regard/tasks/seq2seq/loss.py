"""The loss of targets given their sources, and the log-probability of single pairs."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.machine import device_of
from regard.data.text.pairs import PairBatch, Pairs, source_trees
from regard.data.trees.conllu import Parse
from regard.text import Tokenizer
from regard.train.evaluate import evaluation_mode

SCORED_ROWS = 128  # pairs scored together: each has logits over the vocabulary at every token


def target_loss(model: nn.Module, batch: PairBatch, label_smoothing: float) -> Loss:
    """Cross-entropy of each target token, given its source and the tokens before it."""
    losses, _ = _token_losses(model, batch, label_smoothing)
    return Loss(losses.sum(), batch.answer_valid.sum())


def target_loss_and_logits(model: nn.Module, batch: PairBatch, label_smoothing: float) -> tuple[Loss, Tensor]:
    """The same, and the logits of each target token, (token, vocab)."""
    losses, logits = _token_losses(model, batch, label_smoothing)
    return Loss(losses.sum(), batch.answer_valid.sum()), logits[batch.answer_valid]


def _token_losses(model: nn.Module, batch: PairBatch, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """The loss of every target token in nats, (batch, target), zero at padding; and the logits of all."""
    positions = () if batch.positions is None else (batch.positions,)  # only some models take them
    logits = model(batch.source, batch.target, batch.source_valid, *positions)
    answer = batch.answer.masked_fill(~batch.answer_valid, -100)
    losses = F.cross_entropy(
        logits.flatten(0, 1).float(),
        answer.flatten(),
        ignore_index=-100,
        reduction="none",
        label_smoothing=label_smoothing,
    )
    return losses.view_as(answer), logits


def score_targets(
    model: nn.Module,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    trees: Sequence[Parse] | None = None,
) -> list[float]:
    """The mean log-probability of a token of each target, its end included."""
    if not pairs:
        return []
    texts, device = [source for source, _ in pairs], device_of(model)
    rows = zip(tokenizer.encode(texts), tokenizer.targets.encode([target for _, target in pairs]), strict=True)
    batches = Pairs(list(rows), tokenizer, SCORED_ROWS, trees=source_trees(texts, trees, tokenizer))
    scores: list[float] = []
    with evaluation_mode(model), torch.inference_mode():
        for batch in batches.once():
            losses = _token_losses(model, batch.to(device))[0].sum(1) / batch.answer_valid.sum(1).to(device)
            scores += (-losses).tolist()
    return scores
