"""OPT, GPT-Neo, GPT-BigCode, BioGPT and XGLM: decoders whose positions are added to the tokens."""

from regard.interop.families.decoder import QUERY_KEY_VALUE, attention_by_layer, layer_kinds
from regard.interop.family import PLAIN, Family
from regard.interop.folder import Weights
from regard.interop.settings import HEADS, HIDDEN, LAYERS, LENGTH, VOCAB, WIDTH, Settings
from regard.interop.table import Row, Table, both, fused, fused_by_head, split, without_first
from regard.models.gpt import GPT
from regard.parts.attention import Full, Window
from regard.parts.norms import LayerNorm
from regard.parts.positions import Learned, Sinusoid
from regard.parts.wiring import PostNorm, PreNorm

OFFSET = 2  # rows of the table of positions that no text uses, in what descends from fairseq


def opt(file: Settings, weights: Weights, architecture: str) -> GPT:
    width = file.integer("hidden_size", 768, WIDTH)
    file.only("word_embed_proj_dim", width, None)
    file.only("layer_norm_elementwise_affine", True)
    file.only("_remove_final_layer_norm", False)
    feed = file.choice("activation_function", PLAIN, "relu")
    return GPT(
        vocab=file.integer("vocab_size", 50272, VOCAB),
        width=width,
        layers=file.integer("num_hidden_layers", 12, LAYERS),
        heads=file.integer("num_attention_heads", 12, HEADS),
        position=Learned(file.integer("max_position_embeddings", 2048, LENGTH)),
        feed=feed(file.integer("ffn_dim", 3072, HIDDEN)),
        norm=LayerNorm(1e-5),
        wiring=PreNorm() if file.flag("do_layer_norm_before", True) else PostNorm(),
        dropout=file.dropout("dropout", 0.1),
        bias=file.flag("enable_bias", True),
        tied=file.flag("tie_word_embeddings", True),
    )


def biogpt(file: Settings, weights: Weights, architecture: str) -> GPT:
    width = file.integer("hidden_size", 1024, WIDTH)
    file.read_keys.add("layer_norm_eps")  # which transformers does not read either
    feed = file.choice("hidden_act", PLAIN, "gelu")
    return GPT(
        vocab=file.integer("vocab_size", 42384, VOCAB),
        width=width,
        layers=file.integer("num_hidden_layers", 24, LAYERS),
        heads=file.integer("num_attention_heads", 16, HEADS),
        position=Learned(file.integer("max_position_embeddings", 1024, LENGTH)),
        feed=feed(file.integer("intermediate_size", 4096, HIDDEN)),
        norm=LayerNorm(1e-5),
        dropout=file.dropout("hidden_dropout_prob", 0.1),
        embed_scale=width**0.5 if file.flag("scale_embedding", True) else 1.0,
        tied=file.flag("tie_word_embeddings", True),
    )


def xglm(file: Settings, weights: Weights, architecture: str) -> GPT:
    width = file.integer("d_model", 1024, WIDTH)
    feed = file.choice("activation_function", PLAIN, "gelu")
    return GPT(
        vocab=file.integer("vocab_size", 256008, VOCAB),
        width=width,
        layers=file.integer("num_layers", 24, LAYERS),
        heads=file.integer("attention_heads", 16, HEADS),
        position=fairseq_waves(width),
        feed=feed(file.integer("ffn_dim", 4096, HIDDEN)),
        norm=LayerNorm(1e-5),
        dropout=file.dropout("dropout", 0.1),
        embed_scale=width**0.5 if file.flag("scale_embedding", True) else 1.0,
        tied=file.flag("tie_word_embeddings", True),
    )


def fairseq_waves(width: int) -> Sinusoid:
    """Its rates fall to exactly 1/10,000, where the paper's stop a step before; its positions begin at 2."""
    half = width // 2
    return Sinusoid(base=10000.0 ** (half / max(half - 1, 1)), start=OFFSET)


def gpt_neo(file: Settings, weights: Weights, architecture: str) -> GPT:
    width, layers = file.integer("hidden_size", 2048, WIDTH), file.integer("num_layers", 24, LAYERS)
    feed = file.choice("activation_function", PLAIN, "gelu_new")
    window = file.integer("window_size", 256, LENGTH)
    kinds = layer_kinds(_with_layer_types(file), layers, lambda layer: bool(layer % 2))
    file.read_keys |= {"attention_layers", "attention_types"}
    return GPT(
        vocab=file.integer("vocab_size", 50257, VOCAB),
        width=width,
        layers=layers,
        heads=file.integer("num_heads", 16, HEADS),
        position=Learned(file.integer("max_position_embeddings", 2048, LENGTH)),
        feed=feed(file.optional_integer("intermediate_size", HIDDEN) or 4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5)),
        dropout=file.dropout("embed_dropout", 0.0),
        query_bias=False,
        tied=file.flag("tie_word_embeddings", True),
        **attention_by_layer(kinds, window, lambda reach: Full(1.0) if reach is None else Window(reach, 1.0)),
    )


def _with_layer_types(file: Settings) -> Settings:
    """Its files list global and local layers, or groups of them that are repeated."""
    listed = file.data.get("attention_layers")
    if listed is None and isinstance(file.data.get("attention_types"), list):
        try:
            listed = [kind for group, times in file.data["attention_types"] for kind in group * times]
        except (TypeError, ValueError):
            raise file.error("attention_types", file.data["attention_types"], "must be groups and counts") from None
    words = {"global": "full_attention", "local": "sliding_attention"}
    kinds = None if listed is None else [words.get(str(kind), str(kind)) for kind in listed]
    return Settings({"layer_types": kinds}, file.where)


