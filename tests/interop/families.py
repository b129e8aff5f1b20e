"""Tiny models of every family with random weights, made by `transformers`: the oracle that others wrote."""

import os
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import torch
import transformers

transformers.logging.disable_progress_bar()

WIDTH, LAYERS, HEADS, VOCAB, HIDDEN = 32, 2, 4, 64, 48
IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}

GPT2 = {"vocab_size": VOCAB, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 24} | IDS
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "max_position_embeddings": 24,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
PICTURE = {name: value for name, value in SIZES.items() if name not in ("vocab_size", "max_position_embeddings")}
PICTURE |= {"image_size": 16, "patch_size": 4, "num_labels": 5}
MARIAN = {
    "vocab_size": VOCAB,
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS + 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "max_position_embeddings": 24,
    "pad_token_id": 63,
    "eos_token_id": 0,
    "decoder_start_token_id": 63,
}
T5 = {
    "vocab_size": VOCAB,
    "d_model": WIDTH,
    "d_kv": 6,
    "d_ff": HIDDEN,
    "num_layers": LAYERS,
    "num_decoder_layers": LAYERS + 1,
    "num_heads": HEADS,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
}

# name: (class, settings). Each is one way in which a family can be.
CAUSAL: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2-untied-relu": (
        "GPT2LMHeadModel",
        GPT2
        | {"tie_word_embeddings": False, "activation_function": "relu", "n_inner": HIDDEN, "scale_attn_weights": False},
    ),
    "llama": ("LlamaForCausalLM", SIZES | IDS),
    "llama-grouped-tied": (
        "LlamaForCausalLM",
        SIZES | IDS | {"num_key_value_heads": 2, "head_dim": 12, "tie_word_embeddings": True},
    ),
    "llama-biases-linear": (
        "LlamaForCausalLM",
        SIZES
        | IDS
        | {
            "attention_bias": True,
            "num_key_value_heads": 1,
            "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 777.0},
        },
    ),
    "llama-mlp-bias-llama3": (
        "LlamaForCausalLM",
        SIZES | IDS | {"mlp_bias": True, "rope_parameters": LLAMA3, "hidden_act": "gelu_pytorch_tanh"},
    ),
    "neox": (
        "GPTNeoXForCausalLM",
        SIZES
        | IDS
        | {
            "use_parallel_residual": False,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
        },
    ),
}
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert-fill": ("BertForMaskedLM", SIZES),
    "bert-pretraining": ("BertForPreTraining", SIZES),
    "bert-label": (
        "BertForSequenceClassification",
        SIZES | {"id2label": {0: "bad", 1: "fair", 2: "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}},
    ),
    "bert-label-relu": ("BertForSequenceClassification", SIZES | {"hidden_act": "relu", "type_vocab_size": 3}),
    "bert-trunk": ("BertModel", SIZES),
}
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "vit": ("ViTForImageClassification", PICTURE),
    "vit-grey-no-bias": (
        "ViTForImageClassification",
        PICTURE | {"num_channels": 1, "qkv_bias": False, "num_labels": 2, "hidden_act": "gelu_new"},
    ),
}
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "marian": ("MarianMTModel", MARIAN),
    "marian-swish-scaled": ("MarianMTModel", MARIAN | {"activation_function": "swish", "scale_embedding": True}),
    "marian-two-vocabularies": (
        "MarianMTModel",
        MARIAN | {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 80, "activation_function": "relu"},
    ),
    "t5": ("T5ForConditionalGeneration", T5),
    "t5-gated-untied": (
        "T5ForConditionalGeneration",
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
}
ALL = CAUSAL | ENCODERS | PICTURES | PAIRS


def make_case(name: str) -> Any:
    """A random model of the zoo."""
    from tests.interop.zoo import ZOO

    return make_as(name, *ZOO[name][1:])


def make(name: str) -> Any:
    return make_as(name, *ALL[name])


def make_as(name: str, kind: str, settings: dict[str, Any]) -> Any:
    """A random model; weights larger than at its birth, so that patterns are not flat and every bias counts."""
    cls = getattr(transformers, kind)
    torch.manual_seed(len(name))
    model = cls._from_config(cls.config_class(**settings), attn_implementation="eager").eval()
    if name == "t5-gated-untied":  # their config ties it on paper
        model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    waves = [id(p) for n, p in model.named_parameters() if "embed_positions" in n and not p.requires_grad]
    scale = 0.1 if "t5" in name else 0.4 if name == "vit_msn" else 0.2
    with torch.no_grad():
        for parameter in model.parameters():
            if id(parameter) not in waves:
                parameter.add_(torch.randn_like(parameter) * scale)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    return model


def save(name: str, folder: Path, **options: Any) -> Any:
    model = make(name)
    model.save_pretrained(folder, **options)
    return model


def reload(name: str, folder: Path) -> Any:
    return getattr(transformers, ALL[name][0]).from_pretrained(folder, attn_implementation="eager").eval()
