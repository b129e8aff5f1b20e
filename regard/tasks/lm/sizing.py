"""The recipe of a language model fitted to its text and its minutes, by few rules, each with its reason.

The recipe was tuned on a megabyte of characters and ten minutes on two cores. From there: less text gets a smaller
model, which it can fill; hours get a larger one, ten tokens for each parameter, as in scaling laws (Hoffmann et al.,
2022); and more than a few megabytes become subwords. What the user sets is not touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import sqrt

from torch import get_num_threads

from regard.core.errors import UserError
from regard.core.machine import best_device, has_fast_bfloat16
from regard.data.decompress import compression_of
from regard.data.text.corpus import Corpus
from regard.data.text.documents import Documents, text_files
from regard.models import GPT
from regard.tasks.plan import Plan
from regard.text import BPE, Bytes, Characters, TokenizerConfig

Reasons = Mapping[str, str]  # by the setting that each explains; that of a warning is empty

MEGABYTE = 1e6
TUNED_TEXT, TUNED_SIZE = 1.1e6, 4.7e6  # characters and parameters that the recipe was tuned with
SIZES = (
    (64, 2, 1),
    (128, 3, 2),
    (192, 4, 3),
    (256, 6, 4),
    (384, 6, 6),
    (512, 8, 8),
    (768, 12, 12),
)  # width, layers, heads
NEAR = 1.6  # a model this many times larger than the rule says is still taken
# A second of training by a core, or by a GPU; six for each parameter and token.
FLOPS, BFLOAT16_FLOPS, GPU_FLOPS = 6e10, 1.4e11, 1e13
TOKENS_EACH = 10  # tokens read for each parameter of a model that is as large as its time can train
VOCABS = ((6e6, 4000), (3e7, 8000), (float("inf"), 16000))  # subwords of models up to this many parameters
UNPACKED = 3.5  # bytes of text in a byte of a compressed file, about
LETTERS = 300  # characters of an alphabet with its marks; scripts with more are not read letter by letter
FEW_CHARACTERS, PER_TOKEN = 4e6, 3.5  # text up to this size is read by characters; characters of a subword, about
SAMPLE = 20  # pieces of text whose characters are counted
TOO_FEW = 50_000  # tokens from which nothing but single phrases can be learned
MAX_EPOCHS = 60.0
USUAL_SPEED = ", at this machine's usual speed"


@dataclass(frozen=True)
class TextSize:
    size: float  # bytes, of compressed files estimated
    letters: int  # different characters in a sample
    names: str

    @staticmethod
    def of(corpus: Corpus) -> "TextSize":
        files = text_files(corpus.files)
        size = sum(file.stat().st_size * (UNPACKED if compression_of(file) else 1.0) for file in files)
        pieces = islice(Documents(tuple(map(str, files)), corpus.columns, corpus.separator).pieces(), SAMPLE)
        return TextSize(size, len(set("".join(piece.text for piece in pieces))), ", ".join(corpus.files))

    def __str__(self) -> str:
        return f"{self.size / MEGABYTE:,.1f} MB" if self.size >= 1e5 else f"{self.size / 1e3:,.0f} kB"


def fitted(plan: Plan, minutes: float | None = None, epochs: float | None = None) -> tuple[Plan, Reasons]:
    """The plan for this text and budget, and why; files that cannot be read are reported when training reads them."""
    assert isinstance(plan.data, Corpus)
    assert isinstance(plan.model, GPT)
    try:
        text = TextSize.of(plan.data)
    except (UserError, OSError):
        return plan, {}
    if not text.letters:
        return plan, {}
    minutes = minutes or plan.training.minutes or 10.0
    work = 60 * minutes * _flops()
    trainable = max(TUNED_SIZE, sqrt(work / (6 * TOKENS_EACH)))
    reasons: dict[str, str] = {}
    data, tokens = _tokens(plan.data, text, trainable, reasons)
    by_text = TUNED_SIZE * tokens / TUNED_TEXT
    limit = f"{tokens:,.0f} tokens of text" if by_text < trainable else f"{minutes:g} minutes"
    model = _model(plan.model, min(by_text, trainable), limit, reasons)
    vocab = data.tokenizer.vocab if isinstance(data.tokenizer, BPE) else LETTERS
    read = epochs or work / (6 * (parameters(model) + vocab * model.width)) / tokens
    too_often, read = epochs is None and read > MAX_EPOCHS, min(read, epochs or MAX_EPOCHS)
    dropout = 0.0 if read < 1 else 0.1 if read < 10 else 0.2 if read < 40 else 0.3
    reasons["model.dropout"] = f"dropout {dropout:g}: {_passes(read)} over the text{'' if epochs else USUAL_SPEED}"
    training = plan.training
    if too_often:
        training = replace(training, epochs=MAX_EPOCHS)
        reasons["training.epochs"] = f"at most {MAX_EPOCHS:g} epochs: more would only be learned by heart"
    if tokens < TOO_FEW:
        reasons[""] = f"{text.names}: {text} are too little text: expect memorised phrases, and add text if you can"
    return replace(plan, data=data, model=replace(model, dropout=dropout), training=training), reasons


def _flops() -> float:
    """What this machine computes in a second of training."""
    if best_device() != "cpu":
        return GPU_FLOPS
    return get_num_threads() * (BFLOAT16_FLOPS if has_fast_bfloat16() else FLOPS)


def _passes(count: float) -> str:
    """About so many, with one digit that counts."""
    if count < 1:
        return "less than one pass"
    rounded = round(count, 1 - len(str(int(count)))) if count >= 10 else round(count)
    return f"about {rounded:,.0f} pass{'' if rounded == 1 else 'es'}"


def parameters(model: GPT) -> float:
    """Of the blocks: four squares of the width for attention and eight for the feed-forward part."""
    return 12.0 * model.width**2 * model.layers


def _tokens(corpus: Corpus, text: TextSize, trainable: float, reasons: dict[str, str]) -> tuple[Corpus, float]:
    """The tokenizer and the length of a window; and how many tokens there will be, about."""
    tokenizer: TokenizerConfig
    if text.letters > LETTERS and text.size <= FEW_CHARACTERS:
        tokenizer, tokens = Bytes(), text.size
        reason = f"a token is a byte: {text} with {text.letters:,} different characters"
    elif text.size <= FEW_CHARACTERS:
        tokenizer, tokens = Characters(), text.size
        reason = f"a token is a character: {text} of text are too little for subwords"
    else:
        vocab = next(vocab for size, vocab in VOCABS if trainable <= size)
        tokenizer, tokens = BPE(vocab), text.size / PER_TOKEN
        reason = f"{vocab:,} subwords (BPE): {text} of text, and as many as a model of this size can learn"
    reasons["data.tokenizer"] = reason
    length = corpus.length
    while length > 16 and length > tokens / 20:
        length //= 2
    if length != corpus.length:
        reasons["data.length"] = f"windows of {length} tokens: the text has about {tokens:,.0f}"
    return replace(corpus, tokenizer=tokenizer, length=length), tokens


def _model(model: GPT, wanted: float, limit: str, reasons: dict[str, str]) -> GPT:
    """The largest of the sizes that is not much larger than wanted."""
    fit = [sizes for sizes in SIZES if 12 * sizes[0] ** 2 * sizes[1] <= NEAR * wanted]
    width, layers, heads = fit[-1] if fit else SIZES[0]
    chosen = replace(model, width=width, layers=layers, heads=heads)
    count = f"{parameters(chosen) / 1e6:.1f} million parameters"
    reasons["model"] = f"{layers} layers of width {width}, {count}: as large as {limit} can train"
    return chosen
