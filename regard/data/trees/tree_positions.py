"""Where tokens stand in a tree: each piece of a word at the word's node, special tokens at the root."""

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
    """The tree under the tokens of one text."""

    nodes: tuple[int, ...]  # of each token
    depth: Int[Tensor, " node"]
    steps: Int[Tensor, "node node"]  # between nodes, without the sign that says which way

    def first(self, tokens: int) -> "TokenTree":
        return replace(self, nodes=self.nodes[:tokens])

    def framed(self, before: int, after: int) -> "TokenTree":
        """With so many special tokens around the text: they speak for all of it, and so stand at the root."""
        root = int(self.depth.argmin())
        return replace(self, nodes=(*[root] * before, *self.nodes, *[root] * after))


def token_trees(texts: Sequence[str], parses: Sequence[Parse], tokenizer: Tokenizer) -> list[TokenTree]:
    """For texts that match their trees. A piece across several words belongs to the first of them."""
    return [
        _token_tree(parse, parse.nodes_under(text), spans)
        for text, parse, spans in zip(texts, parses, tokenizer.spans(texts), strict=True)
    ]


def _token_tree(parse: Parse, nodes: list[int], spans: list[tuple[int, int]]) -> TokenTree:
    return TokenTree(
        # Some tokenizers place what stands for no character behind the last one.
        tuple(nodes[min(first, len(nodes) - 1)] for first, _ in spans),
        torch.tensor(tree_depth(parse.heads)),
        torch.tensor(tree_distance(parse.heads), dtype=torch.int16).abs(),  # kept for every sentence of a corpus
    )


def pad_trees(trees: Sequence[TokenTree]) -> Positions:
    """Positions of a batch; padding, which nobody looks at, stands at the root."""
    rows, length = len(trees), max(len(tree.nodes) for tree in trees)
    depth = torch.zeros(rows, length, dtype=torch.long)
    steps = torch.zeros(rows, length, length, dtype=torch.long)
    for row, tree in enumerate(trees):
        nodes = torch.tensor(tree.nodes)
        depth[row, : len(nodes)] = tree.depth[nodes]
        steps[row, : len(nodes), : len(nodes)] = tree.steps[nodes][:, nodes]
    index = torch.arange(length)
    # Tokens stand in the order of their words, so the way from one to the other is known from their own order.
    return Positions(index.expand(rows, -1), depth, steps * (index - index[:, None]).sign())
