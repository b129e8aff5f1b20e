"""Do rows really look at each other? The lookup experiment of the Non-Parametric Transformer (Kossen et al., 2021).

    python benchmarks/lookup.py --data DIR                       four variants, a few minutes each
    python benchmarks/lookup.py --data DIR --variants original --minutes 8

Every batch holds rows whose target is hidden and, in another order, their duplicates with the target shown. Whoever
looks at the duplicate knows the answer. Measured on rows that training has not seen:

- the correlation of predictions with the truth, beside that of a ridge regression that cannot look;
- intervention: the duplicate's target is changed; the prediction must follow, with nothing trained again;
- which head looks at the duplicate, and how much of its attention lands there.

Variants: `noisy` replaces three columns of both copies with noise, so that nearest neighbours no longer find the
duplicate; `add_one` shows the target of the duplicate plus one deviation, so that copying is not enough; `both`.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tabular.files import read_table
from torch import Tensor, nn

from regard.core import tensors
from regard.core.batches import Batch
from regard.core.machine import seed_for
from regard.models import NPT
from regard.parts import listen
from regard.store import WEIGHTS, RunFolder
from regard.tables.network.masked_cells import CellBatch
from regard.tasks import MaskedCells
from regard.train import WSD, AdamW, Loop, Training

RESULT = Path(__file__).parent / "tables" / "lookup.json"
ROWS = 96  # of a batch, each with its duplicate
NOISY_COLUMNS = 3


@dataclass(frozen=True)
class Variant:
    noisy: bool = False
    added: float = 0.0


VARIANTS = {
    "original": Variant(),
    "noisy": Variant(noisy=True),
    "add_one": Variant(added=1.0),
    "both": Variant(noisy=True, added=1.0),
}


@dataclass(frozen=True)
class Duplicates:
    """Batches of rows beside their duplicates: the first half is asked, the second shows what it knows."""

    rows: Tensor  # standardised, the target last
    variant: Variant
    seed: int = 0
    fixed_shape = True
    steps_per_epoch = 1000

    def batch(self, step: int) -> CellBatch:
        chance = torch.Generator().manual_seed(seed_for("duplicates", self.seed, step))
        rows = self.rows[torch.randint(len(self.rows), (ROWS,), generator=chance)].clone()
        if self.variant.noisy:
            noise = 1 + torch.randn(ROWS, NOISY_COLUMNS, generator=chance)
            rows[:, -1 - NOISY_COLUMNS : -1] = noise
        return _beside(rows, duplicates_of(rows, self.variant), torch.randperm(ROWS, generator=chance))

    def once(self) -> Iterator[Batch]:
        for step in range(8):
            yield self.batch(-1 - step)


def duplicates_of(rows: Tensor, variant: Variant) -> Tensor:
    copies = rows.clone()
    copies[:, -1] += variant.added
    return copies


def _beside(rows: Tensor, copies: Tensor, order: Tensor) -> CellBatch:
    cells = torch.cat([rows, copies[order]])[None]
    asked = torch.zeros_like(cells, dtype=torch.bool)
    asked[0, : len(rows), -1] = True
    return CellBatch(cells.masked_fill(asked, 0.0), asked, asked, cells, features=0.0)


def learn(rows: Tensor, valid: Tensor, variant: Variant, minutes: float) -> nn.Module:
    torch.manual_seed(0)
    model = NPT(categories=(0,) * rows.shape[1], width=64, layers=3, heads=4, dropout=0.0).build()
    training = Training(
        minutes=minutes,
        optimiser=AdamW(lr=1e-3),
        schedule=WSD(warmup=100, stable=0.4),
        eval_every=200,
        ema=0.99,
    )
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place) / "run").open() as folder:
        Loop(model, MaskedCells(), Duplicates(rows, variant), training, folder, Duplicates(valid, variant)).run()
        model.load_state_dict(tensors.load(folder.path / WEIGHTS))
    return model.eval()


@torch.inference_mode()
def measure(model: nn.Module, rows: Tensor, variant: Variant, spread: float) -> dict[str, Any]:
    """Rows that were not trained on, each beside its duplicate; then with another target on the duplicate."""
    predictions, truth, moved, put, landed = [], [], [], [], []
    for number in range(20):
        chance = torch.Generator().manual_seed(number)
        some = rows[torch.randperm(len(rows), generator=chance)[:ROWS]].clone()
        if variant.noisy:
            some[:, -1 - NOISY_COLUMNS : -1] = 1 + torch.randn(ROWS, NOISY_COLUMNS, generator=chance)
        order = torch.randperm(ROWS, generator=chance)
        batch = _beside(some, duplicates_of(some, variant), order)
        with listen(model) as heard:
            predictions.append(model(batch.cells, batch.masked)[-1][0, :ROWS, 0])
        truth.append(some[:, -1])
        landed.append(_on_duplicate(heard, order))
        other = some.clone()
        other[:, -1] = some[torch.randperm(ROWS, generator=chance), -1]
        changed = _beside(some, duplicates_of(other, variant), order)
        moved.append(model(changed.cells, changed.masked)[-1][0, :ROWS, 0])
        put.append(other[:, -1])
    predictions_, truth_, moved_, put_ = (torch.cat(parts) for parts in (predictions, truth, moved, put))
    best = max(landed[0], key=lambda name: sum(each[name] for each in landed))
    return {
        "pearson": _pearson(predictions_, truth_),
        "rmse": (predictions_ - truth_).square().mean().sqrt().item() * spread,
        "intervention_pearson": _pearson(moved_, put_),
        "head": best,
        "attention_on_duplicate": sum(each[best] for each in landed) / len(landed),
    }


def _on_duplicate(heard: dict[str, Tensor], order: Tensor) -> dict[str, float]:
    """The mean weight that each head between rows lays on a row's duplicate."""
    place = ROWS + order.argsort()
    shares = {}
    for name, pattern in heard.items():
        if name.startswith("rows."):
            for head, weights in enumerate(pattern[0]):
                shares[f"{name} {head}"] = weights[torch.arange(ROWS), place].mean().item()
    return shares


