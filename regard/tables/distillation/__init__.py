"""Distillation: a small model learns what a fitted table predicts, and holds none of its rows (Hinton et al., 2015)."""
