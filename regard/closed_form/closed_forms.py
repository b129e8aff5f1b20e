"""The closed forms of one table: ridge and kernel ridge predictions, given to the in-context model as features.

Context rows get leave-one-out predictions, so that no row sees its own label, nor that of its copies.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.closed_form.column_statistics import CellFeatures, ColumnStatistics, Labels, Values
from regard.closed_form.copies import Copies
from regard.closed_form.kernel_ridge import KernelRidge, kernel_features
from regard.closed_form.nystrom import NystromKernelRidge
from regard.closed_form.ridge import Features, Ridge, ridge_features

ENCODED_CLASSES = 3  # classes that have a target statistic for each category
MAX_EXACT = 3000  # rows of an exact kernel ridge; beyond, the Nyström approximation

ClosedFormPredictions = Float[Tensor, "table row method label"]  # by ridge, and by kernel ridge


@dataclass(frozen=True)
class ClosedForms:
    columns: ColumnStatistics
    ridge: Ridge
    kernel_ridge: KernelRidge
    classes: int  # 0: regression

    @classmethod
    def fit(
        cls,
        columns: ColumnStatistics,
        values: Values,
        cells: CellFeatures,
        labels: Labels,
        classes: int,
        copies: Copies | None = None,
    ) -> "ClosedForms":
        """Fit to the context rows, given the statistics of their columns and the features of their cells."""
        linear, kernel = _features(columns, values, cells, classes, context=True)
        targets = labels[..., : classes or 1]
        distinct, times = (kernel.shape[1], None) if copies is None else (len(copies.first), copies.of_each)
        kind = KernelRidge if distinct <= MAX_EXACT else NystromKernelRidge
        return cls(columns, Ridge.fit(linear, targets, times), kind.fit(kernel, targets, copies), classes)

    def subset(self, rows: Int[Tensor, " row"]) -> "ClosedForms":
        """The same fit where only these of its rows are context rows."""
        ridge = replace(self.ridge, leave_one_out=self.ridge.leave_one_out[:, rows])
        kernel_ridge = replace(self.kernel_ridge, leave_one_out=self.kernel_ridge.leave_one_out[:, rows])
        return replace(self, ridge=ridge, kernel_ridge=kernel_ridge)

    @property
    def leave_one_out(self) -> ClosedFormPredictions:
        """Predictions for the context rows."""
        return torch.stack([self.ridge.leave_one_out, self.kernel_ridge.leave_one_out], 2)

    def predict(self, values: Values, cells: CellFeatures) -> ClosedFormPredictions:
        """Predictions for query rows."""
        linear, kernel = _features(self.columns, values, cells, self.classes)
        return torch.stack([self.ridge.predict(linear), self.kernel_ridge.predict(kernel)], 2)

    def label_weights(self, values: Values) -> Float[Tensor, "table row context"]:
        """The weight of each context row's label in the kernel ridge prediction of these rows; they sum to 1."""
        cells = self.columns.cell_features(values)
        return self.kernel_ridge.label_weights(_features(self.columns, values, cells, self.classes)[1])


def _features(
    columns: ColumnStatistics, values: Values, cells: CellFeatures, classes: int, context: bool = False
) -> tuple[Features, Float[Tensor, "table row kernel_feature"]]:
    """The features of ridge, and those of kernel ridge."""
    few = min(classes - 1, ENCODED_CLASSES) if classes > 1 else 1
    means = columns.target_statistics(values, values.shape[1] if context else 0, few)
    return ridge_features(cells, means, columns.numeric), kernel_features(values, cells, means, columns)
