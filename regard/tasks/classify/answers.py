"""The scores of the network for each text (one at least), texts of similar length together."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.machine import device_of
from regard.data.text.labelled import encode_texts, encode_trees
from regard.data.text.pairs import pad
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.text import Tokenizer

ROWS = 128  # texts in a batch


def text_scores(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    max_length: int,
    trees: Sequence[Parse] | None = None,
) -> Float[Tensor, "text label"]:
    model.eval()
    device = device_of(model)
    rows = encode_texts(texts, tokenizer, max_length)
    token_trees = encode_trees(texts, trees, tokenizer, max_length)
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    results: list[Tensor] = []
    with torch.inference_mode():
        for first in range(0, len(order), ROWS):
            some = order[first : first + ROWS]
            tokens, valid = pad([rows[row] for row in some], tokenizer.pad)
            positions = None if token_trees is None else pad_trees([token_trees[row] for row in some]).to(device)
            results.append(model(tokens.to(device), valid.to(device), positions=positions).float().cpu())
    return torch.cat(results)[torch.tensor(order).argsort()]
