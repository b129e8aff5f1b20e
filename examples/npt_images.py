"""Images as rows: the Non-Parametric Transformer over patches (Kossen et al., 2021, on CIFAR-10).

    python examples/npt_images.py                  handwritten digits, a minute or two
    python examples/npt_images.py --steps 50       faster and less accurate

The cells of a row are the patches of an image, as in a Vision Transformer, and its label. Images with a masked label
attend to images whose label is known.
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
        self.label = nn.Embedding(LABELS + 1, npt.width)  # the last index stands for a masked label
        self.position = nn.Embedding(PATCHES + 1, npt.width)
        self.rows = nn.ModuleList(npt.row_block() for _ in range(npt.layers))
        self.cells = nn.ModuleList(table_block(npt) for _ in range(npt.layers))
        self.norm = npt.final_norm()
        self.classify = Linear(npt.width, LABELS)
        init_weights(self, [*self.rows, *self.cells])

    def forward(self, images: Tensor, labels: Tensor, masked: Tensor) -> Tensor:
        """Label scores of all rows; the labels of `masked` rows are not shown."""
        visible = self.label(labels.masked_fill(masked, LABELS))
        x = torch.cat([self.patches(images), visible[:, None]], 1) + self.position.weight
        x = x[None]  # batch of one table, rows, cells, width
        for between_rows, between_cells in zip(self.rows, self.cells, strict=True):
            x = between_rows(x)
            x = between_cells(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.classify(self.norm(x)[0, :, -1])


def main(words: Sequence[str] | None = None) -> float:
    options = _options(words)
    torch.manual_seed(options.seed)
    digits = load_digits()
    order = np.random.default_rng(options.seed).permutation(len(digits.target))
    images = torch.tensor(digits.images[order], dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(digits.target[order])
    npt = NPT(categories=(0,) * PATCHES + (LABELS,), width=options.width, layers=2, heads=4, dropout=0.0)
    model, test = ImagesAsRows(npt), 300
    fit(model, images[test:], labels[test:], options.steps, options.rows)
    accuracy = evaluate(model, images, labels, test, options.rows)
    print(f"accuracy {accuracy:.1%} on {test} digits, with {options.rows} labelled digits as context")
    return accuracy


def fit(model: ImagesAsRows, images: Tensor, labels: Tensor, steps: int, rows: int) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps + 1)
    for step in range(steps):
        drawn = torch.randperm(len(images))[:rows]
        masked = torch.rand(len(drawn)) < 0.3
        scores = model(images[drawn], labels[drawn], masked)
        loss = F.cross_entropy(scores[masked], labels[drawn][masked])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss.item():.3f}")


@torch.no_grad()
def evaluate(model: ImagesAsRows, images: Tensor, labels: Tensor, test: int, rows: int) -> float:
    """Accuracy on test images with masked labels, and how much they attend to images with their label."""
    model.eval()
    table = torch.arange(test + rows)
    masked = table < test
    with listen(model) as heard:
        scores = model(images[table], labels[table], masked)
    weights = heard["rows.1.attend.pattern"][0].mean(0)[:test, test:]  # from test rows to labelled rows
    same_label = labels[:test, None] == labels[None, table[test:]]
    share = (weights * same_label).sum() / weights.sum()
    print(f"{share:.0%} of their attention to labelled images is on images with the same label; uniform attention: 10%")
    return (scores[:test].argmax(-1) == labels[:test]).float().mean().item()


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rows", type=int, default=192, help="images that attend to each other")
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
