"""Matrices for the page: float32 as base64, which is exact and a third of the size of decimal digits."""

import base64
from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def encode_matrix(values: Float[Tensor, "row column"]) -> dict[str, Any]:
    """Row-major, little-endian."""
    data = values.detach().cpu().float().contiguous().numpy().astype("<f4").tobytes()
    return {"rows": values.shape[0], "columns": values.shape[1], "values": base64.b64encode(data).decode("ascii")}


def downsample(maps: Float[Tensor, "heads row column"], max_size: int) -> Float[Tensor, "heads small narrow"]:
    """At most `max_size` rows and columns, each the mean of those it covers."""
    size = min(maps.shape[1], max_size), min(maps.shape[2], max_size)
    return maps if size == maps.shape[1:] else F.adaptive_avg_pool2d(maps[None], size)[0]
