"""Record: run a model on an input while listening, and keep its answer, its tokens and every pattern."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.data.images.pixels import pixels
from regard.data.text.labelled import encode_texts, encode_trees
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.decode import continuation, text_writer, write
from regard.models import BERT, GPT, RNN, ClassifierHead, DecoderOnly, MaskedLMHead, Transformer, ViT
from regard.parts import ClassToken, Query
from regard.parts.positions import Positions
from regard.parts.taps import Heard, listen, taps
from regard.run import Run
from regard.tasks import Classify, ClassifyImages, Summarise
from regard.tasks.classify_images import pixel_chances
from regard.tasks.targets import attention
from regard.text import Gaps, Tokenizer
from regard.view.recording import AttentionMap, Recording, ViewedImage, ViewInput

MOST_BYTES = 2**30  # of patterns in a recording
GOES_ON = 24  # tokens that a language model writes after a text
SHOWN = 10  # probabilities
START, END = "⟨start⟩", "⟨end⟩"  # as they are drawn
CLASS, QUERY = "⟨class⟩", "⟨query⟩"
VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"})
ONLY_CURVES = "of such a run only the curves of training are drawn"

Recorder = Callable[[Run, ViewInput, Parse | None], Recording]


def record(run: Run, input: ViewInput, tree: Parse | None = None) -> Recording:
    """What the run answers, and what it looked at meanwhile; `tree` is that of the text, where places come from it."""
    recorder = RECORDERS.get(type(run.config))
    if recorder is None:
        why = "and what it looks at is not drawn yet" if taps(run.model) else f"no attention to draw: {ONLY_CURVES}"
        raise UserError(f"{run.path}: holds a {type(run.config).__name__}, {why}")
    return recorder(run, input, tree)


def _record_pair(run: Run, input: ViewInput, tree: Parse | None) -> Recording:
    """A source and its target: the one that is given, or the one that the model writes."""
    tokenizer, text, notes = _tokenizer(run), input.text, []
    if isinstance(run.task, Summarise):
        [spans] = tokenizer.spans([text])
        if len(spans) > run.task.longest:
            text = text[: spans[run.task.longest - 1][1]]
            notes.append(f"only the first {run.task.longest:,} of {len(spans):,} tokens are read")
    _afford(run, tokenizer, text)
    target = input.target
    if target is None:
        trees = None if tree is None else [tree]
        [target] = run.summarise([text]) if isinstance(run.task, Summarise) else run.translate([text], trees=trees)
    _afford(run, tokenizer, text, target)
    heard, *_ = attention(run.model, tokenizer, text, target, tree)
    source, written = (_labels(tokenizer, tokens) for tokens in tokenizer.encode([text, target]))
    read, so_far, writes = (*source, END), (START, *written), (*written, END)
    if not heard:
        notes.append("this model has no attention: it knows its source only through the state that its encoder ends in")
    maps = []
    for name, pattern in _patterns(heard).items():
        if ".cross" in name:
            maps.append(AttentionMap(name, pattern, writes, read, "cross"))
        elif name.startswith("encoder"):
            maps.append(_map(name, pattern, read, read))
        elif isinstance(run.config, DecoderOnly):
            both = (*read, *so_far)
            maps.append(_map(name, pattern, both, both, source=len(read)))
        else:
            maps.append(_map(name, pattern, writes, so_far, written=True))
    return Recording(input, target, (), tuple(maps), tuple(notes))


def _record_language(run: Run, input: ViewInput, tree: Parse | None) -> Recording:
    """A text is read once: for its patterns, and to go on writing from."""
    tokenizer, model = _tokenizer(run), text_writer(run.model)
    tokens = tokenizer.prompt(input.text)
    _refuse_long(run, len(tokens))
    with torch.inference_mode(), listen(run.model) as heard:
        logits, state = model.step(torch.tensor([tokens]), model.init_state(len(tokens) + GOES_ON))
    probabilities = logits[0, -1].float().softmax(-1)
    best = probabilities.topk(min(SHOWN, len(probabilities)))
    names = _labels(tokenizer, best.indices.tolist())
    more, written = GOES_ON, best.indices[:1].tolist()
    if model.max_positions is not None:
        more = min(more, model.max_positions - len(tokens) + 1)
    if written[0] != tokenizer.end and more > 1:
        written += write(model, state, best.indices[None, :1], tokenizer.end, more - 1)[0]
    labels = _labels(tokenizer, tokens)
    maps = tuple(_map(name, pattern, labels, labels) for name, pattern in _patterns(heard).items())
    answer = continuation(tokenizer, tokens, written)
    return Recording(input, answer, tuple(zip(names, best.values.tolist(), strict=True)), maps)


def _record_encoder(run: Run, input: ViewInput, tree: Parse | None) -> Recording:
    """A text read both ways: its gaps are filled, or its label is named."""
    assert isinstance(run.config, BERT)
    tokenizer, notes = _tokenizer(run), []
    answer, probabilities = "", []
    if isinstance(run.config.head, MaskedLMHead):
        [tokens] = Gaps(tokenizer).encode([input.text])
        _refuse_long(run, len(tokens))
        [answer], [gaps] = run.fill([input.text]), run.guesses([input.text], SHOWN)
        probabilities = [(guess.word, guess.chance) for guess in gaps[0]] if gaps else []
        if not gaps:
            notes.append("nothing to fill in: write [MASK] in place of a word")
        elif len(gaps) > 1:
            notes.append("the probabilities are those of the first [MASK]")
        _, heard = _hear(run, tokens)
    else:
        longest = run.task.longest if isinstance(run.task, Classify) else 512
        [whole], [tokens] = tokenizer.encode([input.text]), encode_texts([input.text], tokenizer, longest)
        if len(whole) > longest - 2:
            notes.append(f"only the first {longest - 2:,} of {len(whole):,} tokens are read")
        hung = encode_trees([input.text], None if tree is None else [tree], tokenizer, longest)
        scores, heard = _hear(run, tokens, None if hung is None else pad_trees(hung))
        if isinstance(run.config.head, ClassifierHead):
            best = scores[0].float().softmax(-1).sort(descending=True)
            names = _label_names(run)
            probabilities = [
                (names(place), probability) for place, probability in zip(*map(Tensor.tolist, best[::-1]), strict=True)
            ]
            answer = probabilities[0][0]
    labels = _labels(tokenizer, tokens)
    maps = tuple(_map(name, pattern, labels, labels) for name, pattern in _patterns(heard).items())
    return Recording(input, answer, tuple(probabilities[:SHOWN]), maps, tuple(notes))


def _record_image(run: Run, input: ViewInput, tree: Parse | None) -> Recording:
    """A picture, as the model reads it; its patches are named by their row and column."""
    config, task = run.config, run.task
    assert isinstance(config, ViT)
    if not isinstance(task, ClassifyImages):
        raise UserError(f"{run.path}: was not trained on images")
    if input.image is None:
        raise UserError(f"{run.path}: reads images, and was given none")
    across = config.image // config.patch
    _refuse_long(run, across**2 + config.pool.tokens, "image", "take a model of larger patches")
    image = pixels(input.image.data, config.image, config.channels, task.framing, input.image.name)
    with listen(run.model) as heard:
        [scores] = pixel_chances(run.model, task, np.stack([image]))
    best = scores.topk(min(SHOWN, len(scores)))
    names = _label_names(run)
    probabilities = tuple(
        (names(place), probability) for place, probability in zip(*map(Tensor.tolist, best[::-1]), strict=True)
    )
    patches = tuple(f"{row},{column}" for row in range(1, across + 1) for column in range(1, across + 1))
    tokens = (*[CLASS] * config.pool.tokens, *patches)
    maps = tuple(
        _map(name, pattern, (QUERY,) if name.startswith("pool") else tokens, tokens)
        for name, pattern in _patterns(heard).items()
    )
    kinds = {ClassToken: "class token", Query: "learned query"}
    pool: Any = kinds.get(type(config.pool), "mean")
    viewed = ViewedImage(torch.from_numpy(np.array(image)), across, config.pool.tokens, pool)
    return Recording(input, probabilities[0][0], probabilities, maps, image=viewed)


# Who records which model. Another kind of input is a function here, a field of `ViewInput`, a name in
# `shown.input_kind`, and its form in page/form.js; all pictures then serve it as they are.
RECORDERS: Mapping[type, Recorder] = {
    RNN: _record_pair,
    Transformer: _record_pair,
    DecoderOnly: _record_pair,
    GPT: _record_language,
    BERT: _record_encoder,
    ViT: _record_image,
}


def _hear(run: Run, tokens: Sequence[int], places: Positions | None = None) -> tuple[Tensor, Heard]:
    _refuse_long(run, len(tokens))
    with torch.inference_mode(), listen(run.model) as heard:
        answer = run.model(torch.tensor([list(tokens)]), positions=places)
    return answer, heard


def _afford(run: Run, tokenizer: Tokenizer, *texts: str) -> None:
    _refuse_long(run, sum(map(len, tokenizer.encode(texts))) + 2)


def _refuse_long(run: Run, length: int, what: str = "text", remedy: str = "shorten it") -> None:
    """Refuse a text whose patterns would fill the memory, before it is read."""
    needed = 4 * length**2 * len(taps(run.model)) * getattr(run.config, "heads", 1)
    if needed > MOST_BYTES:
        most = int(length * (MOST_BYTES / needed) ** 0.5)
        raise UserError(f"the {what} has {length:,} tokens; the patterns of at most {most:,} can be kept: {remedy}")


def _patterns(heard: Heard) -> dict[str, Tensor]:
    return {name.removesuffix(".pattern"): pattern[0].float() for name, pattern in heard.items()}


def _map(
    name: str,
    pattern: Tensor,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    source: int = 0,
    written: bool = False,
) -> AttentionMap:
    """Some attentions look at slots that keys are folded into: then there are fewer than keys, or others."""
    if pattern.shape[-1] != len(keys):
        keys, source = tuple(f"slot {number}" for number in range(1, pattern.shape[-1] + 1)), 0
    return AttentionMap(name, pattern, queries, keys, "target" if written or source else "source", source)


def _labels(tokenizer: Tokenizer, tokens: Sequence[int]) -> tuple[str, ...]:
    """Each token as a person reads it: without the space before a word, and with white space made visible."""
    texts = tokenizer.decode([[token] for token in tokens])
    pairs = zip(texts, tokenizer.pieces(tokens), strict=True)
    whole = (piece if not text or "\ufffd" in text else text for text, piece in pairs)  # half a character stays coded
    return tuple((text.removeprefix(" ") or text).translate(VISIBLE) for text in whole)


def _label_names(run: Run) -> Callable[[int], str]:
    known: Any = run.task.labels if isinstance(run.task, Classify | ClassifyImages) else run.extra.get("id2label", {})
    if isinstance(known, Mapping):
        return lambda place: str(known.get(str(place), known.get(place, place)))
    return lambda place: known[place]


def _tokenizer(run: Run) -> Tokenizer:
    return run.words("no text can be given to it")
