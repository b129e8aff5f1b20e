"""Kinds of tokenizer, each trained on one's own text: characters, bytes, BPE, WordPiece, Unigram, or as it asks."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine

from regard.core.errors import at_least
from regard.text.tokenizer import SPECIAL, UNKNOWN, Tokenizer

MOST_COUNTED = 10_000  # texts whose words are counted
STRANGE = 0.4  # share of texts of such words: a tenth of twenty sentences, half of pairs with a number


@dataclass(frozen=True)
class Characters:
    """Every character that occurs is a token."""

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = Engine(models.WordLevel(unk_token=UNKNOWN))
        engine.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        engine.decoder = decoders.Fuse()
        trainer = trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False)
        return _trained(engine, trainer, texts)


@dataclass(frozen=True)
class Bytes:
    """Every byte is a token: 256 of them write any text."""

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = _byte_level(models.BPE())
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=len(SPECIAL) + 256, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
        return _trained(engine, trainer, [])


@dataclass(frozen=True)
class BPE:
    """Bytes, and the pairs that occur most often, merged again and again (Sennrich et al., 2016)."""

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
class WordPiece:
    """Words cut into the longest known pieces, lower-cased and without accents (BERT's way)."""

    vocab: int = 8000
    lower: bool = True

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
class Unigram:
    """The pieces that make the text likeliest (Kudo, 2018)."""

    vocab: int = 8000

    def __post_init__(self) -> None:
        at_least(len(SPECIAL) + 1, vocab=self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        engine = Engine(models.Unigram())
        engine.normalizer = normalizers.NFKC()
        # Angle brackets stand alone, or "<s>" in a user's text would be found among the pieces: the special one.
        brackets = pre_tokenizers.Split(Regex("[<>]"), "isolated")
        engine.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), brackets])
        engine.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocab, special_tokens=SPECIAL, unk_token=UNKNOWN, show_progress=False
        )
        return _trained(engine, trainer, texts)


@dataclass(frozen=True)
class Auto:
    """BPE; or characters, where words hardly come back: of numbers, codes and names BPE learns each one by heart."""

    vocab: int = 8000

    def __post_init__(self) -> None:
        BPE(self.vocab)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        texts = iter(texts)
        some = list(islice(texts, MOST_COUNTED))
        if not words_hardly_come_back(some):
            return BPE(self.vocab).train(chain(some, texts))
        told = "many of these texts are of words that occur once, so each character is a token"
        print(f"note: {told}; --data.tokenizer BPE overrules it", file=sys.stderr)
        return Characters().train(chain(some, texts))


@dataclass(frozen=True)
class Given:
    """A tokenizer that was trained before: a tokenizer.json."""

    file: str

    def train(self, texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.adopt(Path(self.file))


Tokenizing = Auto | Characters | Bytes | BPE | WordPiece | Unigram | Given


def words_hardly_come_back(texts: Sequence[str]) -> bool:
    """Whether in many of the texts two words of three stand nowhere else.

    Only words of ASCII count: what stands between blanks in Chinese or Thai is a sentence.
    """
    cut = [text.split() for text in texts if text.strip()]
    counts = Counter(word for words in cut for word in words if word.isascii())
    strange = sum(3 * sum(counts[word] == 1 for word in words) >= 2 * len(words) for words in cut)
    return strange > STRANGE * len(cut)


def _byte_level(model: models.Model) -> Engine:
    engine = Engine(model)
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    return engine


def _trained(engine: Engine, trainer: trainers.Trainer, texts: Iterable[str]) -> Tokenizer:
    engine.train_from_iterator(texts, trainer)
    return Tokenizer(engine)