def gpt_bigcode(file: Settings, weights: Weights, architecture: str) -> GPT:
    width, heads = file.integer("n_embd", 768, WIDTH), file.integer("n_head", 12, HEADS)
    feed = file.choice("activation_function", PLAIN, "gelu_pytorch_tanh")
    file.read_keys |= {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "num_key_value_heads"}
    return GPT(
        vocab=file.integer("vocab_size", 50257, VOCAB),
        width=width,
        layers=file.integer("n_layer", 12, LAYERS),
        heads=heads,
        kv_heads=1 if file.flag("multi_query", True) else heads,
        attention=Full() if file.flag("scale_attn_weights", True) else Full(scale=1.0),
        position=Learned(file.integer("n_positions", 1024, LENGTH)),
        feed=feed(file.optional_integer("n_inner", HIDDEN) or 4 * width),
        norm=LayerNorm(file.eps("layer_norm_epsilon", 1e-5)),
        dropout=file.dropout("embd_pdrop", 0.1),
        tied=file.flag("tie_word_embeddings", True),
    )


def fairseq_table(prefix: str, norm: str, head: str = "lm_head.weight") -> Table:
    theirs, ours = f"{prefix}.layers.{{}}", "decoder.{}"
    names = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
    attention = [
        row for name, part in names.items() for row in both(f"{theirs}.self_attn.{name}", f"{ours}.attend.{part}")
    ]
    words, places = f"{prefix}.embed_tokens.weight", f"{prefix}.embed_positions.weight"
    return Table(
        rows=[
            Row(words, ("embedding.table.weight",)),
            Row(places, ("decoder.position.table.weight",), without_first(OFFSET)),
            *attention,
            *both(f"{theirs}.self_attn_layer_norm", f"{ours}.attend_norm"),
            *both(f"{theirs}.fc1", f"{ours}.feed.up"),
            *both(f"{theirs}.fc2", f"{ours}.feed.down"),
            *both(f"{theirs}.final_layer_norm", f"{ours}.feed_norm"),
            *both(f"{prefix}.{norm}", "decoder.norm"),
            Row(head, ("embedding.head",)),
        ],
        tied={head: words},
        buffers=(f"{prefix}.embed_positions.weights",),
    )


def gpt2_like(config: GPT, layer: str, queries: list[Row]) -> Table:
    """GPT-2's names, with matrices that are not transposed."""
    theirs, ours = "transformer.h.{}", "decoder.{}"
    return Table(
        rows=[
            Row("transformer.wte.weight", ("embedding.table.weight",)),
            Row("transformer.wpe.weight", ("decoder.position.table.weight",)),
            *both(f"{theirs}.ln_1", f"{ours}.attend_norm"),
            *queries,
            *both(f"{theirs}.{layer}", f"{ours}.attend.out"),
            *both(f"{theirs}.ln_2", f"{ours}.feed_norm"),
            *both(f"{theirs}.mlp.c_fc", f"{ours}.feed.up"),
            *both(f"{theirs}.mlp.c_proj", f"{ours}.feed.down"),
            *both("transformer.ln_f", "decoder.norm"),
            Row("lm_head.weight", ("embedding.head",)),
        ],
        tied={"lm_head.weight": "transformer.wte.weight"},
        buffers=(f"{theirs}.attn.bias", f"{theirs}.attn.attention.bias", f"{theirs}.attn.attention.masked_bias"),
    )


def gpt_neo_table(config: GPT) -> Table:
    layer = "transformer.h.{}.attn.attention"
    names = {"q_proj": "query", "k_proj": "key", "v_proj": "value"}
    queries = [row for name, part in names.items() for row in both(f"{layer}.{name}", f"decoder.{{}}.attend.{part}")]
    return gpt2_like(config, "attn.attention.out_proj", queries)


def gpt_bigcode_table(config: GPT) -> Table:
    size = config.width // config.heads
    change = split(config.width, size, size) if config.kv_heads == 1 else fused_by_head(config.heads)
    return gpt2_like(config, "attn.c_proj", fused("transformer.h.{}.attn.c_attn", QUERY_KEY_VALUE, change))


def _family(model_type: str, name: str, prefix: str, length: str = "max_position_embeddings") -> Family:
    config, table = PARTS[model_type]
    return Family(
        model_type=model_type,
        architectures=(f"{name}ForCausalLM",),
        config=config,
        table=table,
        length=length,
        prefix=prefix,
        heads=("lm_head.", "output_projection."),
    )


PARTS = {
    "opt": (opt, lambda config: fairseq_table("model.decoder", "final_layer_norm")),
    "biogpt": (biogpt, lambda config: fairseq_table("biogpt", "layer_norm", "output_projection.weight")),
    "xglm": (xglm, lambda config: fairseq_table("model", "layer_norm")),
    "gpt_neo": (gpt_neo, gpt_neo_table),
    "gpt_bigcode": (gpt_bigcode, gpt_bigcode_table),
}
FAMILIES = (
    _family("opt", "OPT", "model."),
    _family("biogpt", "BioGpt", "biogpt."),
    _family("xglm", "XGLM", "model."),
    _family("gpt_neo", "GPTNeo", "transformer."),
    _family("gpt_bigcode", "GPTBigCode", "transformer.", "n_positions"),
)
