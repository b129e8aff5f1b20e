"""What attention between rows is worth: the ablations and the row corruption of the NPT paper (Kossen et al., 2021).

    python benchmarks/rows.py --data DIR                              three small tables, three seeds, a minute each
    python benchmarks/rows.py --data DIR --tables yacht --seconds 20 --seeds 1

DIR is that of tables.py, and so are the splits. Each network is trained on one table alone (`mode="scratch"`):

- `whole`: attention between rows and between attributes, features and targets masked;
- `no_rows`, `no_attributes`: without one of the two attentions;
- `no_feature_masking`: no cell but the target is ever hidden;
- `no_target_masking`: the targets of all rows of a step are hidden, as in ordinary learning.

Corruption: `whole` answers once more, with every column of the known rows, the target among them, shuffled by itself. A
network that only remembers does not mind; `lost` is by how much the error grows where it looks at rows.
"""

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import numpy as np  # noqa: E402  (the policy must be chosen before)
import torch  # noqa: E402
from tabular.files import Table as FileTable  # noqa: E402
from tabular.files import read_table  # noqa: E402
from tabular.scores import number_scores  # noqa: E402
from tabular.splits import split  # noqa: E402

from regard.tables.encode.columns import Columns  # noqa: E402
from regard.tables.encode.frames import as_frame  # noqa: E402
from regard.tables.encode.table import EncodedTable  # noqa: E402
from regard.tables.network.masking import Masking  # noqa: E402
from regard.tables.network.scratch import NPTPredictor, ScratchSettings, train_from_scratch  # noqa: E402

RESULT = Path(__file__).parent / "tables" / "rows.json"
TABLES = ("yacht", "boston_housing", "concrete")


ABLATIONS = {
    "whole": ScratchSettings(),
    "no_rows": ScratchSettings(between="columns"),
    "no_attributes": ScratchSettings(between="rows"),
    "no_feature_masking": ScratchSettings(masking=Masking(features=0.0)),
    "no_target_masking": ScratchSettings(masking=Masking(target=1.0)),
}


def measure(table: FileTable, seed: int, seconds: float) -> dict[str, float]:
    """The RMSE of each ablation on rows that were not learned from, and of `whole` beside corrupted rows."""
    known, asked = split(table, seed, None)
    columns = Columns.fit(as_frame(table.features.iloc[known]))
    cells = [columns.encode(as_frame(table.features.iloc[rows])) for rows in (known, asked)]
    values, questions = (torch.from_numpy(each.values) for each in cells)
    learned = EncodedTable(values, torch.from_numpy(cells[0].category), torch.from_numpy(table.target[known]), 0)
    found = {}
    for name, ablation in ABLATIONS.items():
        network = train_from_scratch(learned, seed, seconds, ablation)
        found[name] = _rmse(network, questions, table.target[asked])
        if name == "whole":
            found["corrupted"] = _rmse(corrupted(network, seed), questions, table.target[asked])
    return found


def corrupted(network: NPTPredictor, seed: int) -> NPTPredictor:
    """The same network beside known rows whose columns have been shuffled, each by itself."""
    generator = torch.Generator().manual_seed(seed)
    cells = network.table.cells
    order = torch.rand(cells.shape, generator=generator).argsort(0)
    return NPTPredictor(
        network.model, replace(network.table, cells=cells.gather(0, order)), network.context_rows, network.residuals
    )


def _rmse(network: NPTPredictor, questions: torch.Tensor, truth: np.ndarray) -> float:
    return number_scores(truth, network.predict(questions)[:, 0].numpy())["rmse"]


def summary(seeds: list[dict[str, float]]) -> dict[str, Any]:
    means = {name: statistics.mean(each[name] for each in seeds) for name in seeds[0]}
    return {"rmse": means, "lost": means["corrupted"] / means["whole"] - 1, "seeds": seeds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds TABLE.csv")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), help="tables whose target is a number")
    parser.add_argument("--seconds", type=float, default=60.0, help="of training, for each network")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    document: dict[str, Any] = {"seconds": options.seconds, "threads": torch.get_num_threads(), "tables": {}}
    for name in options.tables:
        table = read_table(options.data, name, "regression")
        document["tables"][name] = summary([measure(table, seed, options.seconds) for seed in range(options.seeds)])
        print(json.dumps({name: document["tables"][name]}), flush=True)
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
