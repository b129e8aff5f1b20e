"""The families, a file for each idea. `FAMILIES` is their table, by the word that config.json has for them."""

from regard.interop.families import (
    bart,
    bert,
    cohere,
    falcon,
    gemma,
    gpt2,
    gptj,
    granite,
    images,
    later,
    learned,
    llama,
    marian,
    mixture,
    modernbert,
    neox,
    olmo,
    partly_rotary,
    qwen,
    roberta,
    small,
    t5,
    vit,
)
from regard.interop.family import Family

DECODERS = (
    *(gpt2.FAMILY, llama.FAMILY, neox.FAMILY), *qwen.FAMILIES, *mixture.FAMILIES, *gemma.FAMILIES, *olmo.FAMILIES,
    *granite.FAMILIES, *partly_rotary.FAMILIES, *cohere.FAMILIES, *gptj.FAMILIES, *learned.FAMILIES, *falcon.FAMILIES,
    *later.FAMILIES,
)  # fmt: skip
ENCODERS = (*bert.FAMILIES, *roberta.FAMILIES, *small.FAMILIES, *modernbert.FAMILIES)
PAIRS = (marian.FAMILY, *t5.FAMILIES, *bart.FAMILIES)
IMAGES = (vit.FAMILY, *images.FAMILIES)

FAMILIES: dict[str, Family] = {family.model_type: family for family in (*DECODERS, *ENCODERS, *PAIRS, *IMAGES)}

# Known families that our parts cannot express, and what stands in the way.
UNREADABLE = {
    "beit": "each layer has relative positions of its own between patches (use_relative_position_bias)",
    "blenderbot-small": "its decoder norms the embeddings before positions are added, its encoder after",
    "clip": "two towers and a shared space; only single models are read",
    "deberta": "scores add matches of positions with content, projected anew in each layer (pos_att_type)",
    "deberta-v2": "scores add matches of positions with content, projected anew in each layer (pos_att_type)",
    "esm": "masked tokens rescale the embeddings of the others (token_dropout)",
    "gemma3": "images are read beside the text; the text model alone (gemma3_text) is read",
    "gpt_oss": "each head can attend to nothing (sinks)",
    "hunyuan_v1_dense": "queries and keys are normed after their rotary positions (query_layernorm)",
    "longformer": "global tokens have projections of their own (attention_window)",
    "mamba": "it has no attention",
    "ministral3": "queries are scaled by their position (llama_4_scaling_beta)",
    "nystromformer": "keys and values are folded into landmarks (num_landmarks)",
    "qwen2_moe": "an expert that all tokens visit stands beside the others (shared_expert_intermediate_size)",
    "umt5": "each layer has relative positions of its own",
    "whisper": "its encoder reads spectrograms through convolutions",
    "xlnet": "two streams of states (permutation language modelling)",
}
