"""From the run folder of `regard pretrain tables` to the weights that come with the package.

    python benchmarks/ship_reader.py RUN

Writes the settings as they are, the weights in half precision, and a card: how they were made, for how long, and what
they score on tables that nobody learned from, as benchmarks/tables.py found it. Nothing else ever touches the weights.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.core import tensors
from regard.core.config import from_dict
from regard.core.files import write_text
from regard.store import CONFIG, WEIGHTS, read_config, read_metrics
from regard.tables.network.pretrained import FOLDER
from regard.tables.prior import Prior
from regard.tables.prior.draw import Shape, shape_of

SCORES = Path(__file__).parent / "tables" / "report.json"


def main(run: Path) -> None:
    weights = tensors.load(run / WEIGHTS)
    FOLDER.mkdir(exist_ok=True)
    tensors.save(FOLDER / WEIGHTS, {name: value.to(torch.float16) for name, value in weights.items()})
    write_text(FOLDER / CONFIG, (run / CONFIG).read_text())
    earlier, legs = history(run)
    write_text(FOLDER / "card.md", card(earlier, legs, sum(each.numel() for each in weights.values())))
    print(f"{FOLDER}: {(FOLDER / WEIGHTS).stat().st_size / 1e6:.1f} MB")


@dataclass(frozen=True)
class Leg:
    """One run of a chain in which each begins from what the one before has learned."""

    config: dict[str, Any]
    step: int  # whose weights were kept
    seconds: float
    loss: float

    @property
    def prior(self) -> Prior:
        return from_dict(Prior, self.config["data"], "data")

    @property
    def shapes(self) -> Iterator[Shape]:
        return (shape_of(self.prior, number) for number in range(self.step * self.prior.groups))


@dataclass(frozen=True)
class Earlier:
    """What the card of shipped weights says, where a chain began from them."""

    commands: tuple[str, ...] = ()
    tables: int = 0
    cells: int = 0

    @classmethod
    def read(cls, text: str) -> "Earlier":
        counts = re.search(r"trained on ([\d,]+) synthetic tables \(([\d,]+) cells\)", text)
        if counts is None:
            raise ValueError("the card does not say how many tables the weights were trained on")
        tables, cells = (int(count.replace(",", "")) for count in counts.groups())
        return cls(tuple(re.findall(r"^  - `regard .*$", text, re.MULTILINE)), tables, cells)


def history(run: Path) -> tuple[Earlier, list[Leg]]:
    """The run and those that it began from, which lie beside it, the first one first."""
    lines = read_metrics(run)
    if not lines:  # shipped weights
        return Earlier.read((run / "card.md").read_text()), []
    config = read_config(run)
    earlier, legs = history(run.parent / Path(config["init"]).name) if config.get("init") else (Earlier(), [])
    best = min((line for line in lines if "valid" in line), key=lambda line: line["valid"])
    return earlier, [*legs, Leg(config, best["step"], best["seconds"], best["valid"])]


def card(earlier: Earlier, legs: list[Leg], parameters: int) -> str:
    last = legs[-1]
    config, prior, made = last.config, last.prior, [shape for leg in legs for shape in leg.shapes]
    tables = earlier.tables + sum(s.tables for s in made)
    cells = earlier.cells + sum(s.tables * s.rows * s.columns for s in made)
    own = (
        f"  - `{leg.config['command']}`: {leg.step:,} steps in {leg.seconds / 60:.0f} minutes, tables of seed"
        f" {leg.prior.seed}, loss {leg.loss:.4f} on others of that seed"
        for leg in legs
    )
    commands = "\n".join([*earlier.commands, *own])
    return f"""# The in-context table model

- {parameters:,} parameters, kept in half precision; settings in `{CONFIG}`
- made by these commands and nothing else, on two cores shared with other work, with torch {config["torch"]}; between
  them the network gained inputs:
{commands}
- trained on {tables:,} synthetic tables ({cells:,} cells), none of them drawn from real data: columns from random
  structural causal models; targets by linear, additive, network, tree, rule and nearest-example functions; categories
  (up to 120 levels), missing cells, heavy tails, irrelevant columns, wrong labels; in the last run
  {prior.flat_rules:.0%} rules with flat marginals and {prior.many_levels:.0%} categories of up to 5,000 levels;
  {prior.min_rows} to {prior.max_rows} rows, up to {prior.max_columns} columns and {prior.max_classes} classes,
  {prior.regression:.0%} with a numeric target
- loss: mean negative log-likelihood of a class in nats; of a number pinball and squared error, standardised
- weights: an exponential moving average over the last steps (decay {config["training"]["ema"]})
{scores()}"""


def scores() -> str:
    if not SCORES.exists():
        return ""
    boards = json.loads(SCORES.read_text())
    return f"- scores on real tables: benchmarks/tables/REPORT.md ({len(boards['settings'])} settings)\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
