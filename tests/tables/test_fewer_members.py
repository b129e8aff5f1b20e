"""Fewer members at prediction are the first ones of all."""

import numpy as np
import pytest

from regard.core.errors import ConfigError
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.fewer_members import members_of, with_members

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))


def test_as_if_fitted_with_so_many():
    y = X[:, 0] > 0
    many, few = (NPTClassifier(mode="in_context", members=count, random_state=0).fit(X, y) for count in (4, 2))
    np.testing.assert_array_equal(with_members(many, 2).predict_proba(X[:7]), few.predict_proba(X[:7]))
    np.testing.assert_array_equal(with_members(many, 9).predict_proba(X[:7]), many.predict_proba(X[:7]))


def test_the_estimator_itself_keeps_its_members():
    model = NPTRegressor(mode="in_context", members=4, random_state=0).fit(X, X[:, 1])
    before = model.predict(X[:5])
    fewer = with_members(model, 1).predict(X[:5])
    np.testing.assert_array_equal(model.predict(X[:5]), before)
    assert not np.array_equal(fewer, before)
    assert (members_of(model), members_of(with_members(model, 1))) == ([4], [1])


def test_none_is_refused():
    model = NPTRegressor(mode="in_context", members=2, random_state=0).fit(X, X[:, 1])
    with pytest.raises(ConfigError, match="members"):
        with_members(model, 0)