def _pearson(one: Tensor, other: Tensor) -> float:
    return torch.corrcoef(torch.stack([one, other]))[0, 1].item()


def ridge(train: Tensor, test: Tensor) -> float:
    from sklearn.linear_model import Ridge

    model = Ridge().fit(train[:, :-1].numpy(), train[:, -1].numpy())
    return _pearson(torch.from_numpy(model.predict(test[:, :-1].numpy())), test[:, -1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds TABLE.csv")
    parser.add_argument("--table", default="protein", help="a table of numbers")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--minutes", type=float, default=6.0, help="of training, for each variant")
    options = parser.parse_args()
    table = read_table(options.data, options.table, "regression")
    cells = torch.tensor(table.features.assign(target=table.target).to_numpy(float))
    cells = cells[torch.randperm(len(cells), generator=torch.Generator().manual_seed(0))]
    cut, last = int(0.7 * len(cells)), int(0.8 * len(cells))
    center, spread = cells[:cut].mean(0), cells[:cut].std(0)
    train, valid, test = (((cells - center) / spread).float()).split([cut, last - cut, len(cells) - last])
    result: dict[str, Any] = {"table": options.table, "ridge_pearson": ridge(train, test), "variants": {}}
    if RESULT.exists() and (before := json.loads(RESULT.read_text()))["table"] == options.table:
        result["variants"] = before["variants"]
    for name in options.variants:
        model = learn(train, valid, VARIANTS[name], options.minutes)
        result["variants"][name] = {
            "minutes": options.minutes,
            "threads": torch.get_num_threads(),
            **measure(model, test, VARIANTS[name], spread[-1].item()),
        }
        print(json.dumps({name: result["variants"][name]}), flush=True)
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
