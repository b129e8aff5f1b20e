"""SentencePiece models to read: texts of many scripts, and what `sentencepiece` trains on them."""

import io
import random
from functools import cache
from typing import Any

RANGES = {  # first and last character of a script, and how often a word is in it
    (0x20, 0x7E): 30, (0xA1, 0x17F): 8, (0x370, 0x3FF): 6, (0x400, 0x45F): 10, (0x5D0, 0x5EA): 3, (0x621, 0x652): 8,
    (0x905, 0x94D): 8, (0xE01, 0xE4E): 5, (0x3041, 0x3096): 6, (0x30A1, 0x30FA): 6, (0x4E00, 0x4E80): 10,
    (0xAC00, 0xAC80): 6, (0xFF01, 0xFF5E): 5, (0x1F600, 0x1F640): 2, (0x2010, 0x2044): 2, (0x2150, 0x2188): 2,
}  # fmt: skip
SHARED = {"vocab_size": 1500, "character_coverage": 0.98, "hard_vocab_limit": False}
PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
PAIRS = {"model_type": "bpe", "vocab_size": 2500}
USER = ["<sep>", "foo", "("]
SPACES = ["▁▁", "▁▁▁", "▁▁▁▁"]
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "unigram, plain": PLAIN,
    "unigram, bytes": {"byte_fallback": True},
    "unigram, symbols": {"user_defined_symbols": USER, "control_symbols": ["<ctl>"]},
    "unigram, across spaces": {"split_by_whitespace": False},
    "unigram, lower case": {"normalization_rule_name": "nmt_nfkc_cf"},
    "bpe": PAIRS,
    "bpe, symbols": {**PAIRS, "user_defined_symbols": USER},
    "llama": {**PAIRS, **PLAIN, "byte_fallback": True, "allow_whitespace_only_pieces": True, "split_digits": True},
    "gemma": {
        **PAIRS, **PLAIN, "byte_fallback": True, "add_dummy_prefix": False,
        "user_defined_symbols": [*SPACES, "<sep>", "foo"],
    },
    "characters": {"model_type": "char"},
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "target": {"vocab_size": 1200},
}  # fmt: skip


def word(rng: random.Random) -> str:
    [(low, high)] = rng.choices(list(RANGES), list(RANGES.values()))
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8)))


@cache
def words() -> list[str]:
    rng = random.Random(0)
    return [word(rng) for _ in range(600)]


def text(rng: random.Random, known: float) -> str:
    """A few words, of which this part is known from training."""
    return " ".join(rng.choice(words()) if rng.random() < known else word(rng) for _ in range(rng.randint(1, 14)))


def texts(count: int, seed: int, known: float = 0.5) -> list[str]:
    rng = random.Random(seed)
    return [text(rng, known) for _ in range(count)]


@cache
def trained(kind: str) -> bytes:
    import sentencepiece

    written = io.BytesIO()
    settings = {"model_type": "unigram", **SHARED, **KINDS[kind]}
    corpus = iter(texts(3000, seed=1, known=0.8))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=corpus, model_writer=written, minloglevel=2, num_threads=1, **settings
    )
    return written.getvalue()
