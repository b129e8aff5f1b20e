"""Pictures as data: a recording, a model or a run folder becomes what the page draws, one picture at a time."""

from regard.view.pictures.alignment import align, alignment_picture
from regard.view.pictures.attention import head_picture, overview_picture
from regard.view.pictures.family import family_picture, residue_picture, sequence_picture
from regard.view.pictures.image import image_picture, patch_picture, rollout_picture
from regard.view.pictures.positions import position_pictures
from regard.view.pictures.training import training_picture

__all__ = [
    "align",
    "alignment_picture",
    "family_picture",
    "head_picture",
    "image_picture",
    "overview_picture",
    "patch_picture",
    "position_pictures",
    "residue_picture",
    "rollout_picture",
    "sequence_picture",
    "training_picture",
]
