"""The machine: memory bandwidth, and how fast matrices are multiplied."""

import platform
from functools import partial
from pathlib import Path

import torch

from regard.bench.measurement import Figure, Job, Measurement, median_seconds
from regard.bench.sizes import Sizes
from regard.core.machine import usable_cores


def measure(sizes: Sizes, rounds: int, _: Path) -> Measurement:
    products: dict[str, Job] = {}
    for kind in ("float32", "bfloat16"):
        matrix = torch.ones(sizes.side, sizes.side, dtype=getattr(torch, kind))
        products[kind] = partial(torch.matmul, matrix, matrix)
    seconds = median_seconds({"read": memory_read(sizes), **products}, rounds)
    flops = 2 * sizes.side**3 / 1e9
    figures = (
        Figure("memory, read", sizes.stream_bytes / seconds["read"] / 1e9, "GB/s"),
        *(Figure(f"matrix products, {kind}", flops / seconds[kind], "GFLOP/s") for kind in products),
    )
    cores, threads = usable_cores(), torch.get_num_threads()
    return Measurement("machine", f"{processor()}, {cores} usable cores, {threads} threads", figures)


def memory_read(sizes: Sizes) -> Job:
    """A stream that is read once, by all threads."""
    stream = torch.ones(sizes.stream_bytes // 4)
    return stream.sum


def processor() -> str:
    """What the processor calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
