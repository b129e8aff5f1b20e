"""Ablation: what each part is worth, one change at a time, against seed noise."""
