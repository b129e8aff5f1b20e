"""The measurements by name, and those that were chosen, one after the other."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.bench import decode, machine, serve, tables, train
from regard.bench.measurement import Measurement
from regard.bench.sizes import Sizes
from regard.bench.workplace import workplace
from regard.core.errors import ConfigError, at_least, did_you_mean
from regard.core.machine import usable_cores
from regard.core.version import VERSION

MEASUREMENTS: dict[str, Callable[[Sizes, int, Path], Measurement]] = {
    "machine": machine.measure,
    "train": train.measure,
    "decode": decode.measure,
    "serve": serve.measure,
    "tables": tables.measure,
}
BUSY = 0.5  # load for each core


def choose(names: Sequence[str]) -> tuple[str, ...]:
    """The measurements of these names in their usual order; without names, all."""
    for name in names:
        if name not in MEASUREMENTS:
            raise ConfigError(f"{name}: no such measurement; {did_you_mean(name, MEASUREMENTS)}")
    return tuple(name for name in MEASUREMENTS if name in names or not names)


def run(
    names: Sequence[str],
    sizes: Sizes,
    rounds: int,
    start: Callable[[str], None] = lambda name: None,  # called before each measurement
    show: Callable[[Measurement], None] = lambda measurement: None,  # and after it
) -> list[Measurement]:
    at_least(1, rounds=rounds)
    results = []
    with workplace() as folder:
        for name in names:
            start(name)
            results.append(MEASUREMENTS[name](sizes, rounds, folder))
            show(results[-1])
    return results


def busy(load: float | None) -> str | None:
    """A warning, if other programs keep the cores."""
    cores = usable_cores()
    if load is None or load <= BUSY * cores:
        return None
    return f"the machine is busy (load average {load:.1f} on {cores} cores): figures are low"


def as_dict(results: Sequence[Measurement], rounds: int, load: float | None) -> dict[str, Any]:
    """Everything for a file: what was measured, where, and how busy the machine was before."""
    return {
        "regard": VERSION,
        "torch": str(torch.__version__),
        "processor": machine.processor(),
        "cores": usable_cores(),
        "threads": torch.get_num_threads(),
        "load_average": load,
        "rounds": rounds,
        "measurements": {one.name: one.as_dict() for one in results},
    }
