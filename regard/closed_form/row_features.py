"""Row features: all that the in-context model reads of rows and that depends on no weights.

Ensemble members and networks that share closed forms share the features too: they are computed once for all of them,
and only the order of the classes differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.closed_form.closed_forms import ClosedFormPredictions, ClosedForms
from regard.closed_form.column_statistics import CellFeatures, ColumnStatistics, ContextLabels, Labels, Values
from regard.closed_form.copies import Copies


@dataclass(frozen=True)
class RowFeatures:
    cells: CellFeatures
    label_means: Float[Tensor, "table row column radius label_mean"]  # of rows with similar cells; last their number
    closed: ClosedFormPredictions

    @classmethod
    def of_table(
        cls,
        values: Values,
        category: Bool[Tensor, "table column"],
        labels: ContextLabels,
        classes: int,
        copies: Copies | None = None,
    ) -> "RowFeatures":
        """Context rows, those with `labels`, and after them query rows; everything is fitted to the former."""
        context = labels.shape[1]
        columns = ColumnStatistics.fit(values[:, :context], labels, category, copies)
        cells, means = columns.describe(values, labels, None if copies is None else copies.of_each)
        closed_forms = ClosedForms.fit(columns, values[:, :context], cells[:, :context], labels, classes, copies)
        queries = closed_forms.predict(values[:, context:], cells[:, context:])
        return cls(cells, means, torch.cat([closed_forms.leave_one_out, queries], 1))

    @classmethod
    def of_context(
        cls, closed_forms: ClosedForms, values: Values, labels: Labels, copies: Float[Tensor, " row"] | None = None
    ) -> "RowFeatures":
        """The context rows of fitted closed forms, which leave out each row's own label.

        `copies` are those of each row among the rows that the closed forms were fitted to.
        """
        return cls(*closed_forms.columns.describe(values, labels, copies), closed_forms.leave_one_out)

    @classmethod
    def of_queries(cls, closed_forms: ClosedForms, values: Values) -> "RowFeatures":
        cells, means = closed_forms.columns.describe(values)
        return cls(cells, means, closed_forms.predict(values, cells))

    @classmethod
    def stack(cls, tables: Sequence["RowFeatures"]) -> "RowFeatures":
        """The features of as many rows of several tables."""
        return cls(
            torch.cat([each.cells for each in tables]),
            torch.cat([each.label_means for each in tables]),
            torch.cat([each.closed for each in tables]),
        )

    def permute_classes(self, order: Int[Tensor, " label"]) -> "RowFeatures":
        """The same features with class `order[0]` first."""
        last = torch.tensor([self.label_means.shape[-1] - 1])  # the number of rows, which stays the last
        return RowFeatures(self.cells, self.label_means[..., torch.cat([order, last])], self.closed[..., order])

    def take(self, rows: slice) -> "RowFeatures":
        """Some of the rows."""
        return RowFeatures(self.cells[:, rows], self.label_means[:, rows], self.closed[:, rows])


def fit_closed_forms(
    values: Values,
    category: Bool[Tensor, "table column"],
    labels: Labels,
    classes: int,
    copies: Copies | None = None,
) -> ClosedForms:
    """The closed forms of a table of context rows."""
    columns = ColumnStatistics.fit(values, labels, category, copies)
    return ClosedForms.fit(columns, values, columns.cell_features(values), labels, classes, copies)
