"""Mixtral, Qwen 3 MoE and OLMoE: a mixture of experts in place of each feed-forward (Jiang et al., 2024)."""

from dataclasses import replace
from typing import Literal

from regard.core.errors import MANY
from regard.interop.families.decoder import LAYER, causal, rows_of, table_of, trunk
from regard.interop.families.qwen import mistral, qwen3
from regard.interop.folder import Weights
from regard.interop.settings import HIDDEN, Settings
from regard.interop.table import Table
from regard.models.gpt import GPT
from regard.parts.experts import Experts
from regard.parts.feed import SwiGLU
from regard.parts.norms import AcrossHeads


def mixtral(file: Settings, weights: Weights, architecture: str) -> GPT:
    experts = _experts(file, "num_local_experts", "intermediate_size", "chosen")
    return replace(mistral(file, weights, architecture), feed=experts)


def qwen3_moe(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("mlp_only_layers", [], None)
    file.only("decoder_sparse_step", 1)
    experts = _experts(file, "num_experts", "moe_intermediate_size", _mixed_over(file))
    return replace(qwen3(file, weights, architecture), feed=experts)


def olmoe(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("clip_qkv", None)
    file.only("attention_bias", False)
    shared = trunk(file)
    experts = _experts(file, "num_experts", "intermediate_size", _mixed_over(file))
    return GPT(**shared | {"query_norm": AcrossHeads(shared["norm"]), "feed": experts})


MixedOver = Literal["chosen", "all"]


def _experts(file: Settings, count: str, hidden: str, mixed_over: MixedOver) -> Experts:
    file.only("hidden_act", "silu")
    file.read_keys.add(count)
    return Experts(
        count=file.integer("num_local_experts" if "num_local_experts" in file.data else count, None, MANY),
        active=file.integer("num_experts_per_tok", None, MANY),
        expert=SwiGLU(file.integer(hidden, None, HIDDEN)),
        mixed_over=mixed_over,
    )


def _mixed_over(file: Settings) -> MixedOver:
    return "chosen" if file.flag("norm_topk_prob", False) else "all"


def of_experts(config: GPT, router: str, experts: str, gate: str, up: str, down: str) -> Table:
    """Each expert is a feed-forward of its own; theirs have no bias that balances the load."""
    assert isinstance(config.feed, Experts)
    names = {name: theirs for name, theirs in LAYER.items() if not name.startswith("feed.")}
    each = {
        f"feed.experts.{number}.{part}": f"{experts}.{number}.{theirs}"
        for number in range(config.feed.count)
        for part, theirs in (("gate", gate), ("up", up), ("down", down))
    }
    return table_of(
        names, tuple(rows_of({"feed.router": router} | each)), constants={"decoder.{}.feed.router_bias": 0.0}
    )


def mixtral_table(config: GPT) -> Table:
    return of_experts(config, "block_sparse_moe.gate", "block_sparse_moe.experts", "w1", "w3", "w2")


def moe_table(config: GPT) -> Table:
    return of_experts(config, "mlp.gate", "mlp.experts", "gate_proj", "up_proj", "down_proj")


FAMILIES = (
    causal(
        "mixtral", "Mixtral", mixtral, mixtral_table, intermediate_size=14336, num_key_value_heads=8,
        max_position_embeddings=131072, rms_norm_eps=1e-5, rope_theta=1e6, num_local_experts=8, num_experts_per_tok=2,
    ),
    causal(
        "qwen3_moe", "Qwen3Moe", qwen3_moe, moe_table, vocab_size=151936, hidden_size=2048, intermediate_size=6144,
        num_hidden_layers=24, num_key_value_heads=4, max_position_embeddings=32768, sliding_window=4096,
        num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768,
    ),
    causal(
        "olmoe", "Olmoe", olmoe, moe_table, vocab_size=50304, hidden_size=2048, intermediate_size=2048,
        num_hidden_layers=16, num_attention_heads=16, max_position_embeddings=4096, rms_norm_eps=1e-5,
        num_experts=64, num_experts_per_tok=8,
    ),
)  # fmt: skip
