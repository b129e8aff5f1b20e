"""DeiT, ViT-MSN and DINOv2: Vision Transformers with more tokens, layer scale, or a label from two states."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.interop.families.vit import CHANNELS, _side
from regard.interop.families.vit import config as vit_config
from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, LAYERS, LENGTH, WIDTH, Settings
from regard.interop.table import FIRST, HALVES, Change, Row, Table, Tensors, both, fused, patches
from regard.models.vit import ViT
from regard.parts.feed import SwiGLU
from regard.parts.norms import LayerNorm
from regard.parts.pool import ClassAndMean, ClassToken
from regard.parts.residual_scale import LayerScale


def deit(file: Settings, weights: Weights, architecture: str) -> ViT:
    """The token of the teacher is a register: the label is read from the class token alone."""
    return replace(vit_config(file, weights, architecture), pool=ClassToken(registers=1))


def dinov2(file: Settings, weights: Weights, architecture: str) -> ViT:
    file.read_keys |= BACKBONE
    width = file.integer("hidden_size", 768, WIDTH)
    times = file.integer("mlp_ratio", 4, WIDTH)
    gated = file.flag("use_swiglu_ffn", False)
    plain = file.choice("hidden_act", PLAIN, "gelu")
    feed = SwiGLU((int(width * times * 2 / 3) + 7) // 8 * 8) if gated else plain(width * times)
    image, patch = _side(file, "image_size", 224), _side(file, "patch_size", 14)
    if image % patch:
        raise file.error("image_size", image, f"is not divisible by patch_size {patch}")
    return ViT(
        labels=len(file.labels()),
        image=image,
        patch=patch,
        channels=file.integer("num_channels", 3, CHANNELS),
        width=width,
        layers=file.integer("num_hidden_layers", 12, LAYERS),
        heads=file.integer("num_attention_heads", 12, HEADS),
        feed=feed,
        norm=LayerNorm(file.eps("layer_norm_eps", 1e-6)),
        dropout=file.dropout("hidden_dropout_prob", 0.0),
        query_bias=None if file.flag("qkv_bias", True) else False,
        residual_scale=LayerScale(file.number("layerscale_value", 1.0, low=1e-9, high=1e9)),
        pool=ClassAndMean(file.integer("num_register_tokens", 0, LENGTH, low=0)),
    )


BACKBONE = {"drop_path_rate", "apply_layernorm", "reshape_hidden_states", "use_mask_token", "stage_names",
            "out_features", "out_indices"}  # fmt: skip
LAYER = {
    "attend.query": "attention.attention.query",
    "attend.key": "attention.attention.key",
    "attend.value": "attention.attention.value",
    "attend.out": "attention.output.dense",
}
VIT = {"attend_norm": "layernorm_before", "feed_norm": "layernorm_after", "feed.up": "intermediate.dense",
       "feed.down": "output.dense"}  # fmt: skip
DINO = {"attend_norm": "norm1", "feed_norm": "norm2", "feed.up": "mlp.fc1", "feed.down": "mlp.fc2"}


def _table(prefix: str, names: dict[str, str], config: ViT, places: Change = FIRST, layer: str | None = None) -> Table:
    projection, theirs = f"{prefix}embeddings.patch_embeddings.projection", layer or f"{prefix}encoder.layer.{{}}"
    rows = [row for ours, name in names.items() for row in both(f"{theirs}.{name}", f"encoder.{{}}.{ours}")]
    return Table(
        rows=[
            Row(f"{prefix}embeddings.cls_token", ("pool.token",)),
            Row(f"{prefix}embeddings.position_embeddings", ("encoder.position.table.weight",), places),
            Row(f"{projection}.weight", ("patches.project.weight",), patches(config.channels, config.patch)),
            Row(f"{projection}.bias", ("patches.project.bias",)),
            *rows,
            *both(f"{prefix}layernorm", "encoder.norm"),
            *both("classifier", "label"),
        ],
        unused=(*(f"{prefix}pooler.dense.{kind}" for kind in ("weight", "bias")), f"{prefix}embeddings.mask_token"),
    )


def deit_table(config: ViT) -> Table:
    table = _table("deit.", LAYER | VIT, config)
    return replace(table, rows=[*table.rows, Row("deit.embeddings.distillation_token", ("pool.registers",))])


def msn_table(config: ViT) -> Table:
    return _table("vit.", LAYER | VIT, config)


def dinov2_table(prefix: str) -> Any:
    def table(config: ViT) -> Table:
        assert isinstance(config.pool, ClassToken)
        registers = config.pool.registers
        base = _table(prefix, LAYER | DINO, config, _unplaced(registers) if registers else FIRST)
        layer, ours = f"{prefix}encoder.layer.{{}}", "encoder.{}"
        gated = [
            *fused(f"{layer}.mlp.weights_in", (f"{ours}.feed.gate", f"{ours}.feed.up"), HALVES),
            *both(f"{layer}.mlp.weights_out", f"{ours}.feed.down"),
        ]
        own = [row for row in base.rows if not row.theirs.startswith(f"{layer}.mlp.")] + gated
        more = [
            Row(f"{layer}.layer_scale1.lambda1", (f"{ours}.attend_scale.weight",)),
            Row(f"{layer}.layer_scale2.lambda1", (f"{ours}.feed_scale.weight",)),
            Row(f"{prefix}embeddings.register_tokens", ("pool.registers",)),
        ]
        return replace(base, rows=(own if isinstance(config.feed, SwiGLU) else base.rows) + more)

    return table


def _unplaced(registers: int) -> Change:
    """Their registers enter after the positions were added, so that ours have a position of zeros."""

    def ours(t: Tensor) -> Tensors:
        zeros = t.new_zeros(registers, t.shape[-1])
        return (torch.cat([t[0, :1], zeros, t[0, 1:]]),)

    return Change(ours, lambda parts: torch.cat([parts[0][:1], parts[0][1 + registers :]])[None])


def _family(model_type: str, name: str, prefix: str, config: Any, table: Any, **defaults: Any) -> Family:
    return Family(
        model_type=model_type,
        architectures=(f"{name}ForImageClassification",),
        config=config,
        table=table,
        prefix=prefix,
        heads=("classifier.",),
        rename=_msn_names if model_type == "vit_msn" else str,
        defaults=defaults,
    )


def _msn_names(name: str) -> str:
    """Newer files keep the layers outside of the trunk."""
    return f"vit.{name}" if name.startswith("encoder.layer.") else name


FAMILIES = (
    _family("deit", "DeiT", "deit.", deit, deit_table),
    _family("vit_msn", "ViTMSN", "vit.", vit_config, msn_table, layer_norm_eps=1e-6),
    _family("dinov2", "Dinov2", "dinov2.", dinov2, dinov2_table("dinov2.")),
    _family(
        "dinov2_with_registers", "Dinov2WithRegisters", "dinov2_with_registers.", dinov2,
        dinov2_table("dinov2_with_registers."), patch_size=16, num_register_tokens=4,
    ),
)  # fmt: skip
