"""Encoder and decoder as two graphs: the source is read once, with what cross-attention needs of it; then steps."""

import torch
from torch import Tensor, nn

from regard.export.graphs.base import SIZES, Graph, Input, tokens
from regard.export.graphs.caches import GivenCache, carried_inputs, past_inputs, present_outputs
from regard.export.graphs.language import cache_shape, carry_parts
from regard.models.rnn import RNNModel, RNNState
from regard.models.transformer import TransformerModel
from regard.parts.multihead import MultiHead

ENCODER, DECODER = "encoder_model", "decoder_with_past_model"


class EncodesSource(nn.Module):
    """The states of the source, and the keys and values that every layer of the decoder looks up."""

    def __init__(self, model: TransformerModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, attention_mask = tensors
        memory = self.model.encode(input_ids, attention_mask.bool())
        crosses = [block.cross for block in self.model.decoder.blocks]
        looked_up = (cross.keys_and_values(memory) for cross in crosses if isinstance(cross, MultiHead))
        return memory, *(each for pair in looked_up for each in pair)


class WritesTarget(nn.Module):
    def __init__(self, model: TransformerModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, attention_mask, *past = tensors
        half = len(past) // 2
        cache = GivenCache(past[:half], past[half:])
        # The memory itself is not looked at, as its keys and values are in the cache: any states of its shape do.
        memory = past[half][:, 0, :, :1].expand(-1, -1, self.model.config.width)
        logits = self.model.decode(input_ids, memory, attention_mask.bool(), cache)
        return logits, *cache.present


class CopiesOrWrites(nn.Module):
    """A pointer needs the tokens of the source, and its states as the encoder gave them."""

    def __init__(self, model: TransformerModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, attention_mask, source, memory, *past = tensors
        half = len(past) // 2
        cache = GivenCache(past[:half], past[half:])
        logits = self.model.decode(input_ids, memory, attention_mask.bool(), cache, source)
        return logits, *cache.present


def transformer_graphs(model: TransformerModel) -> list[Graph]:
    (heads, size), layers = cache_shape(model.decoder), len(model.decoder.blocks)
    writes = WritesTarget(model) if model.pointer is None else CopiesOrWrites(model)
    source = {"input_ids": tokens("batch", "source"), "attention_mask": tokens("batch", "source")}
    outputs = ["last_hidden_state", *present_outputs(layers, "encoder.")]
    step = {
        "input_ids": tokens("batch", "sequence"),
        "encoder_attention_mask": tokens("batch", "source"),
        **({} if model.pointer is None else _read(model.config.width)),
        **past_inputs(layers, heads, size, "decoder."),
        **past_inputs(layers, heads, size, "encoder.", "source"),
    }
    return [
        Graph(ENCODER, EncodesSource(model), source, outputs),
        Graph(DECODER, writes, step, ["logits", *present_outputs(layers, "decoder.")]),
    ]


def _read(width: int) -> dict[str, Input]:
    """What a pointer looks at."""
    memory = Input(torch.zeros(SIZES["batch"], SIZES["source"], width), {0: "batch", 1: "source"})
    return {"encoder_input_ids": tokens("batch", "source"), "encoder_hidden_states": memory}


class RNNEncodes(nn.Module):
    def __init__(self, model: RNNModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, attention_mask = tensors
        state = self.model.read(input_ids, attention_mask.bool())
        return state.memory, *state.carry


class RNNWrites(nn.Module):
    def __init__(self, model: RNNModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        input_ids, *rest = tensors
        parts = len(carry_parts(self.model.decoder))
        carry, memory = tuple(rest[:parts]), rest[parts:]
        state = RNNState(memory[0], memory[1].bool(), carry) if memory else RNNState(input_ids[..., None], None, carry)
        logits, state = self.model.step(input_ids, state)
        return logits, *state.carry


def rnn_graphs(model: RNNModel) -> list[Graph]:
    config, parts = model.config, carry_parts(model.decoder)
    source = {"input_ids": tokens("batch", "source"), "attention_mask": tokens("batch", "source")}
    step = {"input_ids": tokens("batch", "sequence"), **carried_inputs(parts, config.layers, config.width)}
    if config.attention is not None:
        step |= {
            "encoder_hidden_states": _read(config.width)["encoder_hidden_states"],
            "encoder_attention_mask": tokens("batch", "source"),
        }
    present = [f"present.{part}" for part in parts]
    return [
        Graph(ENCODER, RNNEncodes(model), source, ["last_hidden_state", *present]),
        Graph(DECODER, RNNWrites(model), step, ["logits", *present]),
    ]
