"""Predictions of a trained Evoformer for an alignment of any size, in bounded memory.

A long chain is read in pairs of stretches, so that every pair of residues is seen together in some reading; statistics
are taken of at most 5,000 sequences.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.closed_form.coevolution import mean_field, mutual_information
from regard.core.machine import device_of
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import MASK, Alphabet
from regard.data.alignments.batches import EDGES, sample_rows
from regard.data.alignments.inputs import MAX_SEQUENCES, AlignmentInputs, count, encode_alignment

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


@torch.inference_mode()
def predict(model: nn.Module, alignment: Alignment, sequences: int, *, letters: bool = False) -> Prediction:
    """Contacts of an alignment; with `letters`, also how probable each letter is at each residue of the first one."""
    if alignment.sequences > MAX_SEQUENCES:
        log.info(
            "%s: %s of its %s sequences are used", alignment.name, f"{MAX_SEQUENCES:,}", f"{alignment.sequences:,}"
        )
    alignment = alignment.sample(MAX_SEQUENCES)
    if alignment.length > MAX_LENGTH:
        log.info("%s: %s residues are read %s at a time", alignment.name, f"{alignment.length:,}", MAX_LENGTH)
    total = torch.zeros(3, alignment.length, alignment.length)
    times = torch.zeros(alignment.length, alignment.length)
    log_letters = torch.zeros(alignment.length, len(alignment.alphabet.letters))
    model.eval()
    for index in stretches(alignment.length):
        part = alignment.columns(index)
        counted = count(part)
        made = encode_alignment(part, counted)
        read = (model, made, index, sequences, alignment.alphabet)
        scores = torch.stack([_contacts(*read), mutual_information(counted), mean_field(counted)])
        rows, columns = index[:, None], index[None, :]
        total[:, rows, columns] += scores
        times[rows, columns] += 1
        if letters:
            log_letters[index] = _letters(*read)
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


def _contacts(model: nn.Module, made: AlignmentInputs, index: Tensor, sequences: int, alphabet: Alphabet) -> Tensor:
    """The probability of a contact, as the mean over samples of the sequences and both directions of the chain."""
    near = EDGES.index(alphabet.contact) + 1
    device, result = device_of(model), torch.zeros(len(index), len(index))
    for number in range(READINGS):
        letters = made.letters[sample_rows(len(made.letters), sequences, torch.Generator().manual_seed(number))]
        inputs = [letters, made.profile, made.features, index]
        if turned := number % 2 == 1:
            inputs = [letters.flip(1), made.profile.flip(0), made.features.flip(0, 1), (index.max() - index).flip(0)]
        distance, _ = model(*(one[None].to(device) for one in inputs))
        contact = distance[0].float().softmax(-1)[..., :near].sum(-1).cpu()
        result += contact.flip(0, 1) if turned else contact
    return result / READINGS


def _letters(model: nn.Module, made: AlignmentInputs, index: Tensor, sequences: int, alphabet: Alphabet) -> Tensor:
    """Log probabilities of the letters at each residue of the first sequence, while that residue is masked."""
    device, tokens = device_of(model), alphabet.tokens[:-1]
    letters = made.letters[sample_rows(len(made.letters), sequences, torch.Generator().manual_seed(0))]
    result = torch.zeros(len(index), len(tokens))
    for start in range(min(APART, len(index))):
        masked = letters.clone()
        masked[0, start::APART] = MASK
        inputs = (one[None].to(device) for one in (masked, made.profile, made.features, index))
        _, letter = model(*inputs)
        result[start::APART] = letter[0, 0, start::APART].float().cpu()[:, tokens].log_softmax(-1)
    return result
