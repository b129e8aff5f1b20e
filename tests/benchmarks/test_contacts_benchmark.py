"""The benchmark of contacts: a cluster is never parted, and every family is left out once."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.data.alignments.families import Family
from tests.proteins.make import PROTEIN, RNA, distances, family

FILE = Path(__file__).parents[2] / "benchmarks" / "contacts.py"
_spec = importlib.util.spec_from_file_location("contacts_benchmark", FILE)
assert _spec is not None
assert _spec.loader is not None
benchmark: Any = importlib.util.module_from_spec(_spec)
sys.modules["contacts_benchmark"] = benchmark  # dataclasses look their module up
_spec.loader.exec_module(benchmark)


def members() -> list[Any]:
    one, other = (Family(family(alphabet, 4), distances(alphabet)) for alphabet in (PROTEIN, RNA))
    proteins = [benchmark.Member(f"p{number}", str(number // 2), one) for number in range(9)]
    return proteins + [benchmark.Member(f"RF{number // 2}_{number}", f"RF{number // 2}", other) for number in range(7)]


@pytest.mark.parametrize("seed", [0, 1])
def test_folds_leave_every_family_out_once_with_its_cluster(seed: int):
    some = members()
    parts = benchmark.folds(some, 3, seed)
    for member in some:
        assert sum(member.cluster in part for part in parts) == 1
    assert all(any(one.cluster in part for one in some[:9]) for part in parts), "each fold has proteins"


def test_a_subset_holds_the_examples_of_its_own_families():
    some = members()
    plan = benchmark.plan_for("full", 1, 0)
    pool = benchmark.Examples([one.family for one in some], plan.data)
    subset = benchmark.Subset(pool, [3, 12], plan.data)
    assert len(subset) == 2
    assert subset.get(1, 0) is pool.get(12, 0)


def test_the_summary_is_a_mean_over_families_and_a_spread_over_seeds():
    tops = ("L/5", "L/2", "L")
    rows = [
        {"seed": seed, "molecule": "protein", "depth": None}
        | {name: dict.fromkeys(tops, value + seed / 10) for name in ("regard", "mean-field DCA", "MI + APC")}
        for seed in (0, 1)
        for value in (0.2, 0.4)
    ]
    result = benchmark.summary(rows)["protein, all sequences, regard, top L/5"]
    assert result["mean"] == pytest.approx(0.35)
    assert result["spread"] == pytest.approx(0.0707, abs=1e-3)
    assert set(benchmark.VARIANTS) >= {
        "no triangles",
        "no pair bias",
        "no column attention",
        "invented only",
        "real only",
    }
