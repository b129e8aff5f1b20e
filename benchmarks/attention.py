"""Time and memory of the attentions as the text grows: forward and backward, each length in the same run.

    python benchmarks/attention.py                      a table, and the claims with their measured figures
    python benchmarks/attention.py --json results.json  the same, written as a document too
    python benchmarks/attention.py --check              exit 1 when a claim does not hold

Times are medians of rounds; in each round every attention and length takes its turn, so that a busy neighbour slows all
alike. Memory is measured apart: each attention and length in a process of its own, what it takes beyond its inputs.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import torch  # noqa: E402  (the policy must be chosen before)
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from torch import Tensor  # noqa: E402

from regard.parts import BigBird, Full, Linformer, Window  # noqa: E402

GROWTH = 2.3  # the most that twice the length may cost where cost is linear: two, and something for the noise
FASTER = 5.0  # how much faster than full attention BigBird is at the greatest length, at least
SQUARES = 3  # how many tensors of length × length the explicit reference holds at its peak
SPARSE = ("Window", "Linformer", "BigBird")
Lookup = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Settings:
    batch: int = 1
    heads: int = 4
    size: int = 64


@dataclass(frozen=True)
class Row:
    attention: str
    length: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Claim:
    claim: str
    figures: str
    holds: bool | None  # None: not measured


def full(settings: Settings, length: int) -> Lookup:
    return Full().build(settings.heads, settings.size)


def reference(settings: Settings, length: int) -> Lookup:
    attend = Full().build(settings.heads, settings.size)
    return lambda q, k, v: attend.watch(q, k, v)[0]


def window(settings: Settings, length: int) -> Lookup:
    return Window(reach=64).build(settings.heads, settings.size)


def linformer(settings: Settings, length: int) -> Lookup:
    return Linformer(slots=128, length=length).build(settings.heads, settings.size)


def bigbird(settings: Settings, length: int) -> Lookup:
    return BigBird(block=64).build(settings.heads, settings.size)


ATTENTIONS = {"Full": full, "Reference": reference, "Window": window, "Linformer": linformer, "BigBird": bigbird}


def prepare(name: str, length: int, settings: Settings) -> Callable[[], None]:
    """One forward and backward pass, with its inputs ready."""
    torch.manual_seed(length)
    shape = settings.batch, length, settings.heads, settings.size
    q, k, v = (torch.randn(shape).transpose(1, 2).requires_grad_() for _ in range(3))  # as MultiHead hands them over
    wanted = torch.randn(shape).transpose(1, 2)
    attend = ATTENTIONS[name](settings, length)
    return lambda: attend(q, k, v).backward(wanted)


def warm_up(name: str) -> None:
    """Start threads and libraries on something tiny, so that it is neither timed nor weighed."""
    prepare(name, 512, Settings(heads=1, size=16))()


def measure_seconds(name: str, length: int, settings: Settings) -> float:
    step = prepare(name, length, settings)
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure_memory(name: str, length: int, settings: Settings) -> int:
    """The peak of this process while it attends, beyond what it held before; meant for a fresh process."""
    warm_up(name)
    step = prepare(name, length, settings)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    before = peak_memory()
    step()
    return peak_memory() - before


def peak_memory() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def reference_bytes(length: int, settings: Settings) -> int:
    return SQUARES * settings.batch * settings.heads * length**2 * 4


def measure(cases: list[tuple[str, int]], settings: Settings, rounds: int, say: Callable[[str], None]) -> list[Row]:
    seconds: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for name in dict.fromkeys(name for name, _ in cases):
        warm_up(name)
    for number in range(rounds):
        for name, length in cases:
            say(f"round {number + 1} of {rounds}: {name} at {length}")
            seconds[name, length].append(measure_seconds(name, length, settings))
    peaks = {}
    context = get_context("forkserver")
    context.set_forkserver_preload(["regard.parts", "rich.table"])  # imported once, then forked for each case
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as fresh:
        for name, length in cases:
            say(f"memory: {name} at {length}")
            peaks[name, length] = fresh.submit(measure_memory, name, length, settings).result()
    return [Row(*case, statistics.median(seconds[case]), peaks[case]) for case in cases]


def claims(rows: list[Row]) -> Iterator[Claim]:
    at = {(row.attention, row.length): row for row in rows}

    def growth(name: str, field: str, length: int) -> float:
        return getattr(at[name, 2 * length], field) / getattr(at[name, length], field)

    def doubled(name: str) -> list[int]:
        return [length for attention, length in at if attention == name and (name, 2 * length) in at]

    text = f"Full fused grows linearly in memory (≤ {GROWTH}× a doubling), the explicit reference quadratically (≥ 3×)"
    both = sorted(set(doubled("Full")) & set(doubled("Reference")))
    if both:
        last, longest = both[-1], max(doubled("Full"))
        fused = [growth("Full", "peak_bytes", length) for length in sorted({last, longest})]
        explicit = growth("Reference", "peak_bytes", last)
        figures = f"{last}→{2 * last}: fused {fused[0]:.2f}×, reference {explicit:.2f}×; "
        figures += f"{longest}→{2 * longest}: fused {fused[-1]:.2f}×"
        yield Claim(text, figures, max(fused) <= GROWTH and explicit >= 3)
    else:
        yield Claim(text, "not measured", None)

    for name in SPARSE:
        text = f"{name} grows by at most {GROWTH}× from 8192 to 16384 in time and in memory"
        if 8192 in doubled(name):
            ratios = growth(name, "seconds", 8192), growth(name, "peak_bytes", 8192)
            yield Claim(text, f"time {ratios[0]:.2f}×, memory {ratios[1]:.2f}×", max(ratios) <= GROWTH)
        else:
            yield Claim(text, "not measured", None)

    text = f"BigBird is at least {FASTER:g}× faster than Full at 16384"
    if {("Full", 16384), ("BigBird", 16384)} <= set(at):
        ratio = at["Full", 16384].seconds / at["BigBird", 16384].seconds
        yield Claim(text, f"{ratio:.1f}×", ratio >= FASTER)
    else:
        yield Claim(text, "not measured", None)


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],  # 1, 5 and 15 minutes, before the start
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "OMP_WAIT_POLICY": os.environ["OMP_WAIT_POLICY"],
        "dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }


def show(console: Console, document: dict[str, Any]) -> None:
    lengths = sorted({row["length"] for row in document["rows"]})
    skipped = {(row["attention"], row["length"]): row["reason"] for row in document["skipped"]}
    at = {(row["attention"], row["length"]): row for row in document["rows"]}
    table = Table(title="Forward and backward: milliseconds, and MiB beyond the inputs")
    table.add_column("attention")
    for length in lengths:
        table.add_column(f"{length}", justify="right")
    for name in dict.fromkeys(name for name, _ in at):
        cells = []
        for length in lengths:
            row = at.get((name, length))
            cells.append(
                "does not fit"
                if row is None
                else f"{row['seconds'] * 1e3:,.0f} ms\n{row['peak_bytes'] / 2**20:,.0f} MiB"
            )
        table.add_row(name, *cells, end_section=True)
    console.print(table)
    for (name, length), reason in skipped.items():
        console.print(f"{name} at {length}: {reason}")
    for claim in document["claims"]:
        verdict = {True: "[green]holds[/]", False: "[red]fails[/]", None: "[yellow]?[/]"}[claim["holds"]]
        console.print(f"{verdict}  {claim['claim']}: {claim['figures']}")
    console.print(", ".join(f"{key} {value}" for key, value in (document["machine"] | document["settings"]).items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=Settings.batch)
    parser.add_argument("--heads", type=int, default=Settings.heads)
    parser.add_argument("--size", type=int, default=Settings.size, help="of a head")
    parser.add_argument("--only", nargs="+", choices=ATTENTIONS, default=list(ATTENTIONS), metavar="NAME")
    parser.add_argument("--limit", type=float, default=4.0, help="GiB that the explicit reference may take")
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write a document; -: print it and no more"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a claim fails")
    return parser.parse_args()


def run(asked: argparse.Namespace, settings: Settings, say: Callable[[str], None]) -> dict[str, Any]:
    here = machine()
    cases, skipped = [], []
    for name in asked.only:
        for length in sorted(asked.lengths):
            need = reference_bytes(length, settings) / 2**30
            if name == "Reference" and need > asked.limit:
                reason = f"skipped, needs about {need:.1f} GiB and the limit is {asked.limit:g}"
                skipped.append({"attention": name, "length": length, "reason": reason})
            else:
                cases.append((name, length))
    cases.sort(key=lambda case: case[1])
    rows = measure(cases, settings, asked.rounds, say)
    return {
        "command": " ".join(["python", *sys.argv]),
        "machine": here,
        "settings": vars(settings) | {"rounds": asked.rounds},
        "rows": [vars(row) for row in rows],
        "skipped": skipped,
        "claims": [vars(claim) for claim in claims(rows)],
    }


def main() -> None:
    asked = arguments()
    settings = Settings(asked.batch, asked.heads, asked.size)
    with Console(stderr=True).status("starting") as status:
        document = run(asked, settings, status.update)
    if asked.json == "-":
        print(json.dumps(document, indent=2))
    else:
        show(Console(), document)
        if asked.json:
            Path(asked.json).write_text(json.dumps(document, indent=2) + "\n")
    if asked.check and any(claim["holds"] is False for claim in document["claims"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
