"""Co-evolution in closed form, against loops over sequences, columns and letters, and scikit-learn."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score, roc_auc_score

from regard.closed_form.coevolution import (
    PAIR_FEATURES,
    frequencies,
    mean_field,
    pair_features,
    sequence_weights,
)
from regard.closed_form.coevolution.mean_field import couplings
from regard.closed_form.coevolution.mutual_information import average_product_correction, uncorrected
from regard.data.alignments.alphabet import PROTEIN, RNA
from tests.helpers import close
from tests.proteins.make import family

LETTERS = torch.randint(4, (30, 6), generator=torch.Generator().manual_seed(1)).to(torch.uint8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 1.0]))
def test_weights_count_the_sequences_that_are_alike(seed: int, identity: float):
    letters = torch.randint(3, (12, 5), generator=torch.Generator().manual_seed(seed)).to(torch.uint8)
    alike = [sum((row == other).float().mean() >= identity - 1e-6 for other in letters) for row in letters]
    close(sequence_weights(letters, identity), 1 / torch.tensor([float(count) for count in alike]))


def test_frequencies_are_weighted_counts():
    weights = torch.rand(30)
    counted = frequencies(LETTERS, weights, 5)
    single, pair = torch.zeros(6, 5), torch.zeros(6, 5, 6, 5)
    for row, weight in zip(LETTERS.long(), weights, strict=True):
        for i in range(6):
            single[i, row[i]] += weight
            for j in range(6):
                pair[i, row[i], j, row[j]] += weight
    close(counted.single, single / weights.sum(), 1e-5)
    close(counted.pair, pair / weights.sum(), 1e-5)
    mixed = counted.with_pseudocount(0.3)
    close(mixed.pair.sum((1, 3)), torch.ones(6, 6), 1e-5)
    close(mixed.pair.sum(3)[:, :, 0], mixed.single, 1e-5)


def test_mutual_information_is_that_of_scikit_learn():
    scores = uncorrected(frequencies(LETTERS, torch.ones(30), 5))
    for i in range(6):
        for j in range(i):
            assert scores[i, j].item() == pytest.approx(mutual_info_score(LETTERS[:, i], LETTERS[:, j]), abs=1e-5)


def test_the_correction_subtracts_the_product_of_means():
    scores = torch.rand(5, 5)
    scores = scores + scores.T
    corrected = average_product_correction(scores)
    others = [[scores[i, k] for k in range(5) if k != i] for i in range(5)]
    mean = [sum(values) / 4 for values in others]
    total = sum(mean) / 5
    for i in range(5):
        for j in range(5):
            close(corrected[i, j], torch.tensor(0.0) if i == j else scores[i, j] - mean[i] * mean[j] / total, 1e-5)


def test_couplings_are_the_inverse_covariance_in_the_zero_sum_gauge():
    counted = frequencies(LETTERS, torch.ones(30), 5)
    coupled = couplings(counted)
    covariance = counted.with_pseudocount(0.5).covariance()[:, :-1, :, :-1].reshape(24, 24).double().numpy()
    block = np.zeros((5, 5))
    block[:4, :4] = -np.linalg.inv(covariance).reshape(6, 4, 6, 4)[1, :, 3, :]
    block = block - block.mean(0) - block.mean(1)[:, None] + block.mean()
    close(coupled[1, :, 3], torch.from_numpy(block).float(), 1e-4)
    close(coupled.sum(1), torch.zeros(6, 6, 5), 1e-4)


@pytest.mark.parametrize("alphabet", [PROTEIN, RNA], ids=["protein", "rna"])
def test_invented_families_hold_their_contacts(alphabet):
    """Couplings are on the residues that touch, so that the classical method ranks them above others."""
    alignment = family(alphabet, sequences=300, seed=4)
    counted = frequencies(alignment.letters, sequence_weights(alignment.letters), alphabet.size)
    i, j = torch.triu_indices(34, 34, alphabet.separation)
    partners = i + j == 33  # nearest across the hairpin
    assert roc_auc_score(partners, mean_field(counted)[i, j]) > 0.7
    features = pair_features(counted, alphabet.properties)
    assert features.shape == (34, 34, PAIR_FEATURES)
    assert features.isfinite().all()
    close(features, features.transpose(0, 1), 1e-4)


def test_the_same_seed_invents_the_same_family():
    one, again, other = (family(seed=seed).letters for seed in (5, 5, 6))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert (one[1:] == PROTEIN.size - 1).any()
    assert not (one[0] == PROTEIN.size - 1).any(), "the first sequence has no gaps"
