"""Tokenizer configs, each trained on the user's text: characters, bytes, BPE, WordPiece, Unigram, or automatic."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine

from regard.core.config import Config
from regard.core.errors import ConfigError, at_least
from regard.text.tokenizer import SPECIAL, UNKNOWN, Tokenizer

log = logging.getLogger(__name__)
COUNTED = 10_000  # texts whose words are counted
MANY_RARE = 0.4  # fraction of texts; it is about 0.1 for twenty sentences and 0.5 for pairs of names and numbers


class TokenizerFamily(Config):
    """The family of tokenizers; one of your own inherits from a member."""


@dataclass(frozen=True)
class Characters(TokenizerFamily):
    """One token for each character that occurs."""

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = Engine(models.WordLevel(unk_token=UNKNOWN))
        engine.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        engine.decoder = decoders.Fuse()
        trainer = trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False)
        return _trained(engine, trainer, texts)


@dataclass(frozen=True)
class Bytes(TokenizerFamily):
    """One token for each byte, which covers any text."""

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = _byte_level(models.BPE())
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=len(SPECIAL) + 256, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
        return _trained(engine, trainer, [])


@dataclass(frozen=True)
class BPE(TokenizerFamily):
    """Byte-level byte-pair encoding: the most frequent pairs are merged repeatedly (Sennrich et al., 2016)."""

    vocab: int = 8000

    def __post_init__(self) -> None:
        at_least(len(SPECIAL) + 256, vocab=self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocab, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
        return _trained(_byte_level(models.BPE()), trainer, texts)


@dataclass(frozen=True)
class WordPiece(TokenizerFamily):
    """Words split into the longest known pieces; lower-cased and without accents by default, as in BERT."""

    vocab: int = 8000
    lower: bool = True  # lower-case, and strip accents

    def __post_init__(self) -> None:
        at_least(len(SPECIAL) + 1, vocab=self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = Engine(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=100))
        engine.normalizer = normalizers.BertNormalizer(lowercase=self.lower)
        engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        engine.decoder = decoders.WordPiece(cleanup=False)
        trainer = trainers.WordPieceTrainer(vocab_size=self.vocab, special_tokens=SPECIAL, show_progress=False)
        return _trained(engine, trainer, texts)


@dataclass(frozen=True)
class Unigram(TokenizerFamily):
    """The segmentation with the highest likelihood under a unigram model (Kudo, 2018)."""

    vocab: int = 8000

    def __post_init__(self) -> None:
        at_least(len(SPECIAL) + 1, vocab=self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = Engine(models.Unigram())
        engine.normalizer = normalizers.NFKC()
        # Angle brackets are separate tokens; otherwise "<s>" in a user's text would become the special token.
        brackets = pre_tokenizers.Split(Regex("[<>]"), "isolated")
        engine.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), brackets])
        engine.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocab, special_tokens=SPECIAL, unk_token=UNKNOWN, show_progress=False
        )
        return _trained(engine, trainer, texts)


@dataclass(frozen=True)
class Auto(TokenizerFamily):
    """BPE; or characters if most words are rare, as in numbers, codes and names, which BPE would memorise."""

    vocab: int = 8000

    def __post_init__(self) -> None:
        BPE(self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        texts = iter(texts)
        sample = list(islice(texts, COUNTED))
        if not mostly_rare_words(sample):
            return BPE(self.vocab).train(chain(sample, texts))
        log.info("many texts are mostly words that occur once: each character is a token (else --data.tokenizer BPE)")
        return Characters().train(chain(sample, texts))


@dataclass(frozen=True)
class TokenizerFile(TokenizerFamily):
    """An existing tokenizer: a tokenizer.json."""

    file: str

    def train(self, texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.load_external(Path(self.file))


TokenizerConfig = Auto | Characters | Bytes | BPE | WordPiece | Unigram | TokenizerFile


def train_tokenizer(config: TokenizerConfig | None, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer of a config, trained on texts; None is for runs that have the one of a pre-trained model."""
    if config is None:
        raise ConfigError("data.tokenizer: needs a kind, such as BPE, unless training starts from another run")
    return config.train(texts)


def mostly_rare_words(texts: Sequence[str]) -> bool:
    """Whether in many of the texts two words of three occur nowhere else.

    Only ASCII words count: in Chinese or Thai the text between two spaces is a sentence.
    """
    split = [text.split() for text in texts if text.strip()]
    counts = Counter(word for words in split for word in words if word.isascii())
    rare = sum(3 * sum(counts[word] == 1 for word in words) >= 2 * len(words) for words in split)
    return rare > MANY_RARE * len(split)


def _byte_level(model: models.Model) -> Engine:
    engine = Engine(model)
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    return engine


def _trained(engine: Engine, trainer: trainers.Trainer, texts: Iterable[str]) -> Tokenizer:
    engine.train_from_iterator(texts, trainer)
    return Tokenizer(engine)
