"""Masked language modelling: fill in masked words (Devlin et al., 2019)."""
