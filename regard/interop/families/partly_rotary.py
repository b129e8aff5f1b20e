"""StableLM, Phi, Phi-3, GLM, Nemotron and Persimmon: only a part of each head turns."""

from regard.interop.families.decoder import (
    GATE_UP,
    LAYER,
    QUERY_KEY_VALUE,
    attention_by_layer,
    biased,
    causal,
    layer_kinds,
    table_of,
    trunk,
)
from regard.interop.families.gemma import SANDWICH
from regard.interop.family import PLAIN
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import (
    HALVES,
    PLUS_ONE,
    Change,
    Row,
    Table,
    fused,
    fused_by_head,
    neighbours_to_halves,
    split,
)
from regard.models.gpt import GPT
from regard.parts.norms import LayerNorm
from regard.parts.positions import Rotary
from regard.parts.wiring import PreNorm, Sandwich, SharedNorm


def _layer_norm(file: Settings, key: str = "layer_norm_eps") -> LayerNorm:
    return LayerNorm(file.eps(key, 1e-5))


def stablelm(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("qk_layernorm", False)
    side_by_side = file.flag("use_parallel_residual", False)
    own = {"norm": _layer_norm(file), "wiring": SharedNorm() if side_by_side else PreNorm()}
    return GPT(**trunk(file, turned=0.25) | own | {"query_bias": file.flag("use_qkv_bias", False)})


def phi(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("qk_layernorm", False)
    own = {"norm": _layer_norm(file), "wiring": SharedNorm(), "bias": True, "logit_bias": True}
    return GPT(**trunk(file, feeds=PLAIN, turned=0.5) | own)


def phi_table(config: GPT) -> Table:
    names = LAYER | {"attend.out": "self_attn.dense", "feed.up": "mlp.fc1", "feed.down": "mlp.fc2"}
    return table_of(names, norm="model.final_layernorm")


def phi3(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.read_keys.add("original_max_position_embeddings")
    shared = trunk(file, turned=1.0)
    kinds = layer_kinds(file, shared["layers"], lambda layer: True)
    return GPT(**shared | attention_by_layer(kinds, file.optional_integer("sliding_window", LENGTH)))


def phi3_table(config: GPT) -> Table:
    size = config.head_size or config.width // config.heads
    keys = (config.kv_heads or config.heads) * size
    queries = split(config.heads * size, keys, keys)
    names = {ours: name for ours, name in LAYER.items() if ours not in FUSED_PARTS}
    more = fused("model.layers.{}.self_attn.qkv_proj", QUERY_KEY_VALUE, queries)
    return table_of(names, (*more, *_gate_up()))


FUSED_PARTS = ("attend.query", "attend.key", "attend.value", "feed.gate", "feed.up")


def _gate_up() -> list[Row]:
    return fused("model.layers.{}.mlp.gate_up_proj", GATE_UP, HALVES)


def glm(file: Settings, weights: Weights, architecture: str) -> GPT:
    return GPT(**trunk(file, turned=0.5) | {"query_bias": file.flag("attention_bias", True)})


def glm4(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file, turned=0.5) | {"wiring": Sandwich()}
    return GPT(**shared | {"query_bias": file.flag("attention_bias", True)})


def glm_table(config: GPT) -> Table:
    names = LAYER
    if isinstance(config.wiring, Sandwich):
        ends = {"attend_end": "post_self_attn_layernorm", "feed_end": "post_mlp_layernorm"}
        names = SANDWICH | ends | {"feed_norm": "post_attention_layernorm"}
    names = {ours: name for ours, name in names.items() if ours not in ("feed.gate", "feed.up")}
    return table_of(names, tuple(_gate_up()), neighbours(config))


def neighbours(config: GPT) -> dict[str, Change]:
    """Queries and keys whose rotary positions turn neighbours."""
    size, heads = config.head_size or config.width // config.heads, config.heads
    fraction = config.position.fraction if isinstance(config.position, Rotary) else 1.0
    turning = int(size * fraction + 1e-6)
    return {
        "attend.query": neighbours_to_halves(heads, size, turning),
        "attend.key": neighbours_to_halves(config.kv_heads or heads, size, turning),
    }


def nemotron(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file, feeds=PLAIN, turned=0.5)
    return GPT(**shared | biased(file) | {"norm": _layer_norm(file, "norm_eps")})


def nemotron_table(config: GPT) -> Table:
    table = table_of()
    gains = [name for row in table.rows for name in row.ours if name.endswith("norm.weight")]
    rows = [Row(row.theirs, row.ours, PLUS_ONE) if row.ours[0] in gains else row for row in table.rows]
    return Table(rows=rows, tied=table.tied, buffers=table.buffers)


def persimmon(file: Settings, weights: Weights, architecture: str) -> GPT:
    norm = _layer_norm(file)
    own = {"norm": norm, "query_norm": norm if file.flag("qk_layernorm", True) else None, "bias": True}
    return GPT(**trunk(file, feeds=PLAIN, turned=0.5) | own | {"dropout": file.dropout("hidden_dropout", 0.0)})


def persimmon_table(config: GPT) -> Table:
    names = {
        "attend_norm": "input_layernorm",
        "attend.out": "self_attn.dense",
        "attend.query_norm": "self_attn.q_layernorm",
        "attend.key_norm": "self_attn.k_layernorm",
        "feed_norm": "post_attention_layernorm",
        "feed.up": "mlp.dense_h_to_4h",
        "feed.down": "mlp.dense_4h_to_h",
    }
    more = fused("model.layers.{}.self_attn.query_key_value", QUERY_KEY_VALUE, fused_by_head(config.heads))
    return table_of(names, tuple(more), norm="model.final_layernorm")


FAMILIES = (
    causal(
        "stablelm", "StableLm", stablelm, vocab_size=50304, hidden_size=2560, intermediate_size=6912,
        num_key_value_heads=32, max_position_embeddings=4096,
    ),
    causal(
        "phi", "Phi", phi, phi_table, vocab_size=51200, hidden_size=2048, intermediate_size=8192, num_hidden_layers=24,
        hidden_act="gelu_new",
    ),
    causal(
        "phi3", "Phi3", phi3, phi3_table, vocab_size=32064, hidden_size=3072, intermediate_size=8192,
        max_position_embeddings=4096, rms_norm_eps=1e-5,
    ),
    causal(
        "glm", "Glm", glm, glm_table, vocab_size=151552, intermediate_size=13696, num_hidden_layers=40,
        num_key_value_heads=2, head_dim=128, max_position_embeddings=131072, rms_norm_eps=0.00000015625,
    ),
    causal(
        "glm4", "Glm4", glm4, glm_table, vocab_size=151552, intermediate_size=13696, num_hidden_layers=40,
        num_key_value_heads=2, head_dim=128, max_position_embeddings=131072, rms_norm_eps=0.00000015625,
    ),
    causal(
        "nemotron", "Nemotron", nemotron, nemotron_table, vocab_size=256000, hidden_size=6144, intermediate_size=24576,
        num_attention_heads=48, hidden_act="relu2", max_position_embeddings=4096,
    ),
    causal(
        "persimmon", "Persimmon", persimmon, persimmon_table, vocab_size=262144, intermediate_size=16384,
        num_hidden_layers=36, num_attention_heads=64, hidden_act="relu2", max_position_embeddings=16384,
    ),
)  # fmt: skip
