"""How another library's Vision Transformer wants its images: the numbers in preprocessor_config.json."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.files import write_text
from regard.interop.folder import has_file, read_json, shown
from regard.models import ViT

log = logging.getLogger(__name__)

FILE = "preprocessor_config.json"
BILINEAR, BICUBIC = 2, 3  # as Pillow numbers them: what ViT's processor does where the folder does not say, and ours
FAR = 1e6  # from any share of white
HALF = 0.5  # the mean and standard deviation of ViT's processor where the folder does not say


def read_pixels(path: Path, config: ViT) -> dict[str, Any]:
    """How images become pixels: `resize`, and the `mean` and `std` of each channel."""
    settings = read_json(path, FILE) if has_file(path, FILE) else {"resample": BICUBIC}
    for key, usual in (("do_rescale", True), ("rescale_factor", 1 / 255)):
        value = settings.get(key, usual)
        if not isinstance(value, int | float) or not 0 <= value <= 1 or abs(value - usual) > 1e-6:
            raise UserError(f"{path / FILE}: {key} {shown(value)}: pixels are read as fractions from 0 to 1")
    resample = settings.get("resample", BILINEAR)
    if resample != BICUBIC:
        differs = f"resample {shown(resample)}, but here images are resized bicubically"
        log.info("note: %s: %s: answers can differ a little", path / FILE, differs)
    if settings.get("do_normalize") is False:
        settings |= {"image_mean": [0] * config.channels, "image_std": [1] * config.channels}
    return {
        "resize": "stretch",
        "mean": _channels(path, settings, "image_mean", config.channels),
        "std": _channels(path, settings, "image_std", config.channels),
    }


def _channels(path: Path, settings: Mapping[str, Any], key: str, channels: int) -> tuple[float, ...]:
    values = settings.get(key, [HALF] * channels)
    numbers = isinstance(values, list) and all(type(value) in (int, float) and abs(value) < FAR for value in values)
    if not numbers or len(values) != channels or (key == "image_std" and min(values) <= 0):
        raise UserError(f"{path / FILE}: {key} should be a number for each of {channels} channels, not {shown(values)}")
    return tuple(float(value) for value in values)


def write_pixels(path: Path, config: ViT, pixels: Mapping[str, Any]) -> None:
    if pixels["resize"] != "stretch":
        log.info(f"note: {path}: transformers stretches images to a square; this run {pixels['resize']}s them")
    description = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": config.image, "width": config.image},
        "resample": BICUBIC,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(pixels["mean"]),
        "image_std": list(pixels["std"]),
    }
    write_text(path / FILE, json.dumps(description, indent=2) + "\n")
