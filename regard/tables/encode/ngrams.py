"""Hashed n-grams of texts as sparse counts (`regard.tables.encode.hashing`)."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from regard.tables.encode.hashing import MAX_CHARACTERS, ngram_buckets, normalise

BITS = 15
BUCKETS = 1 << BITS  # of pieces, and as many of words
CHARACTERS_PER_PASS = 500_000


def count_ngrams(texts: Sequence[str], bits: int = BITS, max_characters: int = MAX_CHARACTERS) -> sparse.csr_array:
    """How often each n-gram occurs in each text: the first half of the buckets counts pieces, the second words.

    There are `2**bits` buckets in each half.
    """
    parts, some, size = [], [], 0
    for text in texts:
        some.append(normalise(text, max_characters))
        size += len(some[-1])
        if size > CHARACTERS_PER_PASS:
            parts.append(_count(some, bits))
            some, size = [], 0
    if some or not parts:
        parts.append(_count(some, bits))
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _count(texts: Sequence[str], bits: int) -> sparse.csr_array:
    rows, buckets = ngram_buckets(texts, bits)
    ones = np.ones(len(buckets), np.float32)
    return sparse.csr_array(sparse.coo_array((ones, (rows, buckets)), (len(texts), 2 << bits)))
