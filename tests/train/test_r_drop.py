"""R-Drop: the loss against its definition, and what it needs of a task."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError
from regard.data.text.labelled import LabelledBatch
from regard.data.text.pairs import PairBatch
from regard.data.text.windows import WindowBatch
from regard.models import BERT, GPT, ClassifierHead, Transformer
from regard.tasks.classify.task import Classify
from regard.tasks.lm.task import LanguageModel
from regard.tasks.translate.task import Translate
from regard.train import Loop, MemoryKeeper, Training
from regard.train.r_drop import r_drop_loss

SIZES = {"vocab": 12, "width": 16, "heads": 2, "layers": 1, "dropout": 0.4}


def cases() -> list:
    torch.manual_seed(0)
    tokens, valid = torch.randint(3, 12, (4, 6)), torch.arange(6) < torch.tensor([[6], [4], [3], [6]])
    return [
        (LanguageModel(), GPT(**SIZES), WindowBatch(tokens, tokens.roll(-1, 1), valid)),
        (Translate(), Transformer(**SIZES), PairBatch(tokens, valid, tokens, tokens.roll(-1, 1), valid)),
        (Classify(), BERT(**SIZES, head=ClassifierHead(3)), LabelledBatch(tokens, valid, torch.tensor([0, 1, 2, 1]))),
    ]


@pytest.mark.parametrize(("task", "config", "batch"), cases())
def test_the_loss_is_the_mean_of_both_and_their_divergence(task, config, batch):
    model = config.build().train()
    torch.manual_seed(1)
    loss = r_drop_loss(task, model, batch, weight=3.0)
    torch.manual_seed(1)
    (one, p), (two, q) = (task.loss_and_logits(model, batch) for _ in range(2))
    assert p.dim() == 2
    assert len(p) == int(one.terms), "padding does not count"
    assert (p - q).abs().max() > 1e-3, "dropout differs"
    p, q = p.softmax(-1), q.softmax(-1)
    divergence = (p * (p / q).log()).sum() + (q * (q / p).log()).sum()
    torch.testing.assert_close(loss.total, (one.total + two.total) / 2 + 3.0 * divergence / 4, rtol=1e-4, atol=1e-4)
    assert loss.terms == one.terms
    model.eval()  # without dropout nothing is added
    torch.testing.assert_close(r_drop_loss(task, model, batch, 3.0).total, task.loss(model, batch).total)


class Squares:
    unit = "rows"

    def loss(self, model: nn.Module, batch: object) -> Loss:
        return Loss(F.mse_loss(torch.zeros(1), torch.ones(1)), torch.tensor(1))


def test_a_task_without_predictions_is_refused():
    task, config, batch = cases()[0]

    class Once:
        fixed_shape, steps_per_epoch = True, 1

        def batch(self, step: int) -> WindowBatch:
            return batch

        def once(self) -> Iterator[WindowBatch]:
            yield batch

    training = Training(steps=2, batch_size=4, r_drop=1.0)
    with pytest.raises(ConfigError, match="r_drop: Squares has no predictions to compare"):
        Loop(config.build(), Squares(), Once(), training, MemoryKeeper())
    report = Loop(config.build(), task, Once(), training, MemoryKeeper()).run()
    assert report.progress.step == 2
    with pytest.raises(ConfigError, match="r_drop: must be at least 0"):
        Training(steps=1, r_drop=-1.0)
