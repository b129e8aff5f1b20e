"""`regard pretrain contacts`, `regard contacts` and `regard variants`."""

from pathlib import Path
from typing import Literal

from regard.tasks.options import Changes, TrainOptions, strings


def pretrain_contacts(
    options: TrainOptions, *, data: tuple[Path, ...], valid: tuple[Path, ...] = (), changes: Changes = None
) -> int:
    """Pre-train the Evoformer, which predicts the contacts of a family, on families with known structures.

    Half of the examples are families invented from these structures. Any setting can be changed with a dotted option,
    such as --model.layers 6 or --data.invented 0; --show-settings prints them all.

    Parameters
    ----------
    data
        Folders or alignment files (FASTA, A3M, Stockholm, Clustal, .aln; also compressed). Each alignment has its
        structure beside it under the same name: .pdb, .cif, or .npz with an array `distance`.
    valid
        Validation families of the same form; none of them should be related to those of the data.
    """
    from regard.tasks.contacts.recipe import contact_predictor

    return options.train(contact_predictor(strings(data), strings(valid)), changes)


def contacts(
    alignment: Path,
    *,
    out: Path | None = None,
    structure: Path | None = None,
    compare: bool = False,
    plot: Path | None = None,
    molecule: Literal["protein", "rna"] | None = None,
    weights: Path | None = None,
) -> None:
    """Predict which residues of a protein or an RNA touch, from an alignment of its family.

    These are contacts, not a fold: pairs of residues with the probability that they are near each other (C-beta atoms
    within 8 Å; of RNA, any two heavy atoms within 10 Å). The first sequence of the alignment is the one in question.

    Parameters
    ----------
    alignment
        FASTA, A3M, Stockholm, Clustal or one sequence a line; also compressed.
    out
        Table to write (.csv, .parquet, …), a row for each pair; without it the most probable pairs are printed.
    structure
        A known structure (.pdb, .cif) to compare with: precision is printed, and distances are written.
    compare
        Add the scores of mutual information and mean-field couplings.
    plot
        Picture of the map (.png, .svg, .pdf): predictions below the diagonal; above it the structure, or mean-field
        couplings.
    molecule
        Whether the letters are of a protein or of RNA; without it they are looked at.
    weights
        Run folder of `regard pretrain contacts`; without it the shipped weights.
    """
    from regard.tasks.contacts.report import report_contacts

    _print(report_contacts(alignment, out, structure, compare, plot, molecule, weights))


def variants(alignment: Path, *, out: Path | None = None, weights: Path | None = None) -> None:
    """Score every single mutation of the first sequence of an alignment: the lower, the more the family avoids it.

    Parameters
    ----------
    alignment
        FASTA, A3M, Stockholm, Clustal or one sequence a line; also compressed.
    out
        Table to write (.csv, .parquet, …); without it the lowest scores are printed.
    weights
        Run folder of `regard pretrain contacts`; without it the shipped weights.
    """
    from regard.tasks.contacts.report import report_variants

    _print(report_variants(alignment, out, weights))


def _print(text: str) -> None:
    if text:
        print(text)


PRETRAIN = {"contacts": pretrain_contacts}
USE = (contacts, variants)
