"""Pictures as plain data: a recording, a model or a run folder becomes what a page draws, one picture at a time."""

from regard.view.pictures.alignment import align_picture, aligned
from regard.view.pictures.attention import head_picture, overview_picture
from regard.view.pictures.image import patch_picture, rollout_picture, seen_picture
from regard.view.pictures.positions import position_pictures
from regard.view.pictures.training import training_picture

__all__ = [
    "align_picture",
    "aligned",
    "head_picture",
    "overview_picture",
    "patch_picture",
    "position_pictures",
    "rollout_picture",
    "seen_picture",
    "training_picture",
]
