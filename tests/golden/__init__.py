"""Figures that must not change when the code is rearranged: losses of the first steps, predictions of the shipped weights."""
