"""The card of shipped weights: every run since the first, also where a chain began from shipped weights."""

import importlib.util
from pathlib import Path

import pytest

from regard.core.config import to_yaml
from regard.store import CONFIG
from regard.store.metrics import METRICS
from regard.tables.prior.draw import shape_of
from regard.tasks.pretrain_tables.recipe import in_context_tables

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("ship_reader", ROOT / "benchmarks" / "ship_reader.py")
assert _spec is not None
assert _spec.loader is not None
ship_reader = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ship_reader)


def a_run(folder: Path, init: str) -> Path:
    folder.mkdir()
    about = f"command: regard pretrain tables --init {init}\ntorch: '2'\n"
    (folder / CONFIG).write_text(about + to_yaml(in_context_tables()) + f"\ninit: {init}\n")
    lines = ['{"step": 3, "valid": 0.7, "seconds": 60}', '{"step": 4, "valid": 0.9, "seconds": 80}']
    (folder / METRICS).write_text("\n".join(lines))
    return folder


def test_the_card_counts_what_shipped_weights_had_seen(tmp_path: Path):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "card.md").write_text(
        "- made by\n  - `regard pretrain tables --out a`: 5 steps\n- trained on 1,000 synthetic tables (20,000 cells)"
    )
    a_run(tmp_path / "second", "shipped")
    earlier, legs = ship_reader.history(a_run(tmp_path / "third", "elsewhere/second"))
    text = ship_reader.card(earlier, legs, 7)
    shapes = [shape_of(in_context_tables().data, number) for number in range(3 * 8)]  # the best weights are of step 3
    assert f"trained on {1000 + 2 * sum(shape.tables for shape in shapes):,} synthetic tables" in text
    places = [text.index(part) for part in ("--out a`", "--init shipped`", "--init elsewhere/second`: 3 steps")]
    assert places == sorted(places)
    with pytest.raises(ValueError, match="how many tables"):
        ship_reader.Earlier.read("nothing")
