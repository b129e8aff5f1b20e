"""The tokenizer of another library's folder, and which of its tokens fill up, begin and end a text.

Names differ from folder to folder, so roles are found as `transformers` finds them: by ids of generation_config.json
and config.json, by the names of tokenizer_config.json and special_tokens_map.json, and last by the usual names.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers

from regard.core.errors import UserError
from regard.interop.folder import file_in, has_file, one_line, read_json
from regard.interop.special import ROLES
from regard.interop.spm import find_spm, is_marian, marian_engines, read_framing, spm_engine
from regard.models import BERT, GPT, Model, Transformer
from regard.text import SpecialTokens, Tokenizer

JSON, MERGES = "tokenizer.json", ("vocab.json", "merges.txt")
WORDS = "vocab.txt"
HOW = "transformers writes one: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"


def read_tokenizer(folder: Path, config: Model) -> Tokenizer:
    """A folder whose texts cannot be read is refused with what it lacks."""
    settings = TokenizerSettings(folder)
    two = getattr(config, "target_vocab", None) is not None
    if is_marian(folder) and isinstance(config, Transformer) and (two or not has_file(folder, JSON)):
        return _read_pair(folder, config, settings, two)
    if two:
        raise UserError(f"its source and target vocabularies differ, and one {JSON} holds only one")
    return _checked(_engine(folder, config, settings), config, settings)


def _read_pair(folder: Path, config: Transformer, settings: "TokenizerSettings", two: bool) -> Tokenizer:
    """Sources and targets that are cut by files of their own, and have the same special tokens."""
    source, target = marian_engines(folder, two)
    written = _checked(target, replace(config, vocab=config.target_vocab or config.vocab), settings)
    read = _checked(source, config, settings)
    roles = (read.pad, read.start, read.end)
    if roles != (written.pad, written.start, written.end):
        raise UserError("its special tokens have other numbers in sources than in targets")
    return Tokenizer(source, SpecialTokens(*roles, tuple(sorted(read.ends))), written)


def _checked(engine: Engine, config: Model, settings: "TokenizerSettings") -> Tokenizer:
    special = {number for number, token in engine.get_added_tokens_decoder().items() if token.special}
    highest = max((number for number in engine.get_vocab().values() if number not in special), default=0)
    vocab = getattr(config, "vocab", 0)
    if highest >= vocab:
        raise UserError(f"its tokenizer has tokens up to number {highest:,}, the model only {vocab:,} tokens")
    return Tokenizer(engine, _roles(engine, config, settings, vocab))


class TokenizerSettings:
    """What the files beside the weights say of special tokens."""

    def __init__(self, folder: Path):
        self.ids = self._read(folder, "config.json") | self._read(folder, "generation_config.json")
        self.names = self._read(folder, "special_tokens_map.json") | self._read(folder, "tokenizer_config.json")

    @staticmethod
    def _read(folder: Path, name: str) -> dict[str, Any]:
        data = read_json(folder, name) if has_file(folder, name) else {}
        return {key: value for key, value in data.items() if value is not None}

    def name(self, role: str) -> str | None:
        """Some files give a token as its text, others with how it is cut from a text."""
        value = self.names.get(f"{role}_token")
        value = value.get("content") if isinstance(value, dict) else value
        return value if isinstance(value, str) else None

    def flag(self, key: str, default: bool) -> bool:
        value = self.names.get(key, default)
        return value if isinstance(value, bool) else default


def _engine(folder: Path, config: Model, settings: TokenizerSettings) -> Engine:
    try:
        if has_file(folder, JSON):
            return Engine.from_str(file_in(folder, JSON).read_text(encoding="utf-8"))
        if isinstance(config, GPT) and all(has_file(folder, name) for name in MERGES):
            vocab, merges = (file_in(folder, name) for name in MERGES)
            return _from_merges(vocab, merges, settings)
        if isinstance(config, BERT) and has_file(folder, WORDS):
            return _from_words(file_in(folder, WORDS), settings)
        if (pieces := find_spm(folder)) is not None:
            framing = read_framing(folder, settings.names, str(settings.ids.get("model_type", "")))
            return spm_engine(folder, pieces, config, framing)
    except OSError as error:
        raise UserError(f"its {JSON} cannot be read ({error.strerror})") from None
    except UserError:
        raise
    except Exception as error:  # the library raises bare exceptions
        raise UserError(f"its tokenizer cannot be read ({one_line(error)})") from None
    raise UserError(f"has no {JSON}; {HOW}")


def _from_merges(vocab: Path, merges: Path, settings: TokenizerSettings) -> Engine:
    """Bytes and their merges in two files, as GPT-2 came."""
    engine = Engine(models.BPE.from_file(str(vocab), str(merges)))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=settings.flag("add_prefix_space", False))
    engine.decoder = decoders.ByteLevel()
    return _with_special(engine, settings)


def _from_words(vocab: Path, settings: TokenizerSettings) -> Engine:
    """Pieces of words, one a line, as BERT came."""
    engine = Engine(models.WordPiece.from_file(str(vocab), unk_token=settings.name("unk") or ROLES["unk"][1]))
    engine.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.flag("tokenize_chinese_chars", True),
        strip_accents=settings.names.get("strip_accents"),
        lowercase=settings.flag("do_lower_case", True),
    )
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return _with_special(engine, settings)


def _with_special(engine: Engine, settings: TokenizerSettings) -> Engine:
    """Such files do not say which tokens are special."""
    known = engine.get_vocab()
    names = {name for role, usual in ROLES.items() for name in (settings.name(role), *usual) if name in known}
    engine.add_special_tokens(sorted(names, key=lambda name: known[name]))
    return engine


def _roles(engine: Engine, config: Model, settings: TokenizerSettings, vocab: int) -> SpecialTokens:
    def ids_of(*roles: str) -> list[int]:
        """The tokens of the first of these roles that a file or custom names, where the model has them."""
        for role in roles:
            for candidates in _candidates(role, engine, settings):
                if valid := [number for number in candidates if 0 <= number < vocab]:
                    return valid
        return []

    ends = ids_of("sep", "eos") if isinstance(config, BERT) else ids_of("eos")
    if not ends:
        raise UserError("names no token that ends a text; set eos_token in tokenizer_config.json")
    named = engine.token_to_id(settings.name("eos") or "")
    end = named if named in ends else ends[0]  # of several, the one that the tokenizer itself ends a text with
    pad = [*ids_of("pad"), end][0]
    if isinstance(config, BERT):
        start = [*ids_of("cls", "bos"), end][0]
    elif isinstance(config, Transformer):
        start = [*ids_of("decoder_start"), pad][0]  # as T5 and Marian do where they do not say
    else:
        start = [*ids_of("bos"), end][0]
    if not isinstance(config, GPT):
        return SpecialTokens(pad, start, end, tuple(ends))
    # The turns of a chat are marked by the names of special tokens.
    return SpecialTokens(pad, start, end, tuple(ends), _before(engine), reads_special=True)


def _candidates(role: str, engine: Engine, settings: TokenizerSettings) -> Iterator[list[int]]:
    value = settings.ids.get(f"{role}_token_id")
    yield [number for number in (value if isinstance(value, list) else [value]) if type(number) is int]
    for name in (settings.name(role), *ROLES.get(role, ())):
        number = None if name is None else engine.token_to_id(name)
        yield [] if number is None else [number]


def _before(engine: Engine) -> tuple[int, ...]:
    """What the file itself puts before a text, such as the start of Llama."""
    encoding = engine.encode("a")
    ordinary = (place for place, special in enumerate(encoding.special_tokens_mask) if not special)
    return tuple(encoding.ids[: next(ordinary, 1)])
