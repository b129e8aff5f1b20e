"""A family as pictures: contacts, attention between residues, attention between sequences beside their identity."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.errors import ConfigError, UserError, did_you_mean
from regard.tasks.recording import Recording, ViewedFamily
from regard.view.pictures.values import encode_matrix

BRIGHTEST = 0.995  # quantile of the couplings that is drawn as 1: a few outliers would leave the rest dark
ABOVE = {"structure": "structure", "mean_field": "mean-field couplings", "mutual_information": "mutual information"}

Pairs = Float[Tensor, "residue residue"]


def family_of(recording: Recording) -> ViewedFamily:
    if recording.family is None:
        raise ConfigError("this recording has no alignment")
    return recording.family


def known_above(family: ViewedFamily) -> list[str]:
    """What the predictions can be compared with: the structure first, if one is known."""
    return [name for name in ABOVE if name != "structure" or family.distance is not None]


def compared(family: ViewedFamily, above: str | None = None) -> Pairs:
    """Predictions below the diagonal; above it what they are compared with, from 0 to 1.

    Pairs that are not predicted, because they are near in the chain, are NaN, and so are unknown distances.
    """
    name = above or known_above(family)[0]
    if name not in known_above(family):
        raise ConfigError(f"{name}: cannot stand above the diagonal; {did_you_mean(name, known_above(family))}")
    if name == "structure":
        assert family.distance is not None
        touching = (family.distance < family.touching).float()
        upper = touching.masked_fill(family.distance.isnan(), torch.nan)
    else:
        upper = _brightened(getattr(family, name), predicted(family))
    length = len(family.contact)
    lower = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.where(lower, family.contact, upper).masked_fill(~predicted(family), torch.nan)


def predicted(family: ViewedFamily) -> Bool[Tensor, "residue residue"]:
    """Pairs far enough apart in the chain."""
    index = torch.arange(len(family.contact))
    return (index[:, None] - index[None, :]).abs() >= family.separation


def residue_pattern(
    recording: Recording, attention: str, head: int | None = None, sequence: int | None = None
) -> Float[Tensor, "query key"]:
    """Attention between residues: the mean over heads and over the sequences that are read, or of one of them."""
    family = family_of(recording)
    pattern = _heads(family.rows, attention, head, "residues")
    if sequence is not None and not 0 <= sequence < pattern.shape[0]:
        raise ConfigError(f"sequence {sequence}: {pattern.shape[0]} are read, numbered from 0")
    return pattern.mean(0) if sequence is None else pattern[sequence]


def sequence_patterns(
    recording: Recording, attention: str, head: int | None = None
) -> Float[Tensor, "residue query key"]:
    """Attention between sequences at each residue."""
    return _heads(family_of(recording).columns, attention, head, "sequences")


def on_contacts(recording: Recording) -> dict[str, list[float]]:
    """For each head of the attention between residues: the mean weight on pairs that touch, over that on others.

    They touch in the structure; without one, as many pairs as there are residues are taken to, the most probable first.
    Pairs that are near in the chain do not count.
    """
    family = family_of(recording)
    counted = predicted(family)
    if family.distance is None:
        best = family.contact.masked_fill(~counted, -1).triu().flatten().topk(len(family.contact)).indices
        touching = torch.zeros_like(counted).flatten().index_fill(0, best, True).view_as(counted)
        touching = (touching | touching.T) & counted
    else:
        counted &= ~family.distance.isnan()
        touching = counted & (family.distance < family.touching)
    others = counted & ~touching
    if not touching.any() or not others.any():
        return {}
    means = {name: pattern.mean(1) for name, pattern in family.rows.items()}
    return {name: [_ratio(one, touching, others) for one in heads] for name, heads in means.items()}


def follows_identity(recording: Recording) -> dict[str, list[float]]:
    """For each head of the attention between sequences: Spearman's correlation of its weight with identity.

    Of each two different sequences; the weight is the mean over residues.
    """
    family = family_of(recording)
    if len(family.identity) < 3:
        return {}
    return {
        name: [_spearman(one, family.identity) for one in pattern.mean(1)] for name, pattern in family.columns.items()
    }


def sharpest(recording: Recording) -> dict[str, list[float]]:
    """For each head of the attention between sequences: its largest weight on another one, as a multiple of uniform.

    Weights are means over residues. A correlation of weights that hardly differ means little.
    """
    family = family_of(recording)
    count = len(family.identity)
    others = 1 - torch.eye(count)
    return {
        name: [float((one * others).max()) * count for one in pattern.mean(1)]
        for name, pattern in family.columns.items()
    }


def family_picture(recording: Recording) -> dict[str, Any]:
    """Everything that is the same for every layer and head."""
    family = family_of(recording)
    scores = {"contact": family.contact, "mean_field": family.mean_field, "identity": family.identity}
    if family.distance is not None:
        scores["distance"] = family.distance
    return {
        "residues": family.residues,
        "first": family.first,
        "length": family.length,
        "sequences": family.sequences,
        "letters": family.letters,
        "reading": family.reading,
        "separation": family.separation,
        "touching": family.touching,
        "above": [[name, ABOVE[name]] for name in known_above(family)],
        "compared": {name: encode_matrix(compared(family, name)) for name in known_above(family)},
        **{name: encode_matrix(score) for name, score in scores.items()},
        "rows": {name: len(pattern) for name, pattern in family.rows.items()},
        "columns": {name: len(pattern) for name, pattern in family.columns.items()},
        "on_contacts": on_contacts(recording),
        "follows_identity": follows_identity(recording),
        "sharpest": sharpest(recording),
    }


def residue_picture(
    recording: Recording, attention: str, head: int | None = None, sequence: int | None = None
) -> dict[str, Any]:
    return {"weights": encode_matrix(residue_pattern(recording, attention, head, sequence))}


def sequence_picture(recording: Recording, attention: str, head: int | None = None) -> dict[str, Any]:
    """One row for each residue, with the weights of every sequence on every other."""
    return {"weights": encode_matrix(sequence_patterns(recording, attention, head).flatten(1))}


def last_of(patterns: Mapping[str, Tensor], what: str) -> str:
    """The attention that is shown first: that of the last layer."""
    if not patterns:
        raise UserError(f"this model has no attention between {what}")
    return list(patterns)[-1]


def _heads(patterns: Mapping[str, Tensor], attention: str, head: int | None, what: str) -> Tensor:
    if attention not in patterns:
        hint = did_you_mean(attention, list(patterns)) if patterns else "there is none"
        raise ConfigError(f"{attention}: no attention between {what}; {hint}")
    pattern = patterns[attention]
    if head is not None and not 0 <= head < len(pattern):
        raise ConfigError(f"head {head}: {attention} has {len(pattern)} heads, numbered from 0")
    return pattern.mean(0) if head is None else pattern[head]


def _brightened(scores: Pairs, counted: Tensor) -> Pairs:
    values = scores[counted]
    top = float(values.quantile(BRIGHTEST)) if len(values) else 0.0
    return (scores / max(top, 1e-9)).clamp(0, 1)


def _ratio(pattern: Tensor, touching: Tensor, others: Tensor) -> float:
    return float(pattern[touching].mean() / pattern[others].mean().clamp(min=1e-12))


def _spearman(weights: Tensor, identity: Tensor) -> float:
    different = ~torch.eye(len(identity), dtype=torch.bool)
    ranks = torch.stack([_ranks(weights[different]), _ranks(identity[different])])
    correlation = float(torch.corrcoef(ranks)[0, 1])
    return 0.0 if correlation != correlation else correlation


def _ranks(values: Tensor) -> Tensor:
    """Equal values share the mean of their ranks."""
    _, place, count = values.unique(return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    return (last - (count - 1) / 2)[place]
