"""Recording a pair: self-attention of source and target, and attention from the target to the source."""

from collections.abc import Callable
from typing import Any

from regard.data.trees.conllu import Parse
from regard.models import DecoderOnly
from regard.tasks.attention_maps import END, START, attention_map, check_length, patterns, token_labels
from regard.tasks.base import Run
from regard.tasks.recording import AttentionMap, Recording, ViewInput
from regard.tasks.seq2seq.alignment import attention
from regard.text import Tokenizer

NO_ATTENTION = "this model has no attention: it knows its source only through the last state of its encoder"


def record_pair(
    run: Run,
    view_input: ViewInput,
    write: Callable[[str], str],
    tree: Parse | None = None,
    max_length: int | None = None,
) -> Recording:
    """A source and its target: the one that is given, or the one that the model writes."""
    tokenizer, text, notes = run.require_tokenizer("no text can be given to it"), view_input.text, []
    [spans] = tokenizer.offsets([text])
    if max_length is not None and len(spans) > max_length:
        text = text[: spans[max_length - 1][1]]
        notes.append(f"only the first {max_length:,} of {len(spans):,} tokens are read")
    _check_lengths(run, tokenizer, text)
    target = write(text) if view_input.target is None else view_input.target
    _check_lengths(run, tokenizer, text, target)
    heard, *_ = attention(run.model, tokenizer, text, target, tree)
    if not heard:
        notes.append(NO_ATTENTION)
    return Recording(view_input, target, (), tuple(_maps(run, tokenizer, text, target, patterns(heard))), tuple(notes))


def _maps(run: Run, tokenizer: Tokenizer, text: str, target: str, heard: dict[str, Any]) -> list[AttentionMap]:
    source = token_labels(tokenizer, tokenizer.encode([text])[0])
    written = token_labels(tokenizer.targets, tokenizer.targets.encode([target])[0])
    read, so_far, writes = (*source, END), (START, *written), (*written, END)
    maps = []
    for name, pattern in heard.items():
        if ".cross" in name or name == "pointer":
            maps.append(AttentionMap(name, pattern, writes, read, "cross"))
        elif name.startswith("encoder"):
            maps.append(attention_map(name, pattern, read, read))
        elif isinstance(run.config, DecoderOnly):
            both = (*read, *so_far)
            maps.append(attention_map(name, pattern, both, both, source=len(read)))
        else:
            maps.append(attention_map(name, pattern, writes, so_far, written=True))
    return maps


def _check_lengths(run: Run, tokenizer: Tokenizer, text: str, target: str = "") -> None:
    check_length(run, len(tokenizer.encode([text])[0]) + len(tokenizer.targets.encode([target])[0]) + 2)
