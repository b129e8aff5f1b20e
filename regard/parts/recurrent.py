"""Recurrent cells: a state carried along the text, one token at a time (LSTM, Hochreiter 1997; GRU, Cho 2014)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.core.config import Config
from regard.core.shapes import States, Valid
from regard.parts.padded_recurrence import Carry, scan_cells


class CellConfig(Config):
    def build(self, width: int, hidden: int, layers: int, dropout: float, bidirectional: bool) -> "Recurrent":
        raise NotImplementedError("abstract: a config builds its cells")


@dataclass(frozen=True)
class LSTM(CellConfig):
    def build(self, width: int, hidden: int, layers: int, dropout: float, bidirectional: bool) -> "Recurrent":
        return Recurrent(nn.LSTM(width, hidden, layers, batch_first=True, dropout=dropout, bidirectional=bidirectional))


@dataclass(frozen=True)
class GRU(CellConfig):
    def build(self, width: int, hidden: int, layers: int, dropout: float, bidirectional: bool) -> "Recurrent":
        return Recurrent(nn.GRU(width, hidden, layers, batch_first=True, dropout=dropout, bidirectional=bidirectional))


Cell = LSTM | GRU


class Recurrent(nn.Module):
    def __init__(self, cells: nn.LSTM | nn.GRU):
        super().__init__()
        self.cells = cells

    def forward(
        self, x: States, carry: Carry | None = None, valid: Valid | None = None
    ) -> tuple[Float[Tensor, "batch length hidden"], Carry]:
        """States of every token and what is carried on at the end of each text, its padding left out."""
        if torch.compiler.is_exporting():
            return scan_cells(self.cells, x, carry, valid)
        initial = carry if carry is None or isinstance(self.cells, nn.LSTM) else carry[0]
        if valid is None:
            states, last = self.cells(x, initial)
        else:
            sequence = pack_padded_sequence(x, valid.sum(1).cpu(), batch_first=True, enforce_sorted=False)
            states, last = self.cells(sequence, initial)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
        return states, last if isinstance(last, tuple) else (last,)


def both_directions(carry: Carry) -> Carry:
    """The two directions of an encoder side by side, as a decoder of twice the width wants them."""
    return tuple(torch.cat([part[0::2], part[1::2]], -1) for part in carry)
