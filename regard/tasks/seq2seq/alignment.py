"""Alignment: which word of the source each word of the target attends to."""

import torch
from torch import nn

from regard.core.machine import device_of
from regard.data.text.pairs import source_trees
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.parts.taps import Heard, listen
from regard.text import Tokenizer
from regard.train.evaluate import evaluation_mode


def attention(
    model: nn.Module, tokenizer: Tokenizer, source: str, target: str, tree: Parse | None = None
) -> tuple[Heard, list[str], list[str]]:
    """Every attention pattern while the model reads `source` and writes `target`, with the tokens of both axes."""
    [tokens], [answer], device = tokenizer.encode([source]), tokenizer.targets.encode([target]), device_of(model)
    read = torch.tensor([[*tokens, tokenizer.end]], device=device)
    written = torch.tensor([[tokenizer.start, *answer]], device=device)
    trees = None if tree is None else source_trees([source], [tree], tokenizer)
    positions = () if trees is None else (pad_trees(trees).to(device),)
    with evaluation_mode(model), torch.inference_mode(), listen(model) as heard:
        model(read, written, None, *positions)
    return heard, [*tokenizer.pieces(tokens), "·"], [*tokenizer.targets.pieces(answer), "·"]


def align(
    model: nn.Module, tokenizer: Tokenizer, source: str, target: str, tree: Parse | None = None
) -> list[tuple[int, int]] | None:
    """The word of the source with the largest cross-attention weight for each word of the target, as pairs of numbers.

    Weights are summed over layers, heads and the tokens of a word. None: the model has no attention to the source.
    """
    heard = attention(model, tokenizer, source, target, tree)[0]
    weights_of = [pattern[0].sum(0) for name, pattern in heard.items() if ".cross." in name]
    if not weights_of:
        return None
    # The row that predicts a token stands one before it, so rows and target tokens have the same numbers.
    weights = torch.stack(weights_of).sum(0)[:-1, :-1].float().cpu()
    table = torch.zeros(len(target.split()), len(source.split()))
    if not table.numel():  # a blank text may have tokens, but no words
        return []
    of_target = torch.tensor(_words_of(tokenizer.targets, target))
    of_source = torch.tensor(_words_of(tokenizer, source))
    table.index_put_((of_target[:, None], of_source), weights, accumulate=True)
    return [(read, word) for word, read in enumerate(table.argmax(1).tolist())]


def _words_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """The number of the word that each token belongs to; words are separated by white space."""
    words, number, inside = [], -1, False
    for character in text:
        number += not character.isspace() and not inside
        inside = not character.isspace()
        words.append(max(number, 0))
    return [words[min(max(end - 1, 0), len(words) - 1)] for _, end in tokenizer.offsets([text])[0]]
