"""Classify images with a Vision Transformer in ONNX: `python predict.py IMAGE.png` needs onnxruntime and pillow."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

HERE = Path(__file__).parent
SETTINGS = json.loads((HERE / "regard.json").read_text(encoding="utf-8"))
SESSION = onnxruntime.InferenceSession(HERE / "model.onnx")


def read(file: str | Path) -> np.ndarray:
    """Pixels of the size that the model reads, between 0 and 1, normalised by channel."""
    side, mode = SETTINGS["image"], "L" if SETTINGS["channels"] == 1 else "RGB"
    image = ImageOps.exif_transpose(Image.open(file))
    if image.has_transparency_data:  # transparent pixels become white
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert(mode)
    if SETTINGS["resize"] == "crop":
        image = ImageOps.fit(image, (side, side), Image.Resampling.BICUBIC)
    elif SETTINGS["resize"] == "pad":
        image = ImageOps.pad(image, (side, side), Image.Resampling.BICUBIC, color=None)
    else:
        image = image.resize((side, side), Image.Resampling.BICUBIC)
    pixels = np.asarray(image, "float32").reshape(side, side, -1).transpose(2, 0, 1) / 255
    mean, std = (np.array(SETTINGS[name], "float32")[:, None, None] for name in ("mean", "std"))
    return (pixels - mean) / std


def probabilities(files: list[str]) -> np.ndarray:
    """The probability of each label, in the order of the settings, for each image."""
    [logits] = SESSION.run(None, {"pixel_values": np.stack([read(file) for file in files]).astype("float32")})
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def predict(files: list[str]) -> list[str]:
    return [SETTINGS["labels"][place] for place in probabilities(files).argmax(-1)]


if __name__ == "__main__":
    print(*predict(sys.argv[1:]), sep="\n")
