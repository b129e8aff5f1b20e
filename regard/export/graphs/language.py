"""Language models as graphs: tokens and the caches of what came before, to scores and the caches with these tokens."""

import torch
from torch import Tensor, nn

from regard.export.graphs.base import Graph, tokens
from regard.export.graphs.caches import GivenCache, carried_inputs, past_inputs, present_outputs
from regard.models.gpt import GPTModel
from regard.models.rnn_lm import RNNLMModel, RNNLMState
from regard.parts.masks import Allowed, Index, Mask, Padding
from regard.parts.multihead import MultiHead
from regard.parts.positions import Positions


class Itself(Mask):
    """Look at yourself: padding may, so that a softmax always has something to weigh."""

    def at(self, query: Index, key: Index) -> Allowed:
        return (key == query)[None]


class CachedGPT(nn.Module):
    """A GPT whose caches are tensors.

    A bigram embedding needs the token before the first new one, which no runtime passes on. So tokens are stored in one
    more pair of caches, which has the shape of the others.
    """

    def __init__(self, model: GPTModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, attention_mask, position_ids, *past = tensors
        token_caches = [] if self.model.bigram is None else [past.pop(), past.pop()]
        last = None
        if token_caches:
            before = token_caches[1][:, 0, :, 0].long()
            last = torch.cat([torch.zeros_like(input_ids[:, :1]), before], 1)[:, -1:]
        cache = GivenCache(past, last=last)
        mask = Padding(attention_mask.bool()) | Itself()
        logits = self.model(input_ids, mask, Positions(position_ids), cache)
        new = [torch.cat([each, _as_keys(input_ids, each)], 2) for each in reversed(token_caches)]
        return logits, *cache.present, *new


def _as_keys(input_ids: Tensor, like: Tensor) -> Tensor:
    """Tokens as numbers of a cache, which are exact up to 2**24."""
    return input_ids[:, None, :, None].to(like.dtype).expand(-1, like.shape[1], -1, like.shape[3])


def gpt_graph(model: GPTModel) -> Graph:
    heads, size = cache_shape(model)
    layers = cached_layers(model)
    inputs = {
        "input_ids": tokens("batch", "sequence"),
        "attention_mask": tokens("batch", "total"),
        "position_ids": tokens("batch", "sequence"),
        **past_inputs(layers, heads, size),
    }
    return Graph("model", CachedGPT(model), inputs, ["logits", *present_outputs(layers)])


def cached_layers(model: GPTModel) -> int:
    """Pairs of caches: one a layer, and one that keeps tokens for a bigram embedding."""
    return model.config.layers + (model.bigram is not None)


def cache_shape(model: nn.Module) -> tuple[int, int]:
    """Heads of keys and values, and their size."""
    attend = next(part for part in model.modules() if isinstance(part, MultiHead))
    return attend.key.out_features // attend.head_size, attend.head_size


class CarriedRNN(nn.Module):
    def __init__(self, model: RNNLMModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        logits, state = self.model.step(tensors[0], RNNLMState(tensors[1:]))
        assert state.carry is not None
        return logits, *state.carry


def rnn_lm_graph(model: RNNLMModel) -> Graph:
    parts, layers, width = carry_parts(model.decoder), model.config.layers, model.config.width
    inputs = {"input_ids": tokens("batch", "sequence"), **carried_inputs(parts, layers, width)}
    return Graph("model", CarriedRNN(model), inputs, ["logits", *(f"present.{part}" for part in parts)])


def carry_parts(recurrent: nn.Module) -> list[str]:
    """What a recurrent network carries along."""
    return ["hidden", "cell"] if any(isinstance(part, nn.LSTM) for part in recurrent.modules()) else ["hidden"]
