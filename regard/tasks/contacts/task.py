"""Contacts: from an alignment of a family, which residues touch in the folded molecule, and which mutations hurt."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, not_negative
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.batches import EDGES, IGNORED, Crop, FamilyBatch, FamilyBatches
from regard.data.alignments.examples import AlignmentFamilies, Examples
from regard.data.alignments.families import Family, read_families
from regard.data.alignments.formats import read_alignment
from regard.data.trees.conllu import Parse
from regard.models import Evoformer, Model
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.contacts.predict import Prediction, predict
from regard.tasks.contacts.scores import precision
from regard.tasks.recording import Recording, ViewInput

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Contacts(Task):
    sequences: int = 8  # that are read letter by letter
    contact_weight: float = 1.0  # of the loss of a contact, beside that of the bin of the distance
    letter_weight: float = 0.05  # of the loss of a masked letter, beside that of a pair of residues

    data: ClassVar[tuple[type, ...]] = (AlignmentFamilies,)
    unit: ClassVar[str] = "cells"
    verb: ClassVar[str] = "pretrain contacts"
    next_command: ClassVar[str] = "regard contacts FAMILY.a3m --out contacts.csv --weights {}"
    named: ClassVar[tuple[str, ...]] = ("contacts", "variants", "predict")

    def __post_init__(self) -> None:
        not_negative(contact_weight=self.contact_weight, letter_weight=self.letter_weight)

    def loss(self, model: nn.Module, batch: FamilyBatch) -> Loss:
        losses = [self._loss(model, crop) for crop in batch.crops]
        return Loss(
            torch.stack([loss.total for loss in losses]).sum(), torch.stack([loss.terms for loss in losses]).sum()
        )

    def _loss(self, model: nn.Module, crop: Crop) -> Loss:
        distance, letter = model(crop.letters, crop.profile, crop.features)
        pairs, letters = (
            F.cross_entropy(logits.float().flatten(0, 2), truth.flatten(), ignore_index=IGNORED, reduction="sum")
            for logits, truth in ((distance, crop.bin), (letter, crop.masked))
        )
        known = crop.bin != IGNORED
        logit = distance[..., : crop.near].logsumexp(-1) - distance[..., crop.near :].logsumexp(-1)
        touching = (crop.bin < crop.near).float()
        contacts = F.binary_cross_entropy_with_logits(logit[known].float(), touching[known], reduction="sum")
        return Loss(pairs + self.contact_weight * contacts + self.letter_weight * letters, known.sum())

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data, training = plan.data, plan.training
        if not isinstance(data, AlignmentFamilies) or not isinstance(plan.model, Evoformer):
            raise ConfigError(f"model: {type(plan.model).__name__} does not read alignments; choose Evoformer")
        if plan.model.bins != len(EDGES) + 1:
            raise ConfigError(f"model.bins: must be {len(EDGES) + 1}, not {plan.model.bins}")
        train, valid = read_families(data.train), read_families(data.valid)
        yield Prepared(
            task=self,
            model=plan.model,
            train=FamilyBatches(Examples(train, data, training.seed), training.batch_size, training.seed),
            valid=FamilyBatches(Examples(valid, data), 1) if valid else None,
            tokenizer=None,
            score=lambda run, loss: self.scores(run, valid or train),
        )

    def scores(self, run: Run, families: Sequence[Family]) -> dict[str, float]:
        """Mean precision over families, beside that of the classical methods; RNA is counted by itself."""
        sums: dict[str, list[float]] = {}
        for family in families:
            prediction = self.predict(run, family.alignment)
            alphabet = family.alignment.alphabet
            kind = "" if alphabet.molecule == "protein" else "RNA "
            for method, score in prediction.methods.items():
                for top, value in precision(score, family.distance, alphabet).items():
                    sums.setdefault(f"{kind}{method}, top {top}", []).append(value)
        return {name: sum(values) / len(values) for name, values in sums.items()}

    def answer(self, run: Run, inputs: Sequence[str | Path], **options: Any) -> list[list[tuple[int, int, float]]]:
        """For each alignment file, the pairs of residues, counted from 1, with the probability that they touch."""
        check_list(inputs, "alignment files")
        frames = [self.contacts(run, one, **options) for one in inputs]
        return [list(zip(frame["i"], frame["j"], frame["probability"], strict=True)) for frame in frames]

    def contacts(self, run: Run, alignment: str | Path | Alignment) -> "pd.DataFrame":
        """Pairs of residues, the most probable contact first."""
        from regard.tasks.contacts.output import contact_table

        alignment = _read(alignment)
        return contact_table(alignment, self.predict(run, alignment))

    def variants(self, run: Run, alignment: str | Path | Alignment) -> "pd.DataFrame":
        """Every single mutation of the first sequence, with its score: negative where the family avoids it."""
        from regard.tasks.contacts.output import variant_table

        alignment = _read(alignment)
        return variant_table(alignment, self.predict(run, alignment, letters=True))

    def predict(self, run: Run, alignment: str | Path | Alignment, *, letters: bool = False) -> Prediction:
        """Scores of every pair of residues, ours and the classical ones, as tensors."""
        return predict(run.model, _read(alignment), self.sequences, letters=letters)

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("family", "an alignment of a family")

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        from regard.tasks.contacts.recording import record_family

        return record_family(run, view_input, self.sequences)

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        families = read_families(files)
        return {**self.scores(run, families), "families": len(families)}


def _read(alignment: str | Path | Alignment) -> Alignment:
    return alignment if isinstance(alignment, Alignment) else read_alignment(alignment)
