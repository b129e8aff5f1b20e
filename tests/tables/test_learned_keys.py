"""Learned keys: inputs against SciPy and NumPy, predictions against the rows' own labels, and learning."""

import numpy as np
import torch
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from regard.models.nca import NCA
from regard.parts.periodic import NumberInputs
from regard.tables.encode.table import EncodedTable
from regard.tables.network import learned_keys
from regard.tables.network.learned_keys import LearnedKeysPredictor, embed_rows, train_learned_keys
from regard.tables.weighting import best_weights


def rings(rows: int, seed: int = 0) -> EncodedTable:
    """Two classes by the distance from a centre, a category that swaps them, and a column of noise."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 3, generator=generator)
    swaps = torch.randint(0, 2, (rows,), generator=generator)
    inside = x[:, :2].norm(dim=1) < 1.18
    target = (inside ^ (swaps == 1)).float()
    return EncodedTable(torch.cat([x, swaps[:, None].float()], 1), torch.tensor([False] * 3 + [True]), target, 2)


def test_normal_scores_are_those_of_the_ranks():
    numbers = torch.distributions.LogNormal(0.0, 1.0).sample((2000, 1))
    inputs = NumberInputs(1)
    inputs.fit(numbers)
    scores = inputs(numbers)[:, 0, 0].numpy()
    ranks = (numbers[:, 0].numpy().argsort().argsort() + 0.5) / 2000
    inner = abs(ranks - 0.5) < 0.48  # the outermost ranks are interpolated between few numbers
    np.testing.assert_allclose(scores[inner], norm.ppf(ranks[inner]), atol=0.02)
    assert abs(scores[~inner]).max() <= norm.ppf(1 - 1e-3) + 1e-4


def test_missing_and_constant_columns():
    values = torch.tensor([[1.0, torch.nan], [1.0, torch.nan], [torch.nan, torch.nan]])
    inputs = NumberInputs(2)
    inputs.fit(values)
    encoded = inputs(torch.cat([values, torch.tensor([[9.0, 3.0]])]))
    assert encoded.isfinite().all()
    assert encoded[:, :, 2].tolist() == [[0, 1], [0, 1], [1, 1], [0, 0]]
    assert (encoded[2:3] == torch.tensor([0.0, 0.0, 1.0])).all()


def test_unseen_and_missing_categories_have_codes_of_their_own():
    model = NCA(categories=(3, 0, 2), width=8, hidden=8).build()
    values = torch.tensor([[0.0, 1.0, 1.0], [2.0, 1.0, torch.nan], [7.0, 1.0, 2.0], [torch.nan, 1.0, -1.0]])
    assert model.encode(values).codes.tolist() == [[0, 6], [2, 7], [4, 8], [3, 8]]


def random_table(classes: int) -> EncodedTable:
    target = torch.randint(0, 3, (50,)).float() if classes else 5 + 3 * torch.randn(50).double()
    return EncodedTable(torch.randn(50, 4), torch.zeros(4, dtype=torch.bool), target, classes)


def test_probabilities_are_the_labels_weighted_by_attention():
    torch.manual_seed(0)
    table = random_table(3)
    predictor = LearnedKeysPredictor(NCA(categories=(0,) * 4, width=16, hidden=16).build(), table, seed=0)
    queries = torch.randn(7, 4)
    weights = predictor.row_weights(queries)
    torch.testing.assert_close(weights.sum(1), torch.ones(7))
    by_hand = weights @ torch.nn.functional.one_hot(table.target.long(), 3).float()
    torch.testing.assert_close(predictor.predict(queries), by_hand, atol=2e-4, rtol=0)


def test_numbers_are_those_of_the_keys_corrected_for_the_difference_from_the_query():
    torch.manual_seed(0)
    table = random_table(0)
    model = NCA(categories=(0,) * 4, width=16, hidden=16, correction=True).build()
    torch.nn.init.normal_(model.correction.weight)
    model.label_std.fill_(3.0)
    predictor = LearnedKeysPredictor(model, table, seed=0)
    queries = torch.randn(7, 4)
    weights, predicted = predictor.row_weights(queries).double(), predictor.predict(queries)
    slope = model.correction.weight[0].detach()
    differences = embed_rows(model, queries)[:, None] - embed_rows(model, table.values)
    corrected = table.target + 3.0 * (differences @ slope).double()
    torch.testing.assert_close(predicted[:, 0], (weights * corrected).sum(1), atol=1e-4, rtol=0)
    below = (weights[:, None] * (corrected[:, None] <= predicted[:, 1:, None] + 1e-4)).sum(-1)
    assert (below >= torch.arange(1, 34) / 34 - 1e-6).all(), "a quantile has at least its share of the weight below"


def test_prediction_in_pieces_is_the_same(monkeypatch):
    table = rings(200)
    predictor = LearnedKeysPredictor(NCA(categories=(0, 0, 0, 2), width=16, hidden=16).build(), table, seed=0)
    whole = predictor.predict(table.values)
    monkeypatch.setattr(learned_keys, "PATTERN", 200 * 7)
    monkeypatch.setattr(learned_keys, "ROWS_PER_PASS", 33)
    predictor._keys = None
    torch.testing.assert_close(predictor.predict(table.values), whole)


def test_it_learns_what_distance_in_the_columns_cannot_tell(monkeypatch):
    monkeypatch.setattr(learned_keys, "MAX_STEPS", 60)
    monkeypatch.setattr(learned_keys, "BATCH_ROWS", 256)
    monkeypatch.setattr(learned_keys, "_steps_between_evaluations", lambda *_: 5)
    table, held_out, test = rings(1000), rings(200, 1), rings(400, 2)
    torch.manual_seed(0)
    untrained = NCA(categories=(0, 0, 0, 2)).build()
    untrained.inputs.fit(table.values[:, :3])
    trained = train_learned_keys(table, held_out, 600.0, seed=0)

    def auc(model):
        return roc_auc_score(test.target, LearnedKeysPredictor(model, table, 0).predict(test.values)[:, 1])

    assert auc(trained) > max(0.93, auc(untrained) + 0.02)


def test_even_weights_unless_one_prediction_is_better():
    rows = EncodedTable(torch.zeros(100, 1), torch.tensor([False]), torch.arange(100.0).double(), 0)
    truth = rows.target[:, None]
    good, bad = truth + torch.randn(100, 1), truth + 100 * torch.randn(100, 1)
    assert best_weights([good, good], rows) == [0.5, 0.5]
    assert best_weights([good, bad], rows)[0] > 0.9
    assert best_weights([bad, good], rows)[1] > 0.9
