"""Figures that must not change when the code is rearranged."""
