"""Recording an Evoformer: contacts of a family, attention between residues and between sequences, and their identity.

A chain is shown as far as its patterns fit: a stretch of at most as many residues as are read at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from regard.core.errors import UserError
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.inputs import MAX_SEQUENCES
from regard.models import Evoformer
from regard.parts.taps import taps
from regard.tasks import attention_maps
from regard.tasks.base import Run
from regard.tasks.contacts import predict
from regard.tasks.contacts.family_input import FamilyInput
from regard.tasks.contacts.scores import FEW, precision
from regard.tasks.recording import AttentionMap, Recording, ViewedFamily, ViewInput

BEST = 10  # contacts that are listed
LIKELY = 0.5  # probability from which on contacts are counted


@dataclass(frozen=True)
class Shown:
    """What is shown of a family: a stretch of its residues, and why the rest is left out."""

    alignment: Alignment
    distance: Float[Tensor, "residue residue"] | None
    first: int  # its first residue, counted from 0
    length: int  # of the whole chain
    notes: tuple[str, ...]


@torch.inference_mode()
def record_family(run: Run, view_input: ViewInput, sequences: int) -> Recording:
    if not isinstance(run.config, Evoformer):
        raise UserError(f"{run.path}: holds a {type(run.config).__name__}, which reads no alignments")
    if view_input.family is None:
        raise UserError(f"{run.path}: reads alignments, and was given none")
    shown = _shown(run, view_input.family, sequences)
    alignment = shown.alignment
    run.model.eval()
    part = predict.encode_part(alignment, torch.arange(alignment.length))
    contact = predict.part_contacts(run.model, part, sequences)
    heard = predict.listen_to_part(run.model, part, sequences)
    read = predict.rows_read(part, sequences, 0)
    family = ViewedFamily(
        residues=tuple(f"{letter}{shown.first + place}" for place, letter in enumerate(alignment.query, 1)),
        first=shown.first + 1,
        length=shown.length,
        sequences=tuple(alignment.label(one) for one in read.tolist()),
        letters=_letters(alignment, read),
        identity=identity(alignment.letters[read], alignment.alphabet.size - 1),
        contact=contact,
        mean_field=part.mean_field,
        mutual_information=part.mutual_information,
        distance=shown.distance,
        touching=alignment.alphabet.contact,
        separation=alignment.alphabet.separation,
        rows=_by_line(heard, "rows", len(read)),
        columns=_by_line(heard, "columns", alignment.length),
        reading=_reading(len(read), alignment.sequences),
    )
    return Recording(view_input, _answer(family, alignment), _best(family), _maps(family), shown.notes, family=family)


def identity(letters: Integer[Tensor, "sequence residue"], gap: int) -> Float[Tensor, "sequence sequence"]:
    """The fraction of equal letters of each two sequences, of the columns where neither has a gap."""
    here = (letters != gap).float()
    equal = torch.zeros(len(letters), len(letters))
    for letter in range(gap):
        same = (letters == letter).float()
        equal += same @ same.T
    return equal / (here @ here.T).clamp(min=1)


def _letters(alignment: Alignment, rows: Tensor) -> tuple[str, ...]:
    letters = alignment.alphabet.letters + "-"
    return tuple("".join(letters[one] for one in row) for row in alignment.letters[rows].tolist())


def _shown(run: Run, family: FamilyInput, sequences: int) -> Shown:
    alignment, distance = family.read()
    notes, length = [], alignment.length
    if alignment.sequences < FEW:
        notes.append(f"it has {alignment.sequences} sequences; with fewer than {FEW}, few contacts are reliable")
    if alignment.sequences > MAX_SEQUENCES:
        notes.append(f"{MAX_SEQUENCES:,} of its {alignment.sequences:,} sequences are used, drawn at random")
        alignment = alignment.sample(MAX_SEQUENCES)
    longest, first = _max_length(run, min(sequences, alignment.sequences)), 0
    if length > longest:
        first = max(0, min(family.first - 1, length - longest))
        index = torch.arange(first, first + longest)
        alignment = alignment.columns(index)
        distance = None if distance is None else distance[index][:, index]
        notes.append(
            f"residues {first + 1:,} to {first + longest:,} of {length:,} are shown, predicted from these columns "
            "alone; `regard contacts` reads all"
        )
    return Shown(replace(alignment, name=family.alignment.name), distance, first, length, tuple(notes))


def _max_length(run: Run, sequences: int) -> int:
    """Residues of which all patterns fit in memory, at most as many as are read at once."""

    def needed(length: int) -> int:
        total = 0
        for name in taps(run.model):
            rows = length**2 * sequences if ".rows." in name else length**3
            total += length * sequences**2 if ".columns." in name else rows
        return 4 * total * getattr(run.config, "heads", 1)

    lengths = range(predict.MAX_LENGTH, 0, -1)
    fits = next((length for length in lengths if needed(length) <= attention_maps.MAX_BYTES), 0)
    if fits < 8:
        raise UserError(f"{run.path}: reads {sequences} sequences at once, whose patterns do not fit in memory")
    return fits


def _by_line(heard: Mapping[str, Tensor], axis: str, lines: int) -> dict[str, Tensor]:
    """Patterns along one axis by the path of their block, such as blocks.0.rows."""
    ending = f".{axis}.attend.pattern"
    return {
        name.removesuffix(".attend.pattern"): pattern.float().cpu().transpose(0, 1).contiguous()
        for name, pattern in heard.items()
        if name.endswith(ending) and len(pattern) == lines and pattern.shape[-1] == pattern.shape[-2]
    }


def _maps(family: ViewedFamily) -> tuple[AttentionMap, ...]:
    """Every attention as the mean over its lines: over sequences along rows, over residues along columns."""
    kinds = ((family.rows, family.residues), (family.columns, family.sequences))
    maps = [AttentionMap(name, one.mean(1), tokens, tokens) for kind, tokens in kinds for name, one in kind.items()]
    return tuple(sorted(maps, key=lambda one: one.name))


def _best(family: ViewedFamily) -> tuple[tuple[str, float], ...]:
    """The most probable contacts."""
    i, j = torch.triu_indices(len(family.contact), len(family.contact), family.separation)
    values, places = family.contact[i, j].topk(min(BEST, len(i)))
    return tuple(
        (f"{family.residues[i[place]]}–{family.residues[j[place]]}", value)
        for value, place in zip(values.tolist(), places.tolist(), strict=True)
    )


def _answer(family: ViewedFamily, alignment: Alignment) -> str:
    i, j = torch.triu_indices(len(family.contact), len(family.contact), family.separation)
    likely = int((family.contact[i, j] >= LIKELY).sum())
    answer = f"{likely:,} contacts of {alignment.length:,} residues have a probability of {LIKELY:.0%} or more"
    if family.distance is None:
        return answer
    scores = precision(family.contact, family.distance, alignment.alphabet)
    best = ", ".join(f"{value:.0%} of the top {name}" for name, value in scores.items())
    return f"{answer}; in the structure, {best} pairs touch" if best else answer


def _reading(read: int, sequences: int) -> str:
    if read == sequences:
        return f"All {sequences:,} sequences are read letter by letter."
    return (
        f"Contacts are the mean of {predict.READINGS} readings of {read} sequences each, drawn at random, beside "
        f"statistics of all {sequences:,}. The attention is that of the first reading."
    )
