"""Folders with a tokenizer, made by `tokenizers` and `transformers` as their users would: no token is named as ours."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tests.interop.families import MARIAN, SIZES, T5

TEXTS = [
    "Two dogs play in the snow. A cat sleeps on the mat, and the child looks at it.",
    "The house is small; the garden isn't. Über naïve café owners: 1,234 of them!",
] * 4
PROMPTS = ["Two dogs", "A cat sleeps on the", "the garden isn't", " the Über  café 12", ""]
BYTES = [f"<0x{number:02X}>" for number in range(256)]
WHOLE_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}


def byte_level(special: list[str]) -> Tokenizer:
    engine = Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    engine.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    engine.train_from_iterator(TEXTS, trainer)
    return engine


def llama_like() -> Tokenizer:
    """Spaces as signs, bytes for what is unknown, a start before every text, and a decoder that drops a first space."""
    engine = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    engine.decoder = decoders.Sequence(steps)
    special = ["<unk>", "<s>", "</s>"]
    engine.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=420, special_tokens=[*special, *BYTES], show_progress=False)
    )
    kept = json.loads(engine.to_str())
    kept["added_tokens"] = kept["added_tokens"][:3]  # the bytes are pieces of texts
    engine = Tokenizer.from_str(json.dumps(kept))
    engine.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return engine


def unigram(special: list[str]) -> Tokenizer:
    engine = Tokenizer(models.Unigram())
    engine.normalizer = normalizers.NFKC()
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    engine.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>", show_progress=False)
    engine.train_from_iterator(TEXTS, trainer)
    end = engine.token_to_id("</s>")
    engine.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", end)]
    )
    return engine


def folder(name: str, path: Path) -> Any:
    """A folder with random weights and its tokenizer; gives the model that `transformers` keeps there."""
    engine, names, kind, settings = MADE[name]()
    settings = settings | {"vocab_size": engine.get_vocab_size() + 3}  # some are padded to a round number
    cls = getattr(transformers, kind)
    torch.manual_seed(len(name))
    model = cls(cls.config_class(**settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(path)
    transformers.PreTrainedTokenizerFast(tokenizer_object=engine, **names).save_pretrained(path)
    return model


def _gpt2() -> Any:
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    return byte_level(["<|endoftext|>"]), names, "GPT2LMHeadModel", sizes


def _neox() -> Any:
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>") | {"pad_token": "<|padding|>"}
    more = {"use_parallel_residual": False, "rope_parameters": WHOLE_ROPE, "bos_token_id": 0, "eos_token_id": 0}
    return byte_level(["<|endoftext|>", "<|padding|>"]), names, "GPTNeoXForCausalLM", LONG | more


def _llama() -> Any:
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return llama_like(), names, "LlamaForCausalLM", LONG | {"bos_token_id": 1, "eos_token_id": 2}


def _t5() -> Any:
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return unigram(["<pad>", "</s>", "<unk>"]), names, "T5ForConditionalGeneration", EVEN


def _marian() -> Any:
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    engine = unigram(["</s>", "<unk>", "<pad>"])
    ids = {"pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2, "forced_eos_token_id": None}
    return engine, names, "MarianMTModel", MARIAN | ids | {"max_position_embeddings": 64}


def _chat() -> Any:
    engine, names, kind, settings = _llama()
    return engine, names | {"chat_template": CHAT}, kind, settings


def _bert() -> Any:
    engine = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    engine.normalizer, engine.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    engine.train_from_iterator(TEXTS, trainer)
    names = {f"{role}_token": f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}
    return engine, names, "BertModel", LONG


CHAT = (
    "{% for message in messages %}{{ message.role + ': ' + message.content + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
EVEN = T5 | {"decoder_start_token_id": 0, "num_decoder_layers": 2}  # their cache counts the encoder's layers
LONG = SIZES | {"max_position_embeddings": 64}
MADE = {"gpt2": _gpt2, "neox": _neox, "llama": _llama, "t5": _t5, "marian": _marian, "chat": _chat, "bert": _bert}
WRITERS, PAIRS = ("gpt2", "neox", "llama"), ("t5", "marian")
