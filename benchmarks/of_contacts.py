"""The tables of the pages from the benchmarks of contacts: precision, sequences, ablations, stability."""

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

from mechanisms import NOT_YET, ROOT, read, table

METHODS = {"MI + APC": "mutual information", "mean-field DCA": "mean-field couplings", "regard": "**regard**"}
TOPS = (("protein", "L/5"), ("protein", "L"), ("rna", "L/5"), ("rna", "L"))
HEADS = ("proteins, top L/5", "top L", "RNA, top L/5", "top L")
ABLATIONS = ("small", "no triangles", "no pair bias", "no column attention", "invented only", "real only")
DEPTHS = (16, 64, 256, 1024, None)
PEERS = {"GEMME_ind": "GEMME", "pycofitness": "pycofitness", "ArDCA": "ArDCA", "EVCouplings_epi": "EVcouplings"}


def _path(variant: str) -> str:
    return f"benchmarks/contacts/{variant.replace(' ', '_')}.json"


def precision(variant: str, method: str, depth: int | None = None, seeds: int | None = None) -> list[str]:
    """The mean over families, and the standard deviation over seeds if there are several."""
    rows = [row for row in read(_path(variant))["rows"] if row["depth"] == depth]
    measured = Counter(row["seed"] for row in rows)
    used = sorted(seed for seed in measured if measured[seed] == max(measured.values()))[:seeds]  # those complete
    return [_over_seeds([_mean(rows, seed, method, *top) for seed in used]) for top in TOPS]


def _mean(rows: list[dict[str, Any]], seed: int, method: str, molecule: str, top: str) -> float:
    some = [row[method] for row in rows if row["seed"] == seed and row["molecule"] == molecule]
    return statistics.mean(one[top] for one in some if top in one)


def _over_seeds(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.3f}"
    return f"{mean} ± {statistics.stdev(values):.3f}" if len(set(values)) > 1 else mean


def contacts() -> str:
    if not (ROOT / _path("full")).exists():
        return NOT_YET
    return table(("", *HEADS), [(called, *precision("full", method)) for method, called in METHODS.items()])


def sequences() -> str:
    rows = [(depth or "all", *precision("small", "regard", depth)) for depth in DEPTHS]
    return table(("sequences", *HEADS), rows)


def ablations() -> str:
    rows = [
        ("all parts" if one == "small" else one, *precision(one, "regard", seeds=1))
        for one in ABLATIONS
        if (ROOT / _path(one)).exists()
    ]
    return table(("", *HEADS), rows)


def stability() -> str:
    found = read(_path("stability"))
    rows = [(called, f"{found['mean'][name]:.3f}") for name, called in PEERS.items()]
    rows.append(("**`regard variants`**", f"**{found['mean']['regard']:.3f}**"))
    return table(("", f"mean absolute Spearman correlation, {len(found['proteins'])} proteins"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "contacts": contacts,
    "contacts by sequences": sequences,
    "contacts without parts": ablations,
    "stability": stability,
}
