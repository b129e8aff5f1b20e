"""From the run folder of `regard pretrain tables` to the weights that come with the package.

    python benchmarks/ship_reader.py RUN

Writes the settings as they are, the weights in half precision, and a card: how they were made, for how long, and what
they score on tables that nobody learned from, as benchmarks/tables.py found it. Nothing else ever touches the weights.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from regard.core import tensors
from regard.core.config import from_dict
from regard.core.files import write_text
from regard.run import CONFIG, WEIGHTS, read_config, read_metrics
from regard.tables.prior import Prior
from regard.tables.prior.draw import shape_of
from regard.tables.shipped import FOLDER

SCORES = Path(__file__).parent / "tables" / "report.json"


def main(run: Path) -> None:
    config, metrics = read_config(run), read_metrics(run)
    prior = from_dict(Prior, config["data"], "data")
    weights = tensors.load(run / WEIGHTS)
    FOLDER.mkdir(exist_ok=True)
    tensors.save(FOLDER / WEIGHTS, {name: value.to(torch.float16) for name, value in weights.items()})
    write_text(FOLDER / CONFIG, (run / CONFIG).read_text())
    write_text(FOLDER / "card.md", card(config, prior, metrics, sum(each.numel() for each in weights.values())))
    print(f"{FOLDER}: {(FOLDER / WEIGHTS).stat().st_size / 1e6:.1f} MB")


def card(config: dict[str, Any], prior: Prior, metrics: list[dict[str, Any]], parameters: int) -> str:
    checked = [line for line in metrics if "valid" in line]
    best = min(checked, key=lambda line: line["valid"])
    shapes = [shape_of(prior, number) for number in range(best["step"] * prior.groups)]
    tables, cells = sum(s.tables for s in shapes), sum(s.tables * s.rows * s.columns for s in shapes)
    return f"""# The network that reads tables

- {parameters:,} parameters, kept in half precision; settings in `{CONFIG}`
- made by `{config["command"]}` and nothing else: seed {config["training"]["seed"]}, torch {config["torch"]}
- {best["step"]:,} steps in {best["seconds"] / 60:.0f} of {config["training"]["minutes"]:.0f} planned minutes on two
  cores, some of the time shared with other work
- learned from {tables:,} invented tables ({cells:,} cells), none of them drawn from real data: columns from random
  causal graphs; targets by sums, curves, networks, trees, rules and nearest examples; categories (up to 120), missing
  cells by chance and for a reason, heavy tails, useless columns, wrong labels;
  {prior.fewest_rows} to {prior.most_rows} rows, up to {prior.most_columns} columns and {prior.most_classes} classes,
  {prior.numbers:.0%} with numbers to predict
- loss on held-out invented tables {best["valid"]:.4f}: mean surprise of a class in nats, or of a number's quantiles
  and mean in deviations
- weights: an exponential average over the last steps (rate {config["training"]["average"]})
{scores()}"""


def scores() -> str:
    if not SCORES.exists():
        return ""
    boards = json.loads(SCORES.read_text())
    return f"- scores on real tables: benchmarks/tables/REPORT.md ({len(boards['settings'])} settings)\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
