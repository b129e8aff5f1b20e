"""Classify: which label a text has."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import share
from regard.data.text.labelled import LabelledBatch, encode_texts, encode_trees
from regard.data.text.pairs import pad
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.text import Tokenizer


@dataclass(frozen=True)
class Classify:
    labels: tuple[str, ...] = ()  # in the order of the scores; none: those of the training files
    longest: int = 128  # tokens read of a text
    smoothing: float = 0.0
    blind: float = 0.0  # share of the tokens that training does not show, other ones each time
    unit = "tokens"

    def __post_init__(self) -> None:
        share(smoothing=self.smoothing, blind=self.blind)

    def loss(self, model: nn.Module, batch: LabelledBatch) -> Loss:
        shown = batch.valid
        if model.training and self.blind:
            shown = shown & (torch.rand(shown.shape, device=shown.device) >= self.blind)
            shown[:, 0] = True  # so that something can always be looked at
        scores = model(batch.tokens, shown, positions=batch.places).float()
        smoothing = self.smoothing if model.training else 0.0
        total = F.cross_entropy(scores, batch.label, reduction="sum", label_smoothing=smoothing)
        return Loss(total, torch.tensor(batch.rows))


def label_chances(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    longest: int,
    batch: int = 128,
    trees: Sequence[Parse] | None = None,
) -> Float[Tensor, "text label"]:
    """The probability of each label for each text, similar lengths together."""
    if not texts:
        return torch.empty(0, 0)
    model.eval()
    rows = encode_texts(texts, tokenizer, longest)
    hung = encode_trees(texts, trees, tokenizer, longest)
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    found: list[Tensor] = []
    with torch.inference_mode():
        for first in range(0, len(order), batch):
            together = order[first : first + batch]
            tokens, valid = pad([rows[row] for row in together], tokenizer.pad)
            places = None if hung is None else pad_trees([hung[row] for row in together])
            found.append(model(tokens, valid, positions=places).float().softmax(-1))
    back = torch.tensor(order).argsort()
    return torch.cat(found)[back]


def label_scores(answers: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """The share that is right, and the F1 of each label, averaged over labels."""
    right = sum(answer == reference for answer, reference in zip(answers, references, strict=True))
    by_label = []
    for label in sorted(set(references) | set(answers)):
        both = sum(a == r == label for a, r in zip(answers, references, strict=True))
        claimed, true = answers.count(label), references.count(label)
        by_label.append(2 * both / (claimed + true))
    return {"accuracy": right / len(references), "macro_f1": sum(by_label) / len(by_label)}
