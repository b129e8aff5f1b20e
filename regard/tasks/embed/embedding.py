"""Embeddings of texts: the states of an encoder, pooled to one vector, of length one (Reimers & Gurevych, 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.core.errors import UserError
from regard.core.machine import device_of
from regard.data.text.labelled import encode_texts
from regard.data.text.pairs import pad
from regard.interop.sentence import SentenceSettings, read_sentence_settings
from regard.models import BERT
from regard.models.bert import BERTModel
from regard.tasks.base import Run, check_list
from regard.tasks.run import load_run
from regard.text import Tokenizer

ROWS = 64  # texts in a batch
LONGEST = 512  # tokens read of a text, where neither the folder nor the model says


@dataclass(frozen=True)
class Embedder:
    """An encoder, and how its states become vectors."""

    run: Run
    settings: SentenceSettings = SentenceSettings()

    @staticmethod
    def load(path: str | Path) -> "Embedder":
        """From a run of `train fill` or `classify`, a Hugging Face folder, or one of sentence-transformers."""
        run = load_run(path)
        if not isinstance(run.config, BERT):
            raise UserError(f"{path}: holds a {type(run.config).__name__}; texts are embedded by an encoder (BERT)")
        return Embedder(run, read_sentence_settings(run.path))

    @property
    def encoder(self) -> BERTModel:
        assert isinstance(self.run.model, BERTModel)
        return self.run.model

    @property
    def width(self) -> int:
        return self.encoder.config.width

    @property
    def max_length(self) -> int:
        lengths = [self.settings.max_length, self.encoder.encoder.position.max_length]
        return min((length for length in lengths if length is not None), default=LONGEST)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.run.require_tokenizer("it embeds tokens but no text")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """A row of float32 for each text."""
        check_list(texts)
        return self.embed(self.encode(texts, self.max_length))

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """The tokens of each text, up to a number of them."""
        texts = [text.lower() for text in texts] if self.settings.lower else texts
        return encode_texts(texts, self.tokenizer, max_length)

    @torch.inference_mode()
    def embed(self, rows: Sequence[list[int]]) -> np.ndarray:
        """A row of float32 for the tokens of each text. Texts of similar length are read together."""
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        device, vectors = device_of(self.run.model), torch.empty(len(rows), self.width)
        for first in range(0, len(order), ROWS):
            some = order[first : first + ROWS]
            tokens, valid = (each.to(device) for each in pad([rows[row] for row in some], self.tokenizer.pad))
            pooled = self._pool(self.encoder.read(tokens, valid).float(), valid)
            vectors[some] = (F.normalize(pooled, dim=-1) if self.settings.normalise else pooled).cpu()
        return vectors.numpy()

    def _pool(self, states: Tensor, valid: Tensor) -> Tensor:
        if self.settings.pooling == "first":
            return states[:, 0]
        if self.settings.pooling == "max":
            return states.masked_fill(~valid[:, :, None], torch.finfo(states.dtype).min).amax(1)
        return (states * valid[:, :, None]).sum(1) / valid.sum(1, keepdim=True)
