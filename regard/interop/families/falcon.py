"""Falcon, Bloom and MPT: queries, keys and values in one matrix; rotary positions or ALiBi (2022, 2023)."""

from regard.interop.families.decoder import QUERY_KEY_VALUE
from regard.interop.families.rope import read_rotary
from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Change, Row, Table, both, fused, fused_by_group, fused_by_head, split
from regard.models.gpt import GPT
from regard.parts.attention import Full
from regard.parts.feed import GELU, TanhGELU
from regard.parts.norms import LayerNorm
from regard.parts.positions import ALiBi
from regard.parts.wiring import Parallel, PreNorm, SharedNorm, Wiring


def falcon(file: Settings, weights: Weights, architecture: str) -> GPT:
    width, heads = file.integer("hidden_size", 4544, WIDTH), file.integer("num_attention_heads", 71, HEADS)
    length = file.integer("max_position_embeddings", 2048, LENGTH)
    feed = file.choice("activation", PLAIN, "gelu")
    new, multi_query = file.flag("new_decoder_architecture", False), file.flag("multi_query", True)
    keys = file.optional_integer("num_kv_heads", HEADS) or heads
    rotary = read_rotary(file, "rope_theta", length)
    alibi = file.flag("alibi", False)
    return GPT(
        vocab=file.integer("vocab_size", 65024, VOCAB),
        width=width,
        layers=file.integer("num_hidden_layers", 32, LAYERS),
        heads=heads,
        kv_heads=keys if new else 1 if multi_query else heads,
        position=ALiBi((width // heads) ** -0.5) if alibi else rotary,
        feed=feed(file.optional_integer("ffn_hidden_size", HIDDEN) or 4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5)),
        wiring=_wiring(file, new),
        dropout=file.dropout("hidden_dropout", 0.0),
        bias=file.flag("bias", False),
        tied=file.flag("tie_word_embeddings", True),
    )


def _wiring(file: Settings, new: bool) -> Wiring:
    norms = file.optional_integer("num_ln_in_parallel_attn", 2)
    side_by_side = file.flag("parallel_attn", True)
    if new:
        return SharedNorm() if norms == 1 else Parallel()
    return SharedNorm() if side_by_side else PreNorm()


def falcon_table(config: GPT) -> Table:
    size, keys = config.width // config.heads, config.kv_heads or config.heads
    change = fused_by_group(keys, config.heads, size)
    if keys == 1:
        change = split(config.width, size, size)
    theirs, ours = "transformer.h.{}", "decoder.{}"
    if isinstance(config.wiring, Parallel):
        norms = [*both(f"{theirs}.ln_attn", f"{ours}.attend_norm"), *both(f"{theirs}.ln_mlp", f"{ours}.feed_norm")]
    else:
        norms = both(f"{theirs}.input_layernorm", f"{ours}.attend_norm")
        norms += both(f"{theirs}.post_attention_layernorm", f"{ours}.feed_norm")
    return _table(norms, change)


def bloom(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("apply_residual_connection_post_layernorm", False)
    file.read_keys.add("slow_but_exact")  # both are the same sums
    width = file.integer("n_embed" if "n_embed" in file.data else "hidden_size", 64, WIDTH)
    norm = LayerNorm(file.eps("layer_norm_epsilon", 1e-5))
    heads = file.integer("num_attention_heads" if "num_attention_heads" in file.data else "n_head", 8, HEADS)
    return GPT(
        vocab=file.integer("vocab_size", 250880, VOCAB),
        width=width,
        layers=file.integer("num_hidden_layers" if "num_hidden_layers" in file.data else "n_layer", 2, LAYERS),
        heads=heads,
        position=ALiBi(),
        feed=TanhGELU(4 * width),
        norm=norm,
        embed_norm=norm,
        dropout=file.dropout("hidden_dropout", 0.0),
        tied=file.flag("tie_word_embeddings", True),
    )


def bloom_table(config: GPT) -> Table:
    theirs, ours = "transformer.h.{}", "decoder.{}"
    norms = both("transformer.word_embeddings_layernorm", "embed_norm")
    norms += both(f"{theirs}.input_layernorm", f"{ours}.attend_norm")
    norms += both(f"{theirs}.post_attention_layernorm", f"{ours}.feed_norm")
    return _table(norms, fused_by_head(config.heads))


def _table(norms: list[Row], change: Change) -> Table:
    theirs, ours = "transformer.h.{}", "decoder.{}"
    return Table(
        rows=[
            Row("transformer.word_embeddings.weight", ("embedding.table.weight",)),
            *norms,
            *fused(f"{theirs}.self_attention.query_key_value", QUERY_KEY_VALUE, change),
            *both(f"{theirs}.self_attention.dense", f"{ours}.attend.out"),
            *both(f"{theirs}.mlp.dense_h_to_4h", f"{ours}.feed.up"),
            *both(f"{theirs}.mlp.dense_4h_to_h", f"{ours}.feed.down"),
            *both("transformer.ln_f", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
        ],
        tied={"lm_head.weight": "transformer.word_embeddings.weight"},
        buffers=(f"{theirs}.self_attention.rotary_emb.inv_freq",),
    )


MPT_ATTENTION = {
    "alibi": True, "alibi_bias_max": 8, "attn_type": "multihead_attention", "attn_uses_sequence_id": False,
    "clip_qkv": None, "prefix_lm": False, "qk_ln": False,
}  # fmt: skip


def mpt(file: Settings, weights: Weights, architecture: str) -> GPT:
    attention = file.part("attn_config") or Settings({}, file.where)
    for key, value in MPT_ATTENTION.items():
        attention.only(key, value)
    file.only("no_bias", True)
    file.only("logit_scale", None)
    file.only("expansion_ratio", 4)  # no code has ever read another
    file.read_keys |= {"embedding_fraction", "emb_pdrop", "init_device", "learned_pos_emb", "norm_type", "verbose"}
    width, heads = file.integer("d_model", 2048, WIDTH), file.integer("n_heads", 16, HEADS)
    scale = attention.data.get("softmax_scale")
    attention.read_keys.add("softmax_scale")
    return GPT(
        vocab=file.integer("vocab_size", 50368, VOCAB),
        width=width,
        layers=file.integer("n_layers", 24, LAYERS),
        heads=heads,
        attention=Full() if scale is None else Full(attention.number("softmax_scale", None, low=1e-9, high=1e9)),
        position=ALiBi(),
        feed=GELU(4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5), bias=False),
        dropout=0.0,
        bias=False,
        tied=file.flag("tie_word_embeddings", True),
    )


def mpt_table(config: GPT) -> Table:
    theirs, ours = "transformer.blocks.{}", "decoder.{}"
    names = {"attn.out_proj": "attend.out", "ffn.up_proj": "feed.up", "ffn.down_proj": "feed.down"}
    names |= {"norm_1": "attend_norm", "norm_2": "feed_norm"}
    return Table(
        rows=[
            Row("transformer.wte.weight", ("embedding.table.weight",)),
            *fused(f"{theirs}.attn.Wqkv", QUERY_KEY_VALUE),
            *(row for one, own in names.items() for row in both(f"{theirs}.{one}", f"{ours}.{own}")),
            *both("transformer.norm_f", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
        ],
        tied={"lm_head.weight": "transformer.wte.weight"},
    )


FAMILIES = (
    Family(
        model_type="falcon",
        architectures=("FalconForCausalLM",),
        config=falcon,
        table=falcon_table,
        length="max_position_embeddings",
        prefix="transformer.",
        heads=("lm_head.",),
    ),
    Family(
        model_type="bloom",
        architectures=("BloomForCausalLM", "BloomModel"),
        config=bloom,
        table=bloom_table,
        prefix="transformer.",
        heads=("lm_head.",),
    ),
    Family(
        model_type="mpt",
        architectures=("MptForCausalLM", "MPTForCausalLM"),
        config=mpt,
        table=mpt_table,
        length="max_seq_len",
        prefix="transformer.",
        heads=("lm_head.",),
    ),
)
