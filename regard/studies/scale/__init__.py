"""Scaling laws: fits with intervals, a prediction that is checked, the best size for a budget."""
