"""A fitted table as a run folder: settings, columns, training rows and networks, and nothing that can run code.

The training rows are part of the model, which predicts by attention to them: sharing the folder shares them.

config.yaml         estimator, settings, targets, and for each target the predictors with their model configs
columns.json        the columns: names, kinds, categories
keys.json           the ignored columns, if any: the evidence shows their cells
table.safetensors   the encoded training rows and targets
model.safetensors   the weights of every network

Everything read is checked against its schema first, and refused in one line that names file and key.
"""
