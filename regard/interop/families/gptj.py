"""GPT-J and CodeGen: branches side by side through one norm, rotary positions that turn neighbours (2021)."""

import torch
from torch import Tensor

from regard.interop.families.partly_rotary import neighbours
from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Change, Row, Table, Tensors, both
from regard.models.gpt import GPT
from regard.parts.norms import LayerNorm
from regard.parts.positions import Rotary
from regard.parts.wiring import SharedNorm

PARTITIONS = 4  # in which CodeGen keeps its queries, values and keys, whatever it was trained on


def config(file: Settings, weights: Weights, architecture: str) -> GPT:
    width, heads = file.integer("n_embd", 4096, WIDTH), file.integer("n_head", 16, HEADS)
    feed = file.choice("activation_function", PLAIN, "gelu_new")
    size = width // heads
    turning = file.optional_integer("rotary_dim", WIDTH) or size
    if turning > size:
        raise file.error("rotary_dim", turning, f"is more than the size {size} of a head")
    file.integer("n_positions", 2048, LENGTH)
    return GPT(
        vocab=file.integer("vocab_size", 50400, VOCAB),
        width=width,
        layers=file.integer("n_layer", 28, LAYERS),
        heads=heads,
        position=Rotary(fraction=turning / size),
        feed=feed(file.optional_integer("n_inner", HIDDEN) or 4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5)),
        wiring=SharedNorm(),
        dropout=file.dropout("embd_pdrop", 0.0),
        bias=False,
        feed_bias=True,
        logit_bias=True,
        tied=file.flag("tie_word_embeddings", False),
    )


def table(config: GPT) -> Table:
    theirs, ours, turned = "transformer.h.{}", "decoder.{}", neighbours(config)
    return _table(
        *both(f"{theirs}.attn.q_proj", f"{ours}.attend.query", turned["attend.query"]),
        *both(f"{theirs}.attn.k_proj", f"{ours}.attend.key", turned["attend.key"]),
        *both(f"{theirs}.attn.v_proj", f"{ours}.attend.value"),
    )


def codegen_table(config: GPT) -> Table:
    names = tuple(f"decoder.{{}}.attend.{part}.weight" for part in ("query", "key", "value"))
    return _table(Row("transformer.h.{}.attn.qkv_proj.weight", names, _partitioned(config)))


def _partitioned(config: GPT) -> Change:
    """Queries, values and keys of a quarter of the heads, then those of the next."""
    turned = neighbours(config)["attend.query"]

    def ours(t: Tensor) -> Tensors:
        query, value, key = (part.flatten(0, 1) for part in t.unflatten(0, (PARTITIONS, 3, -1)).unbind(1))
        return (*turned.ours(query), *turned.ours(key), value)

    def theirs(parts: Tensors) -> Tensor:
        query, key, value = turned.theirs(parts[:1]), turned.theirs(parts[1:2]), parts[2]
        return torch.stack([part.unflatten(0, (PARTITIONS, -1)) for part in (query, value, key)], 1).flatten(0, 2)

    return Change(ours, theirs)


def _table(*queries: Row) -> Table:
    theirs, ours = "transformer.h.{}", "decoder.{}"
    return Table(
        rows=[
            Row("transformer.wte.weight", ("embedding.table.weight",)),
            *queries,
            *both(f"{theirs}.ln_1", f"{ours}.attend_norm"),
            *both(f"{theirs}.attn.out_proj", f"{ours}.attend.out"),
            *both(f"{theirs}.mlp.fc_in", f"{ours}.feed.up"),
            *both(f"{theirs}.mlp.fc_out", f"{ours}.feed.down"),
            *both("transformer.ln_f", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
            Row("lm_head.bias", ("embedding.head_bias",)),
        ],
        tied={"lm_head.weight": "transformer.wte.weight"},
        buffers=tuple(f"{theirs}.attn.{name}" for name in ("bias", "masked_bias", "causal_mask")),
    )


FAMILIES = tuple(
    Family(
        model_type=model_type,
        architectures=(f"{name}ForCausalLM",),
        config=config,
        table=names,
        length="n_positions",
        prefix="transformer.",
        heads=("lm_head.",),
        defaults={"rotary_dim": 64},
    )
    for model_type, name, names in (("gptj", "GPTJ", table), ("codegen", "CodeGen", codegen_table))
)
