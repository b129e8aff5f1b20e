"""Numbers of a picture: 32-bit floats as text, which is exact and a third of what digits would take."""

import base64
from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def packed(values: Float[Tensor, "row column"]) -> dict[str, Any]:
    """A matrix, row after row, little end first."""
    data = values.detach().cpu().float().contiguous().numpy().astype("<f4").tobytes()
    return {"rows": values.shape[0], "columns": values.shape[1], "values": base64.b64encode(data).decode("ascii")}


def shrunk(maps: Float[Tensor, "heads row column"], most: int) -> Float[Tensor, "heads small narrow"]:
    """At most so many rows and columns, each the mean of those that it stands for."""
    size = min(maps.shape[1], most), min(maps.shape[2], most)
    return maps if size == maps.shape[1:] else F.adaptive_avg_pool2d(maps[None], size)[0]
