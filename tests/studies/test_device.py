"""Everything is measured on the device of the model, wherever training has put it."""

from pathlib import Path
from unittest.mock import Mock

import torch
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.studies.heads.importance import _patterns
from regard.studies.heads.subject import Subject


def test_the_loss_is_measured_on_the_models_device():
    batch, task = Mock(), Mock(unit="tokens")
    task.loss.return_value = Loss(torch.tensor(6.0), torch.tensor(3))
    model = nn.Linear(1, 1, device="meta")
    assert Subject(Path("run"), model, task, [batch]).measure_loss() == 2.0
    batch.to.assert_called_once_with("meta")
    task.loss.assert_called_once_with(model, batch.to.return_value)


def test_sentences_are_read_on_the_models_device():
    devices = []

    def read(tokens: Tensor) -> None:
        devices.append(tokens.device.type)

    assert _patterns(nn.Linear(1, 1, device="meta"), read, torch.zeros(1, 2, dtype=torch.long)) == {}
    assert devices == ["meta"]
