"""Predictions of a trained Evoformer for an alignment of any size, in bounded memory.

A long chain is read in pairs of stretches, so that every pair of residues is seen together in some reading; statistics
are taken of at most 5,000 sequences.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.machine import device_of
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import MASK, Alphabet
from regard.data.alignments.batches import EDGES, sample_rows
from regard.data.alignments.inputs import MAX_SEQUENCES, AlignmentInputs, encode_with_scores
from regard.data.progress import progress
from regard.parts.taps import Heard, listen

MAX_LENGTH = 256  # residues that are read at once
READINGS = 4  # of as many different samples of the sequences
APART = 8  # every so many residues are masked at once, to score their letters

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prediction:
    """Scores of every pair of residues, of which contact is a probability; and logarithms of letters' probabilities."""

    contact: Float[Tensor, "residue residue"]
    mutual_information: Float[Tensor, "residue residue"]
    mean_field: Float[Tensor, "residue residue"]
    log_letters: Float[Tensor, "residue letter"] | None = None

    @property
    def methods(self) -> dict[str, Tensor]:
        """The scores of pairs by the method that gave them."""
        return {"regard": self.contact, "mean-field DCA": self.mean_field, "MI + APC": self.mutual_information}


@dataclass(frozen=True)
class Part:
    """A stretch of an alignment as the network reads it, with the classical scores of its pairs."""

    index: Int[Tensor, " residue"]
    alphabet: Alphabet
    made: AlignmentInputs
    mutual_information: Float[Tensor, "residue residue"]
    mean_field: Float[Tensor, "residue residue"]


def encode_part(alignment: Alignment, index: Tensor) -> Part:
    made, scores = encode_with_scores(alignment.columns(index))
    return Part(index, alignment.alphabet, made, scores.mutual_information, scores.mean_field)


@torch.inference_mode()
def predict(model: nn.Module, alignment: Alignment, sequences: int, *, letters: bool = False) -> Prediction:
    """Contacts of an alignment; with `letters`, also how probable each letter is at each residue of the first one."""
    if alignment.sequences > MAX_SEQUENCES:
        log.info(
            "%s: %s of its %s sequences are used", alignment.name, f"{MAX_SEQUENCES:,}", f"{alignment.sequences:,}"
        )
    alignment = alignment.sample(MAX_SEQUENCES)
    all_parts = list(stretches(alignment.length))
    parts: Iterable[Tensor] = all_parts
    if alignment.length > MAX_LENGTH:
        shown = f"{alignment.length:,} residues are read {MAX_LENGTH} at a time, in {len(all_parts):,} parts"
        log.info("%s: %s; the time grows with the square of the length", alignment.name, shown)
        parts = progress(all_parts, f"{alignment.name}, parts read of {len(all_parts):,}")
    total = torch.zeros(3, alignment.length, alignment.length)
    times = torch.zeros(alignment.length, alignment.length)
    log_letters = torch.zeros(alignment.length, len(alignment.alphabet.letters))
    model.eval()
    for index in parts:
        part = encode_part(alignment, index)
        scores = torch.stack([part_contacts(model, part, sequences), part.mutual_information, part.mean_field])
        rows, columns = index[:, None], index[None, :]
        total[:, rows, columns] += scores
        times[rows, columns] += 1
        if letters:
            log_letters[index] = _letters(model, part, sequences)
    contact, information, coupled = total / times
    return Prediction(contact, information, coupled, log_letters if letters else None)


def stretches(length: int, max_length: int = MAX_LENGTH) -> Iterator[Int[Tensor, " residue"]]:
    """Index sets of at most `max_length` residues that together hold every pair."""
    if length <= max_length:
        yield torch.arange(length)
        return
    parts = torch.arange(length).chunk(-(-length // (max_length // 2)))
    for one in range(len(parts)):
        for other in range(one + 1, len(parts)):
            yield torch.cat([parts[one], parts[other]])


def part_contacts(model: nn.Module, part: Part, sequences: int) -> Float[Tensor, "residue residue"]:
    """The probability of a contact, as the mean over samples of the sequences and both directions of the chain."""
    near = EDGES.index(part.alphabet.contact) + 1
    result = torch.zeros(len(part.index), len(part.index))
    for number in range(READINGS):
        letters = part.made.letters[rows_read(part, sequences, number)]
        turned = number % 2 == 1
        distance, _ = model(*_inputs(model, part, letters, turned))
        contact = distance[0].float().softmax(-1)[..., :near].sum(-1).cpu()
        result += contact.flip(0, 1) if turned else contact
    return result / READINGS


def listen_to_part(model: nn.Module, part: Part, sequences: int) -> Heard:
    """Every attention pattern of the first of these readings."""
    letters = part.made.letters[rows_read(part, sequences, 0)]
    with listen(model) as heard:
        model(*_inputs(model, part, letters, turned=False))
    return heard


def rows_read(part: Part, sequences: int, number: int) -> Int[Tensor, " sequence"]:
    """The sequences of the alignment that a reading sees letter by letter, the first of them first."""
    return sample_rows(len(part.made.letters), sequences, torch.Generator().manual_seed(number))


def _inputs(model: nn.Module, part: Part, letters: Tensor, turned: bool) -> list[Tensor]:
    made, index = part.made, part.index
    inputs = [letters, made.profile, made.features, index]
    if turned:
        inputs = [letters.flip(1), made.profile.flip(0), made.features.flip(0, 1), (index.max() - index).flip(0)]
    return [one[None].to(device_of(model)) for one in inputs]


def _letters(model: nn.Module, part: Part, sequences: int) -> Tensor:
    """Log probabilities of the letters at each residue of the first sequence, while that residue is masked."""
    tokens = part.alphabet.tokens[:-1]
    letters = part.made.letters[rows_read(part, sequences, 0)]
    result = torch.zeros(len(part.index), len(tokens))
    for start in range(min(APART, len(part.index))):
        masked = letters.clone()
        masked[0, start::APART] = MASK
        _, letter = model(*_inputs(model, part, masked, turned=False))
        result[start::APART] = letter[0, 0, start::APART].float().cpu()[:, tokens].log_softmax(-1)
    return result
