"""The estimators of scikit-learn's kind: classifier, regressor, imputer."""

from regard.tables.estimators.scikit import import_base

import_base()
