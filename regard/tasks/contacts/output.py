"""Contacts and variants as tables."""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.data.alignments.alignment import Alignment
from regard.tasks.contacts.predict import Prediction


def contact_table(
    alignment: Alignment, prediction: Prediction, distance: Tensor | None = None, *, compare: bool = False
) -> pd.DataFrame:
    """One row for each pair of residues that may touch, counted from 1, the most probable contact first."""
    i, j = torch.triu_indices(alignment.length, alignment.length, alignment.alphabet.separation)
    query = list(alignment.query)
    columns = {
        "i": (i + 1).numpy(),
        "j": (j + 1).numpy(),
        "letter_i": [query[place] for place in i.tolist()],
        "letter_j": [query[place] for place in j.tolist()],
        "probability": prediction.contact[i, j].double().numpy().round(4),
    }
    if compare:
        columns["mutual_information"] = prediction.mutual_information[i, j].double().numpy().round(5)
        columns["mean_field"] = prediction.mean_field[i, j].double().numpy().round(5)
    if distance is not None:
        columns["distance"] = distance[i, j].double().numpy().round(2)
    frame = pd.DataFrame(columns)
    order = (-prediction.contact[i, j]).argsort(stable=True).numpy()
    return frame.iloc[order].reset_index(drop=True)


def variant_table(alignment: Alignment, prediction: Prediction) -> pd.DataFrame:
    """One row for each single mutation of the first sequence; the score is the logarithm of a ratio of probabilities:
    the new letter's over that of the letter that is there."""
    if prediction.log_letters is None:
        raise UserError(f"{alignment.name}: letters were not predicted")
    rows = []
    letters = alignment.alphabet.letters
    for place, letter in enumerate(alignment.query):
        scores = prediction.log_letters[place] - prediction.log_letters[place, letters.index(letter)]
        for other, score in zip(letters, scores.tolist(), strict=True):
            if other != letter:
                rows.append((f"{letter}{place + 1}{other}", place + 1, letter, other, round(score, 4)))
    return pd.DataFrame(rows, columns=["mutation", "position", "from", "to", "score"])
