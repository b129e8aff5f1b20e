"""Batches of tagged sentences: the label of a word is predicted at the position of its first token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.batch import TensorBatch
from regard.data.sampler import Sampler
from regard.data.text.pairs import pad
from regard.data.text.tagged import TaggedSentence, check_tag_labels
from regard.text import Tokenizer


class WordTokens(NamedTuple):
    """A sentence between start and end token."""

    tokens: list[int]
    first: list[int]  # the position of each word's first token; words after `max_length` are missing


class TaggedTokens(NamedTuple):
    words: WordTokens
    labels: list[int]  # of the words that are not cut off


def encode_words(sentences: Sequence[Sequence[str]], tokenizer: Tokenizer, max_length: int) -> list[WordTokens]:
    """Words joined by spaces and tokenised; at most `max_length` tokens with start and end."""
    texts = [" ".join(words) for words in sentences]
    return [
        _word_tokens(words, text, tokens, offsets, tokenizer, max_length - 2)
        for words, text, tokens, offsets in zip(
            sentences, texts, tokenizer.encode(texts), tokenizer.offsets(texts), strict=True
        )
    ]


def _word_tokens(
    words: Sequence[str],
    text: str,
    tokens: list[int],
    offsets: list[tuple[int, int]],
    tokenizer: Tokenizer,
    length: int,
) -> WordTokens:
    word_of = [number for number, word in enumerate(words) for _ in range(len(word) + 1)]  # of each character
    first: dict[int, int] = {}
    for position, (start, end) in enumerate(offsets):
        place = next((place for place in range(start, end) if not text[place].isspace()), None)
        if place is not None:
            first.setdefault(word_of[place], position)
    positions: list[int] = []
    for number in range(len(words)):
        # A word without a token, such as one control character, takes the token before it.
        position = 1 + first[number] if number in first else positions[-1] if positions else 0
        if position > length:
            break
        positions.append(position)
    return WordTokens([tokenizer.start, *tokens[:length], tokenizer.end], positions)


def encode_tagged(
    sentences: Sequence[TaggedSentence], labels: Sequence[str], tokenizer: Tokenizer, max_length: int
) -> list[TaggedTokens]:
    check_tag_labels(sentences, labels)
    ids = {label: number for number, label in enumerate(labels)}
    encoded = encode_words([sentence.words for sentence in sentences], tokenizer, max_length)
    return [
        TaggedTokens(words, [ids[label] for label in sentence.labels[: len(words.first)]])
        for sentence, words in zip(sentences, encoded, strict=True)
        if words.first
    ]


@dataclass(frozen=True)
class TaggedBatch(TensorBatch):
    tokens: Int[Tensor, "batch length"]
    valid: Bool[Tensor, "batch length"]  # False: padding
    first: Int[Tensor, "batch word"]  # the position of each word's first token
    label: Int[Tensor, "batch word"]
    label_valid: Bool[Tensor, "batch word"]  # False: padding
    mask: int  # the mask token, for token dropout

    @property
    def rows(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        return int(self.valid.sum())


class TaggedTexts:
    fixed_shape = False

    def __init__(self, sentences: Sequence[TaggedTokens], tokenizer: Tokenizer, batch: int, seed: int = 0):
        self.sentences, self.tokenizer, self.batch_size = sentences, tokenizer, batch
        self.sampler = Sampler([len(words.tokens) for words, _ in sentences], batch, seed)

    @property
    def steps_per_epoch(self) -> int:
        return self.sampler.steps_per_epoch

    def batch(self, step: int) -> TaggedBatch:
        return self._collate([self.sentences[number] for number in self.sampler.rows(step)])

    def once(self) -> Iterator[TaggedBatch]:
        for start in range(0, len(self.sentences), self.batch_size):
            yield self._collate(self.sentences[start : start + self.batch_size])

    def _collate(self, sentences: Sequence[TaggedTokens]) -> TaggedBatch:
        tokens, valid = pad([words.tokens for words, _ in sentences], self.tokenizer.pad)
        first, label_valid = pad([words.first for words, _ in sentences], 0)
        label, _ = pad([labels for _, labels in sentences], 0)
        return TaggedBatch(tokens, valid, first, label, label_valid, self.tokenizer.mask)
