"""A small config of every model, its variations part by part, and inputs that fit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any, get_type_hints

import torch
from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.models import (
    BERT,
    GPT,
    NPT,
    RNN,
    RNNLM,
    ClassifierHead,
    DecoderOnly,
    Evoformer,
    FromSource,
    InContext,
    Model,
    RNNClassifier,
    Transformer,
    ViT,
)
from regard.parts import BigramEmbedding, Copy, Neighbours, Softcap, Tree
from tests.helpers import every_small, tree_places, valid_of, variants
from tests.models.leaks import check_no_future_leak

VOCAB, COLUMNS = 11, (0, 3, 2)
LENGTHS = [23, 9, 1]  # long enough that small blocks and windows are really sparse
SIZES: dict[str, Any] = {"width": 16, "layers": 2, "heads": 2}

BASES: dict[type, Any] = {
    GPT: GPT(vocab=VOCAB, **SIZES),
    BERT: BERT(vocab=VOCAB, **SIZES),
    Transformer: Transformer(vocab=VOCAB, **SIZES),
    DecoderOnly: DecoderOnly(vocab=VOCAB, **SIZES),
    ViT: ViT(labels=4, image=20, **SIZES),
    NPT: NPT(categories=COLUMNS, **SIZES),
    RNN: RNN(vocab=VOCAB, width=16, layers=2),
    RNNLM: RNNLM(vocab=VOCAB, width=16, layers=2),
    RNNClassifier: RNNClassifier(vocab=VOCAB, width=16, layers=2, head=ClassifierHead(3, "mean")),
    InContext: InContext(cell_width=8, cell_heads=2, cell_layers=1, thinking_rows=2, quantiles=5, dropout=0.1, **SIZES),
    Evoformer: Evoformer(features=3, pair_width=8, outer=3, window=3, dropout=0.1, **SIZES),
}
EXTRAS: dict[type, list[dict[str, Any]]] = {
    GPT: [{"tied": False}, {"kv_heads": 1}, {"bias": False, "head_size": 4}],
    DecoderOnly: [{"tied": False}, {"bigram": BigramEmbedding()}, {"logit_softcap": Softcap(2.0)}],
    BERT: [
        *({"head": ClassifierHead(3, pooling)} for pooling in ("first", "mean", "max", "mean_max")),
        {"neighbours": Neighbours()},
    ],
    Transformer: [
        {"target_vocab": 7, "decoder_layers": 1, "tied": False},
        {"logit_bias": True, "kv_heads": 1},
        {"copy": Copy()},
    ],
    RNN: [{"target_vocab": 7}, {"tied": False}, {"layers": 1}],
    RNNLM: [{"tied": False}, {"layers": 1}],
    RNNClassifier: [{"head": ClassifierHead(3, "max")}, {"layers": 1}],
    Evoformer: [{"triangles": "both"}, {"triangles": "none", "window": 0}, {"along": "rows"}, {"bias": "none"}],
}


def every_change(kind: type) -> list[dict[str, Any]]:
    """Each part of a model replaced by each variant of its union, one at a time."""
    hints = get_type_hints(kind)
    changes: list[dict[str, Any]] = [{}, *EXTRAS.get(kind, [])]
    for field in fields(kind):
        parts = [part for part in variants(hints[field.name]) if hasattr(part, "build")]
        if parts and field.name not in ("head", "target_position"):
            changes += [{field.name: part} for part in one_of_each(hints[field.name])]
    return changes


def one_of_each(union: Any) -> list[Any]:
    configs = {type(config): config for config in reversed(every_small_part(union))}
    return list(configs.values())[::-1]


def every_small_part(union: Any) -> list[Any]:
    """As `every_small`, for unions that also hold None."""
    members = [part for part in variants(union) if hasattr(part, "build")]
    return [config for part in members for config in every_small(part | None) if config is not None]


def every_variation(accepts: Callable[[type], bool] = lambda kind: True) -> list[Any]:
    """Every model with every part that it takes. A model without an entry in BASES fails here, by name."""
    return [config for kind in variants(Model) if accepts(kind) for config in variations_of(kind)]


@cache
def variations_of(kind: type) -> list[Any]:
    configs = []
    for change in every_change(kind):
        with suppress(ConfigError):  # what is refused has a test of its own
            config = replace(BASES[kind], **change)
            config.build()
            configs.append(config)
    return [config for config in dict.fromkeys(configs) if not (isinstance(config, ViT) and needs_tree(config))]


def needs_tree(config: Any) -> bool:
    return isinstance(getattr(config, "position", None), Tree)


def name_of_model(config: Any) -> str:
    """The model and what differs from its base."""
    base = BASES[type(config)]
    changed = [
        f"{f.name}={getattr(config, f.name)}"
        for f in fields(config)
        if getattr(config, f.name) != getattr(base, f.name)
    ]
    return f"{type(config).__name__}({', '.join(changed)})"


def inputs_for(config: Any, lengths: list[int] = LENGTHS) -> dict[str, Any]:
    """A padded batch. What stands in the padding is as random as the rest."""
    batch, longest, valid = len(lengths), max(lengths), valid_of(lengths)
    tokens = torch.randint(VOCAB, (batch, longest))
    places = tree_places(lengths) if needs_tree(config) else None
    match config:
        case GPT() | RNNLM():
            return {"tokens": tokens}
        case BERT():
            return {"tokens": tokens, "valid": valid, "segments": torch.randint(2, tokens.shape), "positions": places}
        case RNNClassifier():
            return {"tokens": tokens, "valid": valid}
        case Transformer() | RNN() | DecoderOnly():
            target = torch.randint(getattr(config, "target_vocab", None) or VOCAB, (batch, 8))
            given = {"source": tokens, "target": target, "source_valid": valid}
            return given | ({"source_positions": places} if isinstance(config, Transformer) else {})
        case ViT():
            return {"images": torch.randn(batch, 1, config.image, config.image)}
        case NPT():
            cells = torch.stack(
                [torch.randn(batch, longest), *(torch.randint(n, (batch, longest)) for n in COLUMNS[1:])], -1
            )
            return {"cells": cells, "masked": torch.rand(cells.shape) < 0.3, "valid": valid}
        case InContext():
            return table_inputs(classes=3)
        case Evoformer():
            return alignment_inputs(config, residues=23)
    raise NotImplementedError(f"say what {type(config).__name__} is given")


def table_inputs(classes: int) -> dict[str, Any]:
    """Tables with gaps, of which the first rows are known; no classes: the targets are numbers."""
    values = torch.randn(3, 23, 4).masked_fill(torch.rand(3, 23, 4) < 0.1, torch.nan)
    target = torch.randint(classes, (3, 15)).float() if classes else torch.randn(3, 15)
    category = torch.tensor([[False, False, True, False]]).expand(3, -1)
    values[:, :, 2] = torch.randint(5, (3, 23))
    codes = torch.randn(3, 4, 8)
    return {"values": values, "category": category, "target": target, "classes": classes, "column_codes": codes}


def alignment_inputs(config: Evoformer, residues: int) -> dict[str, Any]:
    """Small alignments with features of each pair of residues, the same in both directions."""
    features = torch.randn(3, residues, residues, config.features)
    return {
        "letters": torch.randint(config.letters, (3, 5, residues)),
        "profile": torch.rand(3, residues, config.letters).softmax(-1),
        "features": features + features.transpose(1, 2),
    }


def alone(given: dict[str, Any], row: int, length: int) -> dict[str, Any]:
    """One text of a padded batch by itself, without its padding and without saying what is padding."""
    own = {}
    for name, value in given.items():
        if isinstance(value, Tensor) and name not in ("valid", "source_valid"):
            padded = name in ("tokens", "segments", "source", "cells", "masked")
            own[name] = value[row : row + 1, :length] if padded else value[row : row + 1]
        elif isinstance(value, int):
            own[name] = value
        elif name in ("positions", "source_positions") and value is not None:
            own[name] = tree_places([length])
    return own


def real(given: dict[str, Any], answer: Tensor, row: int, length: int) -> Tensor:
    """What a model answered about the real tokens of one text."""
    about_tokens = "tokens" in given or "cells" in given
    per_token = about_tokens and answer.dim() > 2
    return answer[row : row + 1, :length] if per_token else answer[row : row + 1]


def writes(kind: type) -> bool:
    """Whether a model writes token by token."""
    return hasattr(build(BASES[kind]), "step")


def build(config: Any) -> nn.Module:
    return config.build().eval()


class Writer:
    """A model that writes, all at once or by steps, with its source, where it has one, held fixed."""

    def __init__(self, config: Any, lengths: list[int] = LENGTHS):
        self.model = build(config)
        self.vocab = getattr(config, "target_vocab", None) or config.vocab
        self.source = inputs_for(config, lengths) if isinstance(config, FromSource) else {}
        self.source.pop("target", None)

    def __call__(self, tokens: Tensor) -> Tensor:
        if not self.source:
            return self.model(tokens)
        return self.model(self.source["source"], tokens, *list(self.source.values())[1:])

    def begin(self) -> Any:
        return self.model.init_state(*self.source.values())

    def tokens(self, length: int) -> Tensor:
        return torch.randint(self.vocab, (3, length))

    def check_no_future_leak(self, length: int) -> None:
        """The checker asks about `length` texts at once: the same source for each."""
        for name, value in self.source.items():
            if isinstance(value, Tensor):
                self.source[name] = value[:1].repeat(length, 1)
        check_no_future_leak(self, torch.randint(self.vocab, (length,)), self.vocab)
