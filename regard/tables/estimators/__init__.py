"""scikit-learn estimators of tables."""
