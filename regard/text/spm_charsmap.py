"""How SentencePiece normalises characters: a trie of texts, and what each becomes, in one block of bytes.

The `tokenizers` library follows the trie without checking where it leads, so a damaged one would end the program in the
middle of a text. Here every path is followed once, before a tokenizer is built. The trie is a double array (Aoe, 1989),
as Darts-clone stores it: a unit is 32 bits with a label, a leaf's flag, and the offset of its children.
"""

import numpy as np

LEAF, WIDE = 1 << 8, 1 << 9
LABEL = 1 << 31 | 0xFF
BLOCK = 256  # units: children differ from their parent's offset in the last eight bits


def check_charsmap(charsmap: bytes) -> None:
    """Raise a `ValueError` unless every path of the trie stays within it and every leaf names a text."""
    if not charsmap:
        return
    size = int.from_bytes(charsmap[:4], "little")
    if size % 4 or not size or 4 + size > len(charsmap):
        raise ValueError("its normaliser is cut short (precompiled_charsmap)")
    units, texts = np.frombuffer(charsmap, "<u4", size // 4, offset=4), charsmap[4 + size :]
    if len(units) % BLOCK or not _leads_within(units, texts):
        raise ValueError("its normaliser leads out of the file (precompiled_charsmap)")
    try:
        texts.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("its normaliser is not UTF-8 (precompiled_charsmap)") from None


def _leads_within(units: np.ndarray, texts: bytes) -> bool:
    """Follow the trie from its root, all nodes of a depth at once."""
    starts = np.zeros(len(texts) + 1, bool)  # of texts: a leaf names no byte in the middle of one
    starts[0] = True
    starts[1:] = np.frombuffer(texts, np.uint8) == 0
    starts[len(texts) :] = False
    seen = np.zeros(len(units), bool)
    labels = np.arange(1, 256)
    bases = np.array([_offset(units[:1])[0]])
    while len(bases):
        if bases.max() >= len(units):
            return False
        children = (bases[:, None] ^ labels).reshape(-1)  # in the block of their base, and so within
        reached = children[(units[children] & LABEL) == np.tile(labels, len(bases))]
        reached = np.unique(reached)
        reached = reached[~seen[reached]]  # ends that paths have in common are stored once
        seen[reached] = True
        bases = reached ^ _offset(units[reached])
        if len(bases) and bases.max() >= len(units):
            return False
        values = units[bases[(units[reached] & LEAF) > 0]] & 0x7FFFFFFF
        if len(values) and (values.max() >= len(texts) or not starts[values].all()):
            return False
    return True


def _offset(units: np.ndarray) -> np.ndarray:
    return ((units >> 10) << ((units & WIDE) >> 6)).astype(np.int64)
