"""The architectures of llama.cpp that a GPT of regard can be: Llama, Qwen2, Qwen3 and GPT-2, by its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import ConfigError
from regard.models import GPT
from regard.parts import Full, LayerNorm, Learned, PreNorm, RMSNorm, Rotary, SwiGLU
from regard.parts.feed import TanhGELU
from regard.parts.positions.rope_scaling import LinearScaling, Llama3Scaling

HOW = "`regard train lm --recipe portable` makes a model that has one"
PARTS = {  # ours to theirs, inside a block
    "attend_norm": "attn_norm",
    "attend.query": "attn_q",
    "attend.key": "attn_k",
    "attend.value": "attn_v",
    "attend.out": "attn_output",
    "attend.query_norm": "attn_q_norm",
    "attend.key_norm": "attn_k_norm",
    "feed_norm": "ffn_norm",
    "feed.gate": "ffn_gate",
    "feed.up": "ffn_up",
    "feed.down": "ffn_down",
}
WRITTEN = {  # settings that a shape writes or checks; all others must have their default
    *("vocab", "width", "layers", "heads", "kv_heads", "head_size", "tied", "dropout", "init", "attention", "wiring"),
    *("position", "norm", "feed", "query_norm", "bias", "query_bias", "feed_bias"),
}
WHOLE = {
    "embedding.table.weight": "token_embd.weight",
    "embedding.head": "output.weight",
    "decoder.norm.weight": "output_norm.weight",
    "decoder.norm.bias": "output_norm.bias",
    "decoder.position.table.weight": "position_embd.weight",
}


@dataclass(frozen=True)
class Shape:
    """One architecture, and how its weights and settings are written."""

    architecture: str
    interleaved: bool = False  # whether rotary positions turn neighbours, not halves of a head
    fused: bool = False  # whether query, key and value are one matrix

    def write_settings(self, writer: Any, config: GPT, length: int) -> None:
        size = config.head_size or config.width // config.heads
        with torch.device("meta"):
            hidden = config.feed.build(config.width, False).up.out_features  # type: ignore[union-attr]
        writer.add_vocab_size(config.vocab)
        writer.add_context_length(length)
        writer.add_embedding_length(config.width)
        writer.add_block_count(config.layers)
        writer.add_feed_forward_length(hidden)
        writer.add_head_count(config.heads)
        writer.add_head_count_kv(config.kv_heads or config.heads)
        writer.add_key_length(size)
        writer.add_value_length(size)
        if isinstance(config.norm, RMSNorm):
            writer.add_layer_norm_rms_eps(config.norm.eps)
        elif isinstance(config.norm, LayerNorm):
            writer.add_layer_norm_eps(config.norm.eps)
        if isinstance(config.position, Rotary):
            writer.add_rope_dimension_count(size)
            writer.add_rope_freq_base(config.position.base)
            if isinstance(config.position.scaling, LinearScaling):
                from gguf import RopeScalingType

                writer.add_rope_scaling_type(RopeScalingType.LINEAR)
                writer.add_rope_scaling_factor(config.position.scaling.factor)

    def tensors(self, config: GPT, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Weights under their names."""
        named = {WHOLE[name]: tensor for name, tensor in ours.items() if name in WHOLE}
        for layer in range(config.layers):
            block = {part: _of(ours, f"decoder.{layer}.{part}") for part in PARTS}
            if self.interleaved:
                for part, heads in (("query", config.heads), ("key", config.kv_heads or config.heads)):
                    block[f"attend.{part}"] = {k: _interleaved(x, heads) for k, x in block[f"attend.{part}"].items()}
            if self.fused:
                parts = [block.pop(f"attend.{part}") for part in ("query", "key", "value")]
                fused = {kind: torch.cat([part[kind] for part in parts]) for kind in parts[0]}
                named |= {f"blk.{layer}.attn_qkv.{kind}": tensor for kind, tensor in fused.items()}
            for part, kinds in block.items():
                named |= {f"blk.{layer}.{PARTS[part]}.{kind}": tensor for kind, tensor in kinds.items()}
        scaling = config.position.scaling if isinstance(config.position, Rotary) else None
        if isinstance(scaling, Llama3Scaling):
            size = config.head_size or config.width // config.heads
            assert isinstance(config.position, Rotary)
            rates = 1 / config.position.base ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
            named["rope_freqs.weight"] = rates / scaling.slow(rates, length=0)
        return named


def _of(ours: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {kind: ours[f"{part}.{kind}"] for kind in ("weight", "bias") if f"{part}.{kind}" in ours}


def _interleaved(tensor: Tensor, heads: int) -> Tensor:
    """Halves of each head as neighbours: 0, n/2, 1, n/2 + 1, …"""
    halves = tensor.unflatten(0, (heads, 2, -1))
    return halves.transpose(1, 2).flatten(0, 2)


def shape_of(config: GPT) -> Shape:
    """The architecture of a model; a part that none has is named."""
    _expect(config, **{field.name: field.default for field in fields(config) if field.name not in WRITTEN})
    _expect(config, attention=Full(), wiring=PreNorm())
    if isinstance(config.position, Learned):
        _expect(config, norm=LayerNorm, feed=TanhGELU, query_norm=None, bias=True, query_bias=(None, True))
        _expect(config, feed_bias=(None, True), kv_heads=(None, config.heads))
        return Shape("gpt2", fused=True)
    _expect(config, position=Rotary, norm=RMSNorm, feed=SwiGLU, bias=False, feed_bias=(None, False))
    rotary = config.position
    assert isinstance(rotary, Rotary)
    if rotary.fraction != 1 or not isinstance(rotary.scaling, LinearScaling | Llama3Scaling | None):
        raise ConfigError(f"model.position: {rotary} has no counterpart in GGUF; {HOW}")
    if config.query_norm is not None:
        _expect(config, query_norm=config.norm, query_bias=(None, False))
        return Shape("qwen3")
    return Shape("qwen2") if config.query_bias else Shape("llama", interleaved=True)


def _expect(config: GPT, **wanted: Any) -> None:
    for part, want in wanted.items():
        have = getattr(config, part)
        fits = (
            type(have) is want if isinstance(want, type) else have in want if isinstance(want, tuple) else have == want
        )
        if not fits:
            raise ConfigError(f"model.{part}: {have} has no counterpart in GGUF; {HOW}")
