"""Pre-training a classifier: a model of masked words, learned from texts without labels, is where it starts.

In-domain texts teach an encoder words and phrases that the labelled texts are too few for (Gururangan et al., 2020).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import ConfigError, UserError, at_least
from regard.core.model import build_model
from regard.data.text.masked import Masking
from regard.data.text.unlabelled import MaskedTexts, read_unlabelled
from regard.models import BERT, MaskedLMHead
from regard.tasks.base import Settings
from regard.tasks.fill.task import MaskedLM
from regard.text import Tokenizer
from regard.train import WSD, AdamW, Loop, MemoryKeeper, Muon, Ranks, Training

log = logging.getLogger(__name__)
MAX_TEXTS = 1_000_000  # held in memory


@dataclass(frozen=True)
class Pretraining(Config):
    """The budget is given in minutes and epochs; the first to be used up ends it."""

    minutes: float = 5.0
    epochs: float = 40.0
    batch_size: int = 64
    fraction: float = 0.15  # of the words, which are masked and predicted

    def __post_init__(self) -> None:
        at_least(1, batch_size=self.batch_size)
        MaskedLM(self.fraction)
        for name in ("minutes", "epochs"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name}: must be more than 0, not {getattr(self, name)}")

    def training(self, seed: int) -> Training:
        return Training(
            batch_size=self.batch_size,
            minutes=self.minutes,
            epochs=self.epochs,
            optimiser=Muon(lr=0.02, weight_decay=0.1, adamw=AdamW(lr=2e-3, weight_decay=0.0)),
            schedule=WSD(warmup=50, stable=0.4),
            seed=seed,
        )


def read_texts(files: Sequence[str]) -> list[str]:
    """The unlabelled texts, as many as memory should hold."""
    texts = list(islice(read_unlabelled(files), MAX_TEXTS + 1))
    if not texts:
        raise UserError(f"{', '.join(files)}: no texts; each line of a plain file is one")
    if len(texts) > MAX_TEXTS:
        log.info("note: %s: only the first %s texts are used", ", ".join(files), f"{MAX_TEXTS:,}")
    return texts[:MAX_TEXTS]


def pretrain(
    model: BERT, tokenizer: Tokenizer, texts: Sequence[str], plan: Settings, settings: Pretraining, ranks: Ranks
) -> Mapping[str, Tensor]:
    """The weights of an encoder of this form, without a head, trained to predict masked words of the texts."""
    masking, seed = Masking(tokenizer, settings.fraction), plan.training.seed
    data = MaskedTexts(texts, plan.data.max_length, masking, tokenizer, settings.batch_size)
    torch.manual_seed(seed)
    encoder = build_model(replace(model, head=MaskedLMHead()))
    if ranks.first:
        log.info("pre-training on the masked words of %s texts", f"{len(texts):,}")
    keeper = MemoryKeeper(title="pre-training")
    loop = Loop(encoder, MaskedLM(settings.fraction), data, settings.training(seed), keeper, ranks=ranks)
    report = loop.run()
    if report.stopped_by:
        raise UserError("stopped while pre-training, before the classifier was trained: nothing was written")
    if ranks.first:
        log.info("pre-trained for %s steps, %.0f s", f"{report.progress.step:,}", report.progress.seconds)
    of_head = ("head.", "embedding.head")
    weights = ranks.weights(loop.model)
    return {name: tensor for name, tensor in weights.items() if not name.startswith(of_head)}
