"""Closed forms of tables: predictions that need no trained weights, computed in batches of tables.

column_statistics    standardised values, ranks and (ordered) target statistics of each column
copies               rows that are left out together, as they are copies of each other
ridge                leave-one-out ridge regression
kernel_ridge         leave-one-out kernel ridge regression with a learned distance
kernels              how alike two rows are, by their distance: Laplace and Matérn
nystrom              the same for many rows, by the Nyström approximation
closed_forms         ridge and kernel ridge of a table together
row_features         all of it for some rows, as the in-context model reads them
"""

from regard.closed_form.closed_forms import ClosedFormPredictions, ClosedForms
from regard.closed_form.column_statistics import ColumnStatistics
from regard.closed_form.copies import Copies
from regard.closed_form.kernel_ridge import KernelRidge
from regard.closed_form.nystrom import NystromKernelRidge
from regard.closed_form.ridge import Ridge
from regard.closed_form.row_features import RowFeatures, fit_closed_forms

__all__ = [
    "ClosedFormPredictions",
    "ClosedForms",
    "ColumnStatistics",
    "Copies",
    "KernelRidge",
    "NystromKernelRidge",
    "Ridge",
    "RowFeatures",
    "fit_closed_forms",
]
