"""The column pass: an identity at first, and then a second look at the labels, the same however the rows are read."""

from dataclasses import replace

import pytest
import torch

from regard.closed_form import RowFeatures, fit_closed_forms
from regard.core.errors import ConfigError
from regard.models import InContext
from regard.models.in_context import InContextModel, label_features
from regard.parts.column_pass import GAIN, ColumnPass, _read
from regard.tables.prior import Prior, draw_group

PLAIN = InContext(width=32, heads=2, layers=1, cell_width=16, cell_layers=2, thinking_rows=2, quantiles=5)
GROUPS = [draw_group(Prior(budget=600, max_rows=48, max_columns=6), number) for number in range(4)]


def with_pass(plain: InContextModel) -> InContextModel:
    model = replace(PLAIN, column_pass=ColumnPass(bins=4)).build().eval()
    lacking = model.load_state_dict(plain.state_dict(), strict=False).missing_keys
    assert all(name.startswith("column_pass.") for name in lacking)
    return model


def predict(model: InContextModel, group, target: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(group.values, group.category, target, group.classes, group.column_codes)


@pytest.mark.parametrize("number", range(4))
def test_it_starts_as_the_identity_and_reads_labels_later(number: int):
    torch.manual_seed(0)
    group = GROUPS[number]
    context = group.target[:, : group.context]
    plain = PLAIN.build().eval()
    model = with_pass(plain)
    before = predict(plain, group, context)
    assert torch.equal(predict(model, group, context), before)
    torch.nn.init.normal_(model.column_pass.out.weight)
    after = predict(model, group, context)
    assert not torch.allclose(after, before)
    with torch.no_grad():
        known, labels = group.values[:, : group.context], label_features(context, group.classes)
        closed_forms = fit_closed_forms(known, group.category, labels, group.classes)
        features = RowFeatures.of_context(closed_forms, known, labels)
        encoded = model.encode_context(features, labels, group.classes, group.column_codes)
        later = model.predict(encoded, RowFeatures.of_queries(closed_forms, group.values[:, group.context :]))
    torch.testing.assert_close(later, after, rtol=1e-4, atol=1e-5)


def test_a_cell_reads_the_mean_label_of_its_bins_without_its_own():
    torch.manual_seed(0)
    block = ColumnPass(bins=3, heads=2).build(8, 4)
    cells, labels = torch.randn(2, 7, 5, 8), torch.randn(2, 6, 4)
    after, fitted = block(cells, labels)
    bins = block._assign(cells, fitted.center, fitted.scale)
    read = _read(bins, fitted, labels).unflatten(-1, (2, 4))
    overall, share = labels[1].mean(0), bins[1, 3, 0]
    for row in (0, 6):  # of the context, and a query
        others = [other for other in range(6) if other != row]
        mean = (share[others].T @ labels[1, others] + overall) / (share[others].sum(0)[:, None] + 1)
        expected = GAIN * (share[row] @ mean - overall) / fitted.label_scale[1].squeeze()
        torch.testing.assert_close(read[1, row, 3, 0], expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(block(cells[:, 6:], None, fitted)[0], after[:, 6:], rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="bins"):
        ColumnPass(bins=1)


def test_a_cell_does_not_read_the_labels_of_copies_of_its_row():
    torch.manual_seed(0)
    block = ColumnPass(bins=3, heads=2).build(8, 4)
    group = torch.tensor([0, 1, 2, 0, 0, 3, 2])
    cells = torch.randn(2, 4, 5, 8)[:, group]
    cells, labels = torch.cat([cells, torch.randn(2, 1, 5, 8)], 1), torch.randn(2, 4, 4)[:, group]
    copies = torch.bincount(group)[group].float().expand(2, -1)
    _, fitted = block(cells, labels, None, copies)
    bins = block._assign(cells, fitted.center, fitted.scale)
    read = _read(bins, fitted, labels, copies).unflatten(-1, (2, 4))
    overall = labels[1].mean(0)
    for row in range(8):
        others = [other for other in range(7) if row == 7 or group[other] != group[row]]
        share = bins[1, 3, 0]
        mean = (share[others].T @ labels[1, others] + overall) / (share[others].sum(0)[:, None] + 1)
        expected = GAIN * (share[row] @ mean - overall) / fitted.label_scale[1].squeeze()
        torch.testing.assert_close(read[1, row, 3, 0], expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(_read(bins, fitted, labels, torch.ones(2, 7)), _read(bins, fitted, labels))
