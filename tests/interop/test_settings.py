"""What a config.json must not say: the impossible, or what our parts cannot express."""

from typing import Any

import pytest

from regard.core.errors import ConfigError
from tests.interop.refusing import change, refused


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("gpt2", "vocab_size", 10**12),
        ("gpt2", "n_layer", -1),
        ("gpt2", "n_layer", 10**6),
        ("gpt2", "n_head", 0),
        ("gpt2", "n_embd", 32.5),
        ("gpt2", "n_embd", "32"),
        ("gpt2", "n_layer", True),
        ("gpt2", "activation_function", "mish"),
        ("gpt2", "activation_function", ["relu"]),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True),
        ("gpt2", "add_cross_attention", True),
        ("gpt2", "layer_norm_epsilon", -1.0),
        ("gpt2", "embd_pdrop", 7),
        ("gpt2", "model_type", "xlnet"),
        ("gpt2", "architectures", ["GPT2ForSequenceClassification"]),
        ("gpt2", "quantization_config", {"bits": 4}),
        ("gpt2", "auto_map", {"AutoModel": "theirs.Code"}),
        ("gpt2", "eos_token_id", "two"),
        ("llama", "rope_scaling", {"rope_type": "yarn", "factor": -4.0}),
        ("llama", "rope_parameters", {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [0.0]}),
        ("llama", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}),
        ("llama", "rope_parameters", {"rope_type": "linear", "rope_theta": 1e4, "factor": -2}),
        ("llama", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2]}),
        ("llama", "hidden_act", "mish"),
        ("llama", "num_key_value_heads", 3),
        ("llama", "sliding_window", 128),
        ("llama", "num_key_value_heads", 10**9),
        ("neox", "use_parallel_residual", "yes"),
        ("bert-fill", "position_embedding_type", "relative_key"),
        ("bert-fill", "hidden_act", "mish"),
        ("bert-fill", "is_decoder", True),
        ("bert-label", "id2label", {"0": "a", "7": "b"}),
        ("vit", "image_size", [16, 24]),
        ("vit", "patch_size", 5),
        ("marian", "decoder_ffn_dim", 64),
        ("marian", "normalize_before", True),
        ("marian", "tie_word_embeddings", False),
        ("t5", "feed_forward_proj", "gated-tanh"),
        ("t5", "dense_act_fn", "gelu"),
        ("t5", "relative_attention_max_distance", 2),
    ],
)
def test_settings_that_cannot_be(name: str, key: str, value: Any, copy: Any) -> None:
    folder = copy(name)
    change(folder, **{key: value})
    inner = key if not key.startswith("rope_") else "rope"
    message = {"n_embd": "n_embd", "num_key_value_heads": "heads", "patch_size": "patch"}.get(key, inner)
    refused(folder, "config.json", message, kind=ConfigError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"model_type": "gpt2", "layer_norm_epsilon": NaN}', "NaN"),
        ('{"model_type": "gpt2", "layer_norm_epsilon": 1e400}', "layer_norm_epsilon"),
        ('{"model_type": "gpt2", "n_layer": ' + "9" * 5000 + "}", "not JSON"),
        ('{"a": ' * 10_000 + "1" + "}" * 10_000, "nested"),
        ("[" * 10_000 + "]" * 10_000, "nested"),
        ("[1, 2]", "no JSON object"),
        ("{", "not JSON"),
        ("\ufeff{}", "model_type"),
        ("{}", "model_type"),
        ('{"model_type": ["gpt2"]}', "model_type"),
        ('{"model_type": "gpt2", "architectures": "GPT2LMHeadModel"}', "architectures"),
        (" " * 20_000_000, "bytes"),
    ],
    ids=lambda text: text[:20],
)
def test_files_that_are_no_config(text: str, message: str, copy: Any) -> None:
    folder = copy("gpt2")
    (folder / "config.json").write_text(text, encoding="utf-8")
    refused(folder, "config.json", message)
