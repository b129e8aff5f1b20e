"""One or two tiny models of every other family that is read, for the parity tests and the table of the documentation.

Name: (kind, class, settings). Windows are shorter than the texts, so that they count.
"""

from typing import Any

from tests.interop.families import IDS, LLAMA3, MARIAN, PICTURE, SIZES, T5

Case = tuple[str, str, dict[str, Any]]

LLAMA = SIZES | IDS
GROUPED = LLAMA | {"num_key_value_heads": 2}
SIZED = GROUPED | {"head_dim": 12}
GPTJ = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 24, "rotary_dim": 4} | IDS
MPT = {"vocab_size": 64, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 24} | IDS
FOUR = {"num_hidden_layers": 4}
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
HALF = ROPE | {"partial_rotary_factor": 0.5}
YARN = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 8}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 2.0}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 500.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3],
    "long_factor": [1.5, 2.0, 2.5, 3.0],
    "original_max_position_embeddings": 4,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
FALCON = {name: value for name, value in LLAMA.items() if name != "intermediate_size"}

DECODERS: dict[str, Case] = {
    "llama-yarn": ("causal", "LlamaForCausalLM", LLAMA | {"rope_parameters": YARN}),
    "llama-dynamic": ("causal", "LlamaForCausalLM", LLAMA | {"max_position_embeddings": 8, "rope_parameters": DYNAMIC}),
    "mistral": ("causal", "MistralForCausalLM", SIZED | {"sliding_window": 4}),
    "qwen2": (
        "causal",
        "Qwen2ForCausalLM",
        GROUPED | {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    "qwen3": ("causal", "Qwen3ForCausalLM", SIZED),
    "mixtral": ("causal", "MixtralForCausalLM", GROUPED | {"num_local_experts": 4}),
    "qwen3_moe": ("causal", "Qwen3MoeForCausalLM", SIZED | EXPERTS | {"moe_intermediate_size": 16}),
    "olmoe": ("causal", "OlmoeForCausalLM", GROUPED | EXPERTS | {"norm_topk_prob": True}),
    "gemma": ("causal", "GemmaForCausalLM", SIZED),
    "gemma2": (
        "causal",
        "Gemma2ForCausalLM",
        SIZED | {"sliding_window": 4, "query_pre_attn_scalar": 9, "attn_logit_softcapping": 2.0},
    ),
    "gemma3": (
        "causal",
        "Gemma3ForCausalLM",
        SIZED | FOUR | {"sliding_window": 4, "query_pre_attn_scalar": 9, "sliding_window_pattern": 2},
    ),
    "olmo": ("causal", "OlmoForCausalLM", GROUPED),
    "olmo2": ("causal", "Olmo2ForCausalLM", GROUPED),
    "exaone4": ("causal", "Exaone4ForCausalLM", GROUPED | FOUR | {"sliding_window": 4, "sliding_window_pattern": 2}),
    "granite": (
        "causal",
        "GraniteForCausalLM",
        GROUPED
        | {
            "embedding_multiplier": 3.0,
            "logits_scaling": 2.0,
            "residual_multiplier": 0.3,
            "attention_multiplier": 0.2,
        },
    ),
    "smollm3": ("causal", "SmolLM3ForCausalLM", GROUPED | FOUR),
    "starcoder2": ("causal", "Starcoder2ForCausalLM", GROUPED | {"sliding_window": 4}),
    "olmo3": ("causal", "Olmo3ForCausalLM", GROUPED | FOUR | {"sliding_window": 4}),
    "olmo3-yarn": (
        "causal",
        "Olmo3ForCausalLM",
        GROUPED | FOUR | {"sliding_window": 4, "rope_parameters": {"full_attention": YARN, "sliding_attention": ROPE}},
    ),
    "flex_olmo": ("causal", "FlexOlmoForCausalLM", GROUPED | EXPERTS),
    "ministral": ("causal", "MinistralForCausalLM", SIZED | {"sliding_window": 4}),
    "cwm": ("causal", "CwmForCausalLM", SIZED | FOUR | {"sliding_window": 4, "rope_parameters": LLAMA3}),
    "jais2": ("causal", "Jais2ForCausalLM", GROUPED),
    "hyperclovax": (
        "causal",
        "HyperCLOVAXForCausalLM",
        GROUPED | {"embedding_multiplier": 3.0, "logits_scaling": 2.0},
    ),
    "hyperclovax-plain": (
        "causal",
        "HyperCLOVAXForCausalLM",
        SIZED | {"head_dim": 8, "use_post_norm": False, "residual_multiplier": 0.3, "logits_scaling": 0.5},
    ),
    "vaultgemma": (
        "causal",
        "VaultGemmaForCausalLM",
        SIZED | {"sliding_window": 4, "query_pre_attn_scalar": 9, "attn_logit_softcapping": 2.0},
    ),
    "mpt": ("causal", "MptForCausalLM", MPT),
    "mpt-heads": ("causal", "MptForCausalLM", MPT | {"d_model": 36, "n_heads": 6}),
    "arcee": ("causal", "ArceeForCausalLM", SIZED),
    "seed_oss": ("causal", "SeedOssForCausalLM", SIZED),
    "stablelm": ("causal", "StableLmForCausalLM", GROUPED | {"use_qkv_bias": True, "rope_parameters": ROPE}),
    "stablelm-parallel": ("causal", "StableLmForCausalLM", GROUPED | {"use_parallel_residual": True}),
    "phi": ("causal", "PhiForCausalLM", GROUPED),
    "phi3": ("causal", "Phi3ForCausalLM", GROUPED | {"sliding_window": 4}),
    "phi3-longrope": (
        "causal",
        "Phi3ForCausalLM",
        GROUPED | {"rope_parameters": LONG, "original_max_position_embeddings": 4},
    ),
    "glm": ("causal", "GlmForCausalLM", SIZED | {"head_dim": 8}),
    "glm4": ("causal", "Glm4ForCausalLM", SIZED | {"head_dim": 8}),
    "nemotron": ("causal", "NemotronForCausalLM", SIZED | {"head_dim": 8}),
    "persimmon": ("causal", "PersimmonForCausalLM", LLAMA),
    "cohere": ("causal", "CohereForCausalLM", GROUPED),
    "cohere2": ("causal", "Cohere2ForCausalLM", GROUPED | FOUR | {"sliding_window": 4}),
    "helium": ("causal", "HeliumForCausalLM", GROUPED | {"head_dim": 8}),
    "ernie4_5": ("causal", "Ernie4_5ForCausalLM", GROUPED | {"head_dim": 8}),
    "neox-parallel": (
        "causal",
        "GPTNeoXForCausalLM",
        LLAMA | {"rope_parameters": ROPE | {"partial_rotary_factor": 0.5}},
    ),
    "gptj": ("causal", "GPTJForCausalLM", GPTJ),
    "codegen": ("causal", "CodeGenForCausalLM", GPTJ),
    "opt": ("causal", "OPTForCausalLM", FALCON | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "biogpt": ("causal", "BioGptForCausalLM", LLAMA),
    "xglm": (
        "causal",
        "XGLMForCausalLM",
        {"vocab_size": 64, "d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4} | IDS,
    ),
    "gpt_neo": (
        "causal",
        "GPTNeoForCausalLM",
        {"vocab_size": 64, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 4}
        | {"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 24}
        | IDS,
    ),
    "gpt_bigcode": ("causal", "GPTBigCodeForCausalLM", {k: v for k, v in GPTJ.items() if k != "rotary_dim"}),
    "falcon": ("causal", "FalconForCausalLM", FALCON | {"ffn_hidden_size": 48}),
    "falcon-grouped": ("causal", "FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "bloom": ("causal", "BloomForCausalLM", {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4} | IDS),
}

PADDED = SIZES | {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
DISTIL = {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 24}
NARROW = SIZES | IDS | {"embedding_size": 16}
MODERN = LLAMA | {"cls_token_id": 1, "sep_token_id": 2, "local_attention": 4, "global_attn_every_n_layers": 2} | FOUR
NAMED = {"id2label": {0: "bad", 1: "fair", 2: "good"}}
BIGBIRD = SIZES | IDS | {"attention_type": "original_full", "sep_token_id": 2}

ENCODERS: dict[str, Case] = {
    "bert-fill-relu": ("encoder", "BertForMaskedLM", SIZES | {"hidden_act": "relu"}),
    "bert-tag": ("encoder", "BertForTokenClassification", SIZES | NAMED),
    "bert-span": ("encoder", "BertForQuestionAnswering", SIZES),
    "ernie": ("encoder", "ErnieForMaskedLM", SIZES),
    "big_bird": ("encoder", "BigBirdForMaskedLM", BIGBIRD),
    "big_bird-label": ("encoder", "BigBirdForSequenceClassification", BIGBIRD),
    "roberta": ("encoder", "RobertaForMaskedLM", PADDED),
    "roberta-label": ("encoder", "RobertaForSequenceClassification", PADDED | NAMED),
    "xlm-roberta": ("encoder", "XLMRobertaForTokenClassification", PADDED | NAMED),
    "camembert": ("encoder", "CamembertForMaskedLM", PADDED),
    "data2vec-text": ("encoder", "Data2VecTextForQuestionAnswering", PADDED),
    "roberta-prelayernorm": ("encoder", "RobertaPreLayerNormForMaskedLM", PADDED),
    "mpnet": ("encoder", "MPNetForMaskedLM", PADDED),
    "mpnet-label": ("encoder", "MPNetForSequenceClassification", PADDED),
    "distilbert": ("encoder", "DistilBertForMaskedLM", DISTIL),
    "distilbert-label": ("encoder", "DistilBertForSequenceClassification", DISTIL | NAMED),
    "albert": ("encoder", "AlbertForMaskedLM", NARROW),
    "albert-label": ("encoder", "AlbertForSequenceClassification", NARROW | FOUR),
    "electra": ("encoder", "ElectraForMaskedLM", NARROW),
    "electra-label": ("encoder", "ElectraForSequenceClassification", NARROW),
    "rembert": ("encoder", "RemBertForSequenceClassification", SIZES | IDS | {"input_embedding_size": 16}),
    "roformer": ("encoder", "RoFormerForMaskedLM", NARROW),
    "modernbert": ("encoder", "ModernBertForMaskedLM", MODERN),
    "modernbert-label": ("encoder", "ModernBertForSequenceClassification", MODERN | {"classifier_pooling": "mean"}),
}

BART = MARIAN | {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
PAIRS: dict[str, Case] = {
    "mt5": ("pairs", "MT5ForConditionalGeneration", T5 | {"decoder_start_token_id": 0, "num_decoder_layers": 2}),
    "bart": ("pairs", "BartForConditionalGeneration", BART),
    "plbart": ("pairs", "PLBartForConditionalGeneration", BART),
    "mbart": ("pairs", "MBartForConditionalGeneration", BART),
    "pegasus": ("pairs", "PegasusForConditionalGeneration", BART),
    "m2m_100": ("pairs", "M2M100ForConditionalGeneration", BART),
    "blenderbot": ("pairs", "BlenderbotForConditionalGeneration", BART),
}

DINO = {name: value for name, value in PICTURE.items() if name != "intermediate_size"}
PICTURES: dict[str, Case] = {
    "deit": ("pictures", "DeiTForImageClassification", PICTURE),
    "vit_msn": ("pictures", "ViTMSNForImageClassification", PICTURE),
    "dinov2": ("pictures", "Dinov2ForImageClassification", DINO),
    "dinov2-swiglu": ("pictures", "Dinov2ForImageClassification", DINO | {"use_swiglu_ffn": True}),
    "dinov2_with_registers": (
        "pictures",
        "Dinov2WithRegistersForImageClassification",
        DINO | {"num_register_tokens": 2},
    ),
}
FALCON_ALIBI = FALCON | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}
ZOO = DECODERS | ENCODERS | PAIRS | PICTURES
