"""The column pass: an identity at first, and then a second look at the labels, the same however the rows are read."""

from dataclasses import replace

import pytest
import torch

from regard.closed_form import RowFeatures, fit_closed_forms
from regard.core.errors import ConfigError
from regard.models import InContext
from regard.models.in_context import InContextModel, label_features
from regard.parts.column_pass import ColumnPass
from regard.tables.prior import Prior, draw_group

PLAIN = InContext(width=32, heads=2, layers=1, cell_width=16, cell_layers=2, thinking_rows=2, quantiles=5)
GROUPS = [draw_group(Prior(budget=600, max_rows=48, max_columns=6), number) for number in range(4)]


def with_pass(plain: InContextModel) -> InContextModel:
    model = replace(PLAIN, column_pass=ColumnPass(points=4)).build().eval()
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
    torch.nn.init.normal_(model.column_pass.spread.out.weight)
    after = predict(model, group, context)
    assert not torch.allclose(after, before)
    with torch.no_grad():
        known, labels = group.values[:, : group.context], label_features(context, group.classes)
        closed_forms = fit_closed_forms(known, group.category, labels, group.classes)
        features = RowFeatures.of_context(closed_forms, known, labels)
        encoded = model.encode_context(features, labels, group.classes, group.column_codes)
        later = model.predict(encoded, RowFeatures.of_queries(closed_forms, group.values[:, group.context :]))
    torch.testing.assert_close(later, after, rtol=1e-4, atol=1e-5)


def test_points_are_asked_of_the_context_and_its_labels_alone():
    torch.manual_seed(0)
    block = ColumnPass(points=3).build(8, 2, 4, PLAIN.norm)
    cells, labels = torch.randn(2, 7, 5, 8), torch.randn(2, 7, 4)
    points = block.summarise(cells, labels)
    assert points.shape == (2 * 5, 3, 8)
    assert not torch.allclose(points, block.summarise(cells, labels.flip(1)))
    assert block(cells, points).shape == cells.shape
    alone = block(cells[:, 3:4], points)
    torch.testing.assert_close(alone, block(cells, points)[:, 3:4], rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="points"):
        ColumnPass(points=0)
