"""What decoders shaped like Llama share: keys of config.json and names of tensors, which a family may change."""

from collections.abc import Callable, Mapping
from typing import Any

from regard.interop.families.rope import read_rotary
from regard.interop.family import GATED, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import SAME, Change, Row, Table, both
from regard.models.gpt import GPT
from regard.parts.attention import Full, Window
from regard.parts.norms import RMSNorm

# Our name in a block: theirs in a layer.
LAYER = {
    "attend_norm": "input_layernorm",
    "attend.query": "self_attn.q_proj",
    "attend.key": "self_attn.k_proj",
    "attend.value": "self_attn.v_proj",
    "attend.out": "self_attn.o_proj",
    "attend.query_norm": "self_attn.q_norm",
    "attend.key_norm": "self_attn.k_norm",
    "feed_norm": "post_attention_layernorm",
    "feed.gate": "mlp.gate_proj",
    "feed.up": "mlp.up_proj",
    "feed.down": "mlp.down_proj",
}
NORMED_BRANCHES = LAYER | {"attend_norm": "post_attention_layernorm", "feed_norm": "post_feedforward_layernorm"}
QUERY_KEY_VALUE = tuple(f"decoder.{{}}.attend.{part}" for part in ("query", "key", "value"))
GATE_UP = ("decoder.{}.feed.gate", "decoder.{}.feed.up")

FULL, SLIDING = "full_attention", "sliding_attention"
SIZES = {
    "vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "intermediate_size": 11008, "hidden_act": "silu", "max_position_embeddings": 2048, "tie_word_embeddings": False,
}  # fmt: skip


def trunk(
    file: Settings,
    *,
    feeds: Mapping[str, type[Any]] = GATED,
    act: str = "hidden_act",
    turned: float | None = None,
) -> dict[str, Any]:
    """The settings of our GPT that nearly all of them say alike. A norm and a bias of its own, a family adds.

    `turned` is the part of each head that turns, where a family lets its files say another.
    """
    heads = file.integer("num_attention_heads", None, HEADS)
    feed = file.choice(act, feeds, "silu")
    return {
        "vocab": file.integer("vocab_size", None, VOCAB),
        "width": file.integer("hidden_size", None, WIDTH),
        "layers": file.integer("num_hidden_layers", None, LAYERS),
        "heads": heads,
        "kv_heads": file.optional_integer("num_key_value_heads", HEADS) or heads,
        "head_size": file.optional_integer("head_dim", WIDTH),
        "position": read_rotary(file, "rope_theta", length_of(file), turned),
        "feed": feed(file.integer("intermediate_size", None, HIDDEN)),
        "norm": RMSNorm(file.eps("rms_norm_eps", 1e-6)),
        "dropout": 0.0,
        "bias": False,
        "tied": file.flag("tie_word_embeddings", False),
    }


def causal(
    model_type: str,
    name: str,
    config: Callable[[Settings, Weights, str], GPT],
    table: Callable[[GPT], Table] | None = None,
    **defaults: Any,
) -> Family:
    """A family shaped like Llama; `defaults` are what keys of its files mean where they are left out."""
    return Family(
        model_type=model_type,
        architectures=(f"{name}ForCausalLM",),
        config=config,
        table=table or (lambda config: table_of()),
        length="max_position_embeddings",
        prefix="model.",
        heads=("lm_head.",),
        defaults=SIZES | defaults,
    )


def length_of(file: Settings) -> int:
    return file.integer("max_position_embeddings", None, LENGTH)


def biased(file: Settings) -> dict[str, Any]:
    """Biases by the two flags of Llama: of all that belongs to the attention, and of the feed-forward."""
    attend, feed = file.flag("attention_bias", False), file.flag("mlp_bias", False)
    return {"bias": attend, "feed_bias": feed if feed != attend else None}


def layer_kinds(file: Settings, layers: int, usual: Callable[[int], bool]) -> list[str]:
    """Full or sliding attention for each layer: as the file lists them, else as the family does (`usual` slides)."""
    kinds = file.data.get("layer_types")
    file.read_keys.add("layer_types")
    if kinds is None:
        return [SLIDING if usual(layer) else FULL for layer in range(layers)]
    if not isinstance(kinds, list) or len(kinds) != layers or not set(kinds) <= {FULL, SLIDING}:
        raise file.error("layer_types", kinds, f"must have {FULL} or {SLIDING} for each of {layers} layers")
    return kinds


def attention_by_layer(
    kinds: list[str], window: int | None, make: Callable[[int | None], Any] | None = None
) -> dict[str, Any]:
    """Our settings for layers of two kinds; `make` builds the attention of a window, or of none."""
    make = make or (lambda reach: Full() if reach is None else Window(reach))
    full = tuple(layer for layer, kind in enumerate(kinds) if kind == FULL or window is None)
    if len(full) == len(kinds):
        return {"attention": make(None)}
    if not full:
        return {"attention": make(window)}
    return {"attention": make(window), "alternate": make(None), "alternate_layers": full}


def rows_of(
    names: Mapping[str, str], theirs: str = "model.layers.{}", changes: Mapping[str, Change] | None = None
) -> list[Row]:
    """A row for the weight and one for the bias of each part of a block."""
    return [
        row
        for ours, name in names.items()
        for row in both(f"{theirs}.{name}", f"decoder.{{}}.{ours}", (changes or {}).get(ours, SAME))
    ]


def table_of(
    names: Mapping[str, str] = LAYER,
    more: tuple[Row, ...] = (),
    changes: Mapping[str, Change] | None = None,
    norm: str = "model.norm",
    constants: Mapping[str, float] | None = None,
) -> Table:
    """The table of a family whose names outside the layers are Llama's."""
    end = (changes or {}).get("norm", SAME)
    return Table(
        rows=[
            Row("model.embed_tokens.weight", ("embedding.table.weight",)),
            *rows_of(names, changes=changes),
            *more,
            *both(norm, "decoder.norm", end),
            Row("lm_head.weight", ("embedding.head",)),
            Row("lm_head.bias", ("embedding.head_bias",)),
        ],
        tied={"lm_head.weight": "model.embed_tokens.weight"},
        buffers=("model.layers.{}.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
        constants=constants or {},
    )
