"""Forecasting as a table: simple methods from every origin, and a pre-trained network that learns from their errors."""
