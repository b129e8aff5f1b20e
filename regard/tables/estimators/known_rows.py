"""The training rows as evidence: how much each weighs in a prediction, and the heaviest ones as a table."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tables.data_checks import identifiers
from regard.tables.encode.columns import Columns
from regard.tables.encode.keys import keys_first
from regard.tables.encode.table import EncodedTable

SAME = 1e-6  # relative difference of two numbers: a number that was shown and typed again has seven digits


@dataclass(frozen=True)
class KnownRows:
    """Each training row once, however often it was repeated by its weight."""

    columns: Columns
    cells: Float[np.ndarray, "row cell"]
    targets: np.ndarray
    keys: pd.DataFrame
    key_features: tuple[str, ...]  # columns that are features and say which row it is
    numbers: Int[np.ndarray, " row"]
    row_of: Int[Tensor, " repeated"]

    @classmethod
    def of(
        cls, table: EncodedTable, targets: np.ndarray, numbers: Int[Tensor, " repeated"], keys: pd.DataFrame,
        columns: Columns,
    ) -> "KnownRows":  # fmt: skip
        """Rows with their targets, numbers and keys; some may be repeated."""
        distinct, first, inverse = np.unique(numbers.numpy(), return_index=True, return_inverse=True)
        cells, row_of = table.values.numpy()[first], torch.from_numpy(inverse.reshape(-1))
        key_features = tuple(identifiers(columns, cells))
        return cls(columns, cells, targets[first], keys.iloc[first], key_features, distinct, row_of)

    def find(self, query: Float[Tensor, " cell"]) -> int | None:
        """The row that has exactly these cells, if there is just one: it is excluded from its own evidence."""
        places = self.columns.identity_positions()
        equal = np.isclose(self.cells[:, places], query.numpy()[places], rtol=SAME, atol=0, equal_nan=True).all(1)
        rows = equal.nonzero()[0]
        return int(rows[0]) if len(rows) == 1 else None

    def weights(self, repeated: Float[Tensor, " repeated"], own: int | None) -> Float[Tensor, " row"]:
        """The weight of each row, given that of each repetition; the query's own row has none."""
        # Rows without a target follow the others in some predictors, and are no evidence.
        weights = torch.zeros(len(self.numbers)).index_add_(0, self.row_of, repeated[: len(self.row_of)])
        if own is not None:
            weights[own] = 0.0
            weights /= weights.sum().clamp(min=1e-12)
        return weights

    def heaviest(self, weights: Float[Tensor, " row"], top: int) -> pd.DataFrame:
        """The rows with the largest weights: weight, target, keys and cells."""
        largest = weights.argsort(descending=True)[:top].numpy()
        rows = keys_first(self.columns.decode(self.cells[largest]), self.keys.iloc[largest], self.key_features)
        rows.index = pd.Index(self.numbers[largest], name="row")
        rows.insert(0, "target", self.targets[largest], allow_duplicates=True)
        rows.insert(0, "weight", weights.double().numpy()[largest], allow_duplicates=True)
        return rows
