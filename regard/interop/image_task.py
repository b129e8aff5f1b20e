"""How another library's Vision Transformer wants its images: the numbers in preprocessor_config.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.files import read_json, write_text
from regard.models import ViT
from regard.tasks import ClassifyImages

FILE = "preprocessor_config.json"
HALF = 0.5  # the mean and the spread of ViT's processor where the folder does not say


def image_task(path: Path, config: ViT, extra: Mapping[str, Any]) -> ClassifyImages:
    told = read_json(path / FILE) if (path / FILE).exists() else {}
    return ClassifyImages(
        labels=tuple(str(name) for name in extra.get("id2label", {}).values()),
        framing="stretch",
        mean=_channels(path, told, "image_mean", config.channels),
        spread=_channels(path, told, "image_std", config.channels),
    )


def _channels(path: Path, told: Mapping[str, Any], key: str, channels: int) -> tuple[float, ...]:
    values = told.get(key, [HALF] * channels)
    numbers = isinstance(values, list) and all(isinstance(value, int | float) for value in values)
    if not numbers or len(values) != channels or (key == "image_std" and min(values) <= 0):
        raise UserError(f"{path / FILE}: {key} should be a number for each of {channels} channels, not {values!r}")
    return tuple(float(value) for value in values)


def write_image_task(path: Path, config: ViT, task: ClassifyImages) -> None:
    told = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": config.image, "width": config.image},
        "resample": 3,  # bicubic, as ours
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(task.mean),
        "image_std": list(task.spread),
    }
    write_text(path / FILE, json.dumps(told, indent=2) + "\n")
