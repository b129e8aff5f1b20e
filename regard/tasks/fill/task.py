"""Masked language modelling: predict masked words from those around them (Devlin et al., 2019)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError, at_least
from regard.core.machine import device_of
from regard.data.text.corpus import Corpus
from regard.data.text.masked import MaskedBatch, MaskedWindows
from regard.data.trees.conllu import Parse
from regard.interop.base_model import BaseModel
from regard.models import BERT, MaskedLMHead, Model, NoHead
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.fill.baseline import unigram_baseline
from regard.tasks.fill.filling import Candidate, candidates, fill
from regard.tasks.fill.recording import record_masks
from regard.tasks.fill.sample import filling_sample
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.running_text import ROWS, encoded_files, window_length
from regard.tasks.token_cache import TokenCache, token_cache
from regard.tasks.vocabulary import with_vocab
from regard.text import Tokenizer


@dataclass(frozen=True)
class MaskedLM(Task):
    fraction: float = 0.15  # of the words, which are masked and predicted
    length: int | None = None  # tokens of a window in evaluation; None: as in training

    data: ClassVar[tuple[type, ...]] = (Corpus,)
    verb: ClassVar[str] = "fill"
    next_command: ClassVar[str] = 'echo "… [MASK] …" | regard fill {}'
    named: ClassVar[tuple[str, ...]] = ("fill", "candidates")
    eval_options: ClassVar[tuple[str, ...]] = ("columns",)

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise ConfigError(f"fraction: must be above 0 and below 1, not {self.fraction}")
        at_least(3, length=self.length)

    def loss(self, model: nn.Module, batch: MaskedBatch) -> Loss:
        logits = model(batch.tokens, batch.valid, chosen=batch.chosen)
        answer = batch.answer.masked_fill(~batch.chosen_valid, -100)
        total = F.cross_entropy(logits.flatten(0, 1).float(), answer.flatten(), ignore_index=-100, reduction="sum")
        return Loss(total, batch.chosen_valid.sum())

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        model = plan.model
        if not isinstance(plan.data, Corpus):
            raise ConfigError(f"data: {type(plan.data).__name__} holds no running text")
        if not isinstance(model, BERT) or not isinstance(model.head, MaskedLMHead):
            raise ConfigError(f"model: {type(model).__name__} fills in no words; choose BERT with a MaskedLMHead")
        with token_cache(plan.data, workspace) as tokens:
            yield self._prepared(plan, tokens)

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        if not isinstance(base.config, BERT):
            raise ConfigError(", which reads no text in both directions; start from an encoder (BERT)")
        if base.config.fills_masks:
            return self, base.config
        return self, replace(base.config, head=base.heads.get(MaskedLMHead, MaskedLMHead()))

    def _prepared(self, plan: Settings, tokens: TokenCache) -> Prepared:
        tokenizer, training, length = tokens.tokenizer, plan.training, plan.data.length
        task = replace(self, length=self.length or length)
        valid = MaskedWindows(tokens.valid, task.length or length, tokenizer, self.fraction, training.batch_size)
        return Prepared(
            task=task,
            model=with_vocab(plan.model, tokenizer),
            train=MaskedWindows(tokens.train, length, tokenizer, self.fraction, training.batch_size, training.seed),
            valid=valid,
            tokenizer=tokenizer,
            score=lambda run, loss: masked_lm_scores(run.model, valid),
            keep=tokens.keep,
            sample=filling_sample(tokenizer, tokens.valid, task.length or length),
            baseline=lambda: unigram_baseline(tokens.train, valid, tokenizer.vocab),
        )

    def answer(self, run: Run, inputs: Sequence[str], **options: Any) -> list[str]:
        return self.fill(run, inputs, **options)

    def fill(self, run: Run, texts: Sequence[str]) -> list[str]:
        """Each text with the most probable words in place of `[MASK]`."""
        check_list(texts)
        return fill(run.model, self._tokenizer(run), texts)

    def candidates(self, run: Run, texts: Sequence[str], nbest: int = 5) -> list[list[list[Candidate]]]:
        """For each text and each `[MASK]` in it the most probable words with their probabilities."""
        check_list(texts)
        return candidates(run.model, self._tokenizer(run), texts, nbest)

    def _tokenizer(self, run: Run) -> Tokenizer:
        if not isinstance(run.config, BERT) or not isinstance(run.config.head, MaskedLMHead):
            raise UserError(f"{run.path}: was not trained to fill in words; `regard train fill` makes such a run")
        return run.require_tokenizer("it fills in tokens but no words")

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        """The same words are masked whenever the same text is evaluated."""
        length = window_length(run, self.length)
        with encoded_files(run, files, options) as (tokens, _):
            windows = MaskedWindows(tokens, length, self._tokenizer(run), self.fraction, ROWS)
            scores = masked_lm_scores(run.model, windows)
            count = sum(int(batch.chosen_valid.sum()) for batch in windows.once())
        protocol = f"{self.fraction:.0%} of the words masked, the same ones every time, in windows of {length} tokens"
        return {**scores, "masked": count, "protocol": protocol}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("gaps", "a text with [MASK] in place of words") if has_tokenizer else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        return record_masks(run, view_input)

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "MaskedLM | None":
        return cls() if isinstance(config, BERT) and isinstance(config.head, MaskedLMHead | NoHead) else None


@torch.inference_mode()
def masked_lm_scores(model: nn.Module, data: MaskedWindows) -> dict[str, float]:
    """Over one pass: the mean loss of a masked word in nats, its perplexity, and accuracy."""
    model.eval()
    device, total, right, count = device_of(model), 0.0, 0, 0
    for batch in (one.to(device) for one in data.once()):
        logits = model(batch.tokens, batch.valid, chosen=batch.chosen).float()[batch.chosen_valid]
        answer = batch.answer[batch.chosen_valid]
        total += F.cross_entropy(logits, answer, reduction="sum").item()
        right += int((logits.argmax(-1) == answer).sum())
        count += len(answer)
    loss = total / max(count, 1)
    return {"loss": loss, "perplexity": math.exp(min(loss, 700)), "accuracy": right / max(count, 1)}
