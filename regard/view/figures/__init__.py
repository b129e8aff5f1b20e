"""Figures for papers: the pictures of the viewer drawn with matplotlib, saved as PNG, SVG or PDF."""

from regard.view.figures.attention import alignment_figure, head_figure, lines_figure, overview_figure
from regard.view.figures.canvas import check_file, save
from regard.view.figures.family import contacts_figure, residues_figure, sequences_figure
from regard.view.figures.image import image_figure
from regard.view.figures.positions import positions_figure
from regard.view.figures.table import evidence_figure
from regard.view.figures.training import training_figure

__all__ = [
    "alignment_figure",
    "check_file",
    "contacts_figure",
    "evidence_figure",
    "head_figure",
    "image_figure",
    "lines_figure",
    "overview_figure",
    "positions_figure",
    "residues_figure",
    "save",
    "sequences_figure",
    "training_figure",
]
