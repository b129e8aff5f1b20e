"""A SentencePiece model as a tokenizer of the `tokenizers` library, with the same tokens (Kudo and Richardson, 2018).

What differs between the two libraries, and is put right here:

- a control symbol or a byte that a text spells out, such as "<s>", is text in SentencePiece. A unigram model of
  `tokenizers` would find it in its vocabulary, so that texts are cut within such names;
- a symbol that users define wins over all other pieces. In a unigram model that is its score; in BPE it is cut out
  before anything is merged;
- merges are not stored: they are all ways to join two pieces, the best piece first.
"""

import re
from collections.abc import Sequence

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine

from regard.text.spm_file import Kind, Piece, SentencePieceModel

SPACE = "▁"
USER_SCORE = -0.1  # of a symbol that users define: better than any piece, whose score is a log-probability
NOT_TEXT = (Kind.UNKNOWN, Kind.CONTROL, Kind.BYTE)


def build_engine(spm: SentencePieceModel) -> Engine:
    engine = Engine(_unigram(spm) if spm.model == "unigram" else _bpe(spm))
    frozen = [piece.text for piece in spm.pieces if piece.kind == Kind.USER_DEFINED] if spm.model != "unigram" else []
    engine.normalizer = normalizers.Sequence(_normalisers(spm, frozen))
    if cuts := _cuts(spm):
        engine.pre_tokenizer = pre_tokenizers.Sequence(cuts)
    engine.decoder = decoders.Sequence(_decoders(spm))
    engine.add_tokens([AddedToken(text, normalized=True, special=False) for text in frozen])
    special = [piece.text for piece in spm.pieces if piece.kind in (Kind.CONTROL, Kind.UNKNOWN)]
    engine.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in special])
    return engine


def _normalisers(spm: SentencePieceModel, frozen: Sequence[str]) -> list[normalizers.Normalizer]:
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(spm.charsmap)] if spm.charsmap else []
    if spm.squeeze:
        steps += [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if spm.prefix and frozen:  # names of these symbols are normalised too, and have no space before them
        others = "|".join(re.escape(text) for text in frozen)
        steps.append(normalizers.Replace(Regex(rf"\A(?!(?:{others})\z)(?=[\s\S])"), SPACE))
    elif spm.prefix:
        steps.append(normalizers.Prepend(SPACE))
    return [*steps, normalizers.Replace(" ", SPACE)]


def _decoders(spm: SentencePieceModel) -> list[decoders.Decoder]:
    steps: list[decoders.Decoder] = []
    if any(piece.kind == Kind.UNUSED for piece in spm.pieces):
        steps.append(decoders.Replace(" ", ""))
    steps.append(decoders.Replace(SPACE, " "))
    if spm.byte_fallback:
        steps.append(decoders.ByteFallback())
    steps.append(decoders.Fuse())
    return [*steps, decoders.Strip(" ", 1, 0)] if spm.prefix else steps


def _cuts(spm: SentencePieceModel) -> list[pre_tokenizers.PreTokenizer]:
    """Where no piece may reach across: before each word, which is faster, and within names that are not text."""
    if spm.model != "unigram":
        return []
    cuts: list[pre_tokenizers.PreTokenizer] = []
    if not any(SPACE in piece.text[1:] for piece in spm.pieces):
        cuts.append(pre_tokenizers.Split(SPACE, "merged_with_next"))
    first: dict[str, list[str]] = {}
    for piece in spm.pieces:
        if piece.kind in NOT_TEXT and len(piece.text) > 1:
            first.setdefault(piece.text[0], []).append(re.escape(piece.text[1:]))
    if first:
        ways = [f"(?<={re.escape(start)})(?={'|'.join(rest)})" for start, rest in first.items()]
        cuts.append(pre_tokenizers.Split(Regex("|".join(ways)), "isolated"))
    return cuts


def _unigram(spm: SentencePieceModel) -> models.Model:
    unknown = next(place for place, piece in enumerate(spm.pieces) if piece.kind == Kind.UNKNOWN)
    return models.Unigram([_scored(piece) for piece in spm.pieces], unknown, spm.byte_fallback)


def _scored(piece: Piece) -> tuple[str, float]:
    if piece.kind == Kind.UNUSED:  # no text has a space where it is looked up
        return f" {piece.text}", piece.score
    if piece.kind == Kind.USER_DEFINED:
        return piece.text, USER_SCORE
    return piece.text, piece.score if piece.kind == Kind.NORMAL else 0.0


def _bpe(spm: SentencePieceModel) -> models.Model:
    unknown = next(piece.text for piece in spm.pieces if piece.kind == Kind.UNKNOWN)
    return models.BPE(
        vocab={piece.text: number for number, piece in enumerate(spm.pieces)},
        merges=_merges(spm.pieces) if spm.model == "bpe" else [],
        unk_token=unknown,
        fuse_unk=True,
        byte_fallback=spm.byte_fallback,
    )


def _merges(pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """All ways to join two pieces into one, the piece with the highest score first."""
    scores = {piece.text: piece.score for piece in pieces if piece.kind not in NOT_TEXT}
    ways = [
        (-score, -cut, text[:cut], text[cut:])
        for text, score in scores.items()
        for cut in range(1, len(text))
        if text[:cut] in scores and text[cut:] in scores
    ]
    return [(left, right) for *_, left, right in sorted(ways, key=lambda way: way[:2])]
