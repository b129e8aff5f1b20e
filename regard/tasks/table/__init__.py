"""A Non-Parametric Transformer trained on one table (Kossen et al., 2021)."""
