"""Rows that are images: the Non-Parametric Transformer over patches (Kossen et al., 2021, on CIFAR-10).

    python examples/npt_images.py                  handwritten digits, a minute or two
    python examples/npt_images.py --steps 50       sooner, and worse

The cells of a row are the patches of an image, as the Vision Transformer cuts them, and its label is one cell more.
Images whose label is hidden look at the images whose label is known, and so are told what they are.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from regard import listen
from regard.models import NPT
from regard.parts.embed import Patches
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.table_block import table_block

SIDE, PATCH, LABELS = 8, 2, 10
PATCHES = (SIDE // PATCH) ** 2


class ImagesAsRows(nn.Module):
    """Patches from the Vision Transformer, blocks from the Non-Parametric one."""

    def __init__(self, npt: NPT):
        super().__init__()
        self.patches = Patches(SIDE, PATCH, 1, npt.width)
        self.label = nn.Embedding(LABELS + 1, npt.width)  # the last stands for one that is hidden
        self.place = nn.Embedding(PATCHES + 1, npt.width)
        self.rows = nn.ModuleList(npt.row_block() for _ in range(npt.layers))
        self.cells = nn.ModuleList(table_block(npt) for _ in range(npt.layers))
        self.norm = npt.final_norm()
        self.answer = Linear(npt.width, LABELS)
        init_weights(self, [*self.rows, *self.cells])

    def forward(self, images: Tensor, labels: Tensor, hidden: Tensor) -> Tensor:
        """Scores of the labels of all rows; where `hidden`, a row's own label is not shown to it."""
        shown = self.label(labels.masked_fill(hidden, LABELS))
        x = torch.cat([self.patches(images), shown[:, None]], 1) + self.place.weight
        x = x[None]  # one table: its rows, their cells, the width
        for between_rows, between_cells in zip(self.rows, self.cells, strict=True):
            x = between_rows(x)
            x = between_cells(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.answer(self.norm(x)[0, :, -1])


def main(words: Sequence[str] | None = None) -> float:
    options = _options(words)
    torch.manual_seed(options.seed)
    digits = load_digits()
    order = np.random.default_rng(options.seed).permutation(len(digits.target))
    images = torch.tensor(digits.images[order], dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(digits.target[order])
    npt = NPT(categories=(0,) * PATCHES + (LABELS,), width=options.width, layers=2, heads=4, dropout=0.0)
    model, test = ImagesAsRows(npt), 300
    learn(model, images[test:], labels[test:], options.steps, options.rows)
    accuracy = examine(model, images, labels, test, options.rows)
    print(f"{accuracy:.1%} of {test} digits are named, by looking at {options.rows} others")
    return accuracy


def learn(model: ImagesAsRows, images: Tensor, labels: Tensor, steps: int, rows: int) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps + 1)
    for step in range(steps):
        drawn = torch.randperm(len(images))[:rows]
        hidden = torch.rand(len(drawn)) < 0.3
        scores = model(images[drawn], labels[drawn], hidden)
        loss = F.cross_entropy(scores[hidden], labels[drawn][hidden])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss.item():.3f}")


@torch.no_grad()
def examine(model: ImagesAsRows, images: Tensor, labels: Tensor, test: int, rows: int) -> float:
    """Test images with hidden labels below known ones; and whom they looked at."""
    model.eval()
    table = torch.arange(test + rows)
    hidden = table < test
    with listen(model) as heard:
        scores = model(images[table], labels[table], hidden)
    looked = heard["rows.1.attend.pattern"][0].mean(0)[:test, test:]  # from test rows to known rows
    alike = labels[:test, None] == labels[None, table[test:]]
    share = (looked * alike).sum() / looked.sum()
    print(f"{share:.0%} of what they look at among known images has their label; by chance it would be 10%")
    return (scores[:test].argmax(-1) == labels[:test]).float().mean().item()


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rows", type=int, default=192, help="images that look at each other")
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
