"""Tree positions of tokens: each token takes the node of its word, special tokens take the root."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.trees.conllu import Parse
from regard.parts.positions import Positions, tree_depth, tree_distance
from regard.text import Tokenizer


@dataclass(frozen=True)
class TokenTree:
    """The tree over the tokens of one text."""

    nodes: tuple[int, ...]  # of each token
    depth: Int[Tensor, " node"]
    steps: Int[Tensor, "node node"]  # between two nodes, without sign

    def first(self, tokens: int) -> "TokenTree":
        return replace(self, nodes=self.nodes[:tokens])

    def framed(self, before: int, after: int) -> "TokenTree":
        """With special tokens before and after the text, at the root."""
        root = int(self.depth.argmin())
        return replace(self, nodes=(*[root] * before, *self.nodes, *[root] * after))


def token_trees(texts: Sequence[str], parses: Sequence[Parse], tokenizer: Tokenizer) -> list[TokenTree]:
    """For texts that match their trees. A token that covers several words belongs to the first."""
    return [
        _token_tree(parse, parse.nodes_under(text), offsets)
        for text, parse, offsets in zip(texts, parses, tokenizer.offsets(texts), strict=True)
    ]


def _token_tree(parse: Parse, nodes: list[int], offsets: list[tuple[int, int]]) -> TokenTree:
    return TokenTree(
        # Some tokenizers put tokens without a character after the last one.
        tuple(nodes[min(first, len(nodes) - 1)] for first, _ in offsets),
        torch.tensor(tree_depth(parse.heads)),
        torch.tensor(tree_distance(parse.heads), dtype=torch.int16).abs(),  # small: kept for every sentence
    )


def pad_trees(trees: Sequence[TokenTree]) -> Positions:
    """Positions of a batch; padding is at the root."""
    rows, length = len(trees), max(len(tree.nodes) for tree in trees)
    depth = torch.zeros(rows, length, dtype=torch.long)
    steps = torch.zeros(rows, length, length, dtype=torch.long)
    for row, tree in enumerate(trees):
        nodes = torch.tensor(tree.nodes)
        depth[row, : len(nodes)] = tree.depth[nodes]
        steps[row, : len(nodes), : len(nodes)] = tree.steps[nodes][:, nodes]
    index = torch.arange(length)
    # Tokens are in the order of their words, so the sign follows from their own order.
    return Positions(index.expand(rows, -1), depth, steps * (index - index[:, None]).sign())
