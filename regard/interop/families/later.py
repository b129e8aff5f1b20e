"""Later mixtures of older parts: OLMo 3, FlexOlmo, Ministral, CWM, Jais 2, HyperCLOVA X, VaultGemma (2024 to 2026)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from regard.interop.families.decoder import (
    FULL,
    LAYER,
    NORMED_BRANCHES,
    SLIDING,
    attention_by_layer,
    biased,
    causal,
    layer_kinds,
    length_of,
    table_of,
    trunk,
)
from regard.interop.families.gemma import NORMS, gemma2
from regard.interop.families.granite import granite
from regard.interop.families.mixture import moe_table, olmoe
from regard.interop.families.olmo import branches, olmo2
from regard.interop.families.rope import read_rotary_by_kind
from regard.interop.family import PLAIN
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import PLUS_ONE, Table
from regard.models.gpt import GPT
from regard.parts.norms import LayerNorm
from regard.parts.wiring import BranchNorm, PreNorm, Sandwich

EVERY = 4  # layers, of which one looks at all of the text


def olmo3(file: Settings, weights: Weights, architecture: str) -> GPT:
    rope = {key: file.data.get(key) for key in ("rope_parameters", "rope_scaling")}
    file.data = dict(file.data) | dict.fromkeys(rope)  # which OLMo 2 would read as one
    config = olmo2(file, weights, architecture)
    file.data = dict(file.data) | rope
    kinds = layer_kinds(file, config.layers, lambda layer: bool((layer + 1) % EVERY))
    bases = {FULL: ("rope_theta", 5e5), SLIDING: ("rope_theta", 5e5)}
    rotary = read_rotary_by_kind(file, length_of(file), bases)
    attention = attention_by_layer(kinds, file.optional_integer("sliding_window", LENGTH))
    main, other = (SLIDING, FULL) if SLIDING in kinds else (FULL, SLIDING)
    if len(set(kinds)) > 1 and rotary[main] != rotary[other]:
        attention["alternate_position"] = rotary[other]
    return replace(config, **attention, position=rotary[main])


def flex_olmo(file: Settings, weights: Weights, architecture: str) -> GPT:
    return replace(olmoe(file, weights, architecture), wiring=BranchNorm())


def flex_olmo_table(config: GPT) -> Table:
    """The names of OLMoE's experts, and norms of what the branches give."""
    norms = {f"decoder.{{}}.{name}": theirs for name, theirs in NORMED_BRANCHES.items() if name.endswith("norm")}
    whole = moe_table(config)
    rows = [
        replace(row, theirs=f"model.layers.{{}}.{norms[ours]}.{kind}") if (ours := ours_name) in norms else row
        for row in whole.rows
        for ours_name, _, kind in [row.ours[0].rpartition(".")]
    ]
    return replace(whole, rows=rows)


def _sliding(usual: Callable[[int], bool]) -> Callable[[Settings, Weights, str], GPT]:
    """Llama with a window in some layers: those that the file names, else those that `usual` says."""

    def config(file: Settings, weights: Weights, architecture: str) -> GPT:
        shared = trunk(file)
        kinds = layer_kinds(file, shared["layers"], usual)
        window = file.optional_integer("sliding_window", LENGTH) if file.data.get("sliding_window") else None
        file.read_keys.add("sliding_window")
        return GPT(**shared | biased(file) | attention_by_layer(kinds, window))

    return config


def jais2(file: Settings, weights: Weights, architecture: str) -> GPT:
    norm = LayerNorm(file.eps("layer_norm_eps", 1e-5))
    file.read_keys.add("rms_norm_eps")
    return GPT(**trunk(file, feeds=PLAIN) | biased(file) | {"norm": norm})


def hyperclovax(file: Settings, weights: Weights, architecture: str) -> GPT:
    """Granite with norms around each branch; scores are multiplied by what Granite divides them by."""
    if file.data.get("attention_multiplier") is None:
        heads, width = file.data.get("num_attention_heads"), file.data.get("hidden_size")
        size = file.data.get("head_dim") or (width // heads if type(heads) is type(width) is int and heads else None)
        file.data = dict(file.data) | {"attention_multiplier": size**-0.5 if type(size) is int and size > 0 else None}
    config = granite(file, weights, architecture)
    wiring = Sandwich() if file.flag("use_post_norm", True) else PreNorm()
    if isinstance(wiring, Sandwich) and config.residual_scale != 1.0:
        problem = "scales branches after their last norm, which our parts do before it"
        raise file.error("residual_multiplier", config.residual_scale, problem)
    return replace(config, wiring=wiring, logit_scale=file.number("logits_scaling", 1.0, low=1e-9, high=1e9))


def hyperclovax_table(config: GPT) -> Table:
    ends = {"attend_end": "post_norm1", "feed_end": "post_norm2"} if isinstance(config.wiring, Sandwich) else {}
    return table_of(LAYER | ends)


def vaultgemma(file: Settings, weights: Weights, architecture: str) -> GPT:
    return replace(gemma2(file, weights, architecture), wiring=PreNorm())


def vaultgemma_table(config: GPT) -> Table:
    return table_of(LAYER | {"feed_norm": "pre_feedforward_layernorm"}, changes=dict.fromkeys(NORMS, PLUS_ONE))


OLMO: dict[str, Any] = {"vocab_size": 100352, "max_position_embeddings": 4096}
CWM_ROPE = {
    "rope_type": "llama3", "rope_theta": 1e6, "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
FAMILIES = (
    causal("olmo3", "Olmo3", olmo3, branches, **OLMO | {"vocab_size": 50304}, rms_norm_eps=1e-5, sliding_window=4096),
    causal(
        "flex_olmo", "FlexOlmo", flex_olmo, flex_olmo_table, **OLMO, rope_theta=5e5, num_experts=7,
        num_experts_per_tok=5,
    ),
    causal(
        "ministral", "Ministral", _sliding(lambda layer: True), intermediate_size=14336, num_key_value_heads=8,
        sliding_window=4096, max_position_embeddings=131072,
    ),
    causal(
        "cwm", "Cwm", _sliding(lambda layer: bool(layer % EVERY)), vocab_size=128256, hidden_size=6144,
        intermediate_size=21504, num_hidden_layers=64, num_attention_heads=48, num_key_value_heads=8, head_dim=128,
        max_position_embeddings=131072, rms_norm_eps=1e-5, sliding_window=8192, rope_parameters=CWM_ROPE,
    ),
    causal(
        "jais2", "Jais2", jais2, vocab_size=150272, hidden_size=3328, intermediate_size=26624, num_attention_heads=26,
        hidden_act="relu2", max_position_embeddings=8192, attention_bias=True, mlp_bias=True,
    ),
    causal("hyperclovax", "HyperCLOVAX", hyperclovax, hyperclovax_table),
    causal(
        "vaultgemma", "VaultGemma", vaultgemma, vaultgemma_table, vocab_size=256000, hidden_size=2304,
        intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8, num_key_value_heads=4, head_dim=256,
        tie_word_embeddings=True, hidden_activation="gelu_pytorch_tanh", max_position_embeddings=8192,
        sliding_window=4096, final_logit_softcapping=30.0, attn_logit_softcapping=50.0,
    ),
)  # fmt: skip
