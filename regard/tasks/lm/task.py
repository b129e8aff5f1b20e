"""Language modelling: predict each token from those before it."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError, at_least
from regard.data.text.corpus import Corpus
from regard.data.text.windows import WindowBatch, Windows
from regard.data.trees.conllu import Parse
from regard.decode import Sampling
from regard.interop.base_model import BaseModel
from regard.interop.chat import Messages
from regard.models import GPT, RNNLM, Model
from regard.parts.embed import MAX_BIGRAM_VOCAB
from regard.parts.masks import SameDocument
from regard.parts.positions import Positions
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.lm.baseline import ngram_baseline
from regard.tasks.lm.generate import generate
from regard.tasks.lm.recording import record_continuation
from regard.tasks.lm.sample import continuation_sample
from regard.tasks.lm.scoring import ScoredText, score_texts
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.running_text import ROWS, encoded_files, window_length
from regard.tasks.token_cache import TokenCache, token_cache
from regard.tasks.vocabulary import with_vocab
from regard.text import Tokenizer
from regard.train import evaluate

log = logging.getLogger(__name__)
MAX_TOKENS = 200  # generated after a prompt


@dataclass(frozen=True)
class LanguageModel(Task):
    length: int | None = None  # tokens of a window in evaluation; None: as in training
    join_documents: bool = False  # attention crosses from a document into the one before it in a window

    data: ClassVar[tuple[type, ...]] = (Corpus,)
    verb: ClassVar[str] = "lm"
    next_command: ClassVar[str] = 'regard generate {} --prompt "…"'
    named: ClassVar[tuple[str, ...]] = ("generate", "chat", "score")
    max_tokens: ClassVar[int] = MAX_TOKENS
    eval_options: ClassVar[tuple[str, ...]] = ("columns",)

    def __post_init__(self) -> None:
        at_least(2, length=self.length)

    def loss(self, model: nn.Module, batch: WindowBatch) -> Loss:
        return self._loss(model, batch)[0]

    def loss_and_logits(self, model: nn.Module, batch: WindowBatch) -> tuple[Loss, Tensor]:
        loss, logits = self._loss(model, batch)
        return loss, logits[batch.answer_valid]

    def _loss(self, model: nn.Module, batch: WindowBatch) -> tuple[Loss, Tensor]:
        if batch.packing is None:
            logits = model(batch.tokens)
        else:
            logits = model(batch.tokens, SameDocument(batch.packing.document), Positions(batch.packing.index))
        answer = batch.answer.masked_fill(~batch.answer_valid, -100)
        total = F.cross_entropy(logits.flatten(0, 1).float(), answer.flatten(), ignore_index=-100, reduction="sum")
        return Loss(total, batch.answer_valid.sum()), logits

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        if not isinstance(plan.data, Corpus):
            raise ConfigError(f"data: {type(plan.data).__name__} holds no running text")
        if not isinstance(plan.model, GPT | RNNLM):
            raise ConfigError(f"model: {type(plan.model).__name__} generates no text; choose GPT or RNNLM")
        with token_cache(plan.data, workspace) as tokens:
            yield self._prepared(plan, tokens)

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        if not isinstance(base.config, GPT | RNNLM):
            raise ConfigError(", which generates no text; start from a language model (GPT, RNNLM)")
        return self, base.config

    def _prepared(self, plan: Settings, tokens: TokenCache) -> Prepared:
        tokenizer, valid, training = tokens.tokenizer, tokens.valid, plan.training
        task = replace(self, length=self.length or plan.data.length)

        end = self._end(plan.model, tokenizer, tokens.train)
        if end is not None:
            log.info("documents are kept apart: attention stays within each (else --task.join_documents true)")

        def score(run: Run, loss: float) -> dict[str, float]:
            text = Counts.of(tokenizer, valid[1:])
            return language_scores(loss, len(valid) - 1, text.characters, text.bytes)

        return Prepared(
            task=task,
            model=_with_bigrams(with_vocab(plan.model, tokenizer)),
            train=Windows(tokens.train, plan.data.length, training.batch_size, training.seed, end),
            valid=Windows(valid, task.length or plan.data.length, training.batch_size, end=end),
            tokenizer=tokenizer,
            score=score,
            keep=tokens.keep,
            sample=continuation_sample(tokenizer, valid, task.length or plan.data.length),
            baseline=lambda: ngram_baseline(tokens.train, valid, tokenizer.vocab),
        )

    def _end(self, model: Model, tokenizer: Tokenizer, tokens: np.ndarray) -> int | None:
        """The token that ends a document, where there are several that are kept apart; a recurrence joins them."""
        apart = not self.join_documents and isinstance(model, GPT) and bool((tokens == tokenizer.end).any())
        return tokenizer.end if apart else None

    def answer(self, run: Run, inputs: Sequence[str], **options: Any) -> list[str]:
        """How each prompt continues."""
        check_list(inputs, "prompts")
        return ["".join(self.generate(run, prompt, **options)) for prompt in inputs]

    def generate(
        self,
        run: Run,
        prompt: str = "",
        max_tokens: int = MAX_TOKENS,
        sampling: Sampling | None = None,
        stop: tuple[str, ...] = (),
    ) -> Iterator[str]:
        """The text that follows `prompt`, in pieces as they come; without `sampling`, drawn as its makers draw."""
        if not isinstance(run.config, GPT | RNNLM):
            raise UserError(f"{run.path}: holds a {type(run.config).__name__}, which generates no text")
        tokenizer = run.require_tokenizer("it continues tokens but no text")
        return generate(run.model, tokenizer, prompt, max_tokens, sampling or usual_sampling(run), stop)

    def chat(
        self, run: Run, messages: Messages, max_tokens: int = MAX_TOKENS, sampling: Sampling | None = None
    ) -> Iterator[str]:
        """The answer to messages, each with a role (system, user, assistant) and a content, in pieces as they come."""
        tokenizer = run.require_tokenizer("it answers no messages")
        template = run.extra.get("chat")
        if template is None:
            raise UserError(f"{run.path}: has no chat template, so it continues texts but answers no messages")
        tokens = template.tokens(messages, tokenizer)
        return generate(run.model, tokenizer, tokens, max_tokens, sampling or usual_sampling(run))

    def score(self, run: Run, texts: Sequence[str]) -> list[ScoredText]:
        """The log-probability of each token of each text, given those before it; `total` is their sum."""
        check_list(texts)
        tokenizer = run.require_tokenizer("it scores tokens but no text")
        return score_texts(run.model, tokenizer, texts, window_length(run, self.length))

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        """One pass in windows that do not overlap: each token is predicted from those before it in its window."""
        length, tokenizer = window_length(run, self.length), run.require_tokenizer("it reads no text")
        with encoded_files(run, files, options) as (tokens, size):
            end = self._end(run.config, tokenizer, tokens)
            loss = evaluate(run.model, self, Windows(tokens, length, ROWS, end=end))
            count, first = len(tokens) - 1, Counts.of(tokenizer, tokens[:1]).bytes
            scores = language_scores(loss, count, Counts.of(tokenizer, tokens[1:]).characters, size - first)
        protocol = f"windows of {length} tokens that do not overlap" + ", documents apart" * (end is not None)
        return {**scores, "tokens": count, "bytes": size - first, "protocol": protocol}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("text", "a text to continue") if has_tokenizer and isinstance(config, GPT) else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        return (
            record_continuation(run, view_input)
            if isinstance(run.config, GPT)
            else super().record(run, view_input, tree)
        )

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "LanguageModel | None":
        """Models from elsewhere were trained across documents, and are scored so."""
        return cls(join_documents=True) if isinstance(config, GPT | RNNLM) else None


def _with_bigrams(model: Model) -> Model:
    """Without a vector for each pair of tokens where these are too many, as of subwords."""
    if not isinstance(model, GPT) or model.bigram is None or model.vocab <= MAX_BIGRAM_VOCAB:
        return model
    return replace(model, bigram=None)


def usual_sampling(run: Run) -> Sampling:
    """As generation_config.json says, where a folder has one."""
    return Sampling(**run.extra.get("sampling", {}))


def language_scores(loss: float, tokens: int, characters: int, size: int) -> dict[str, float]:
    """What papers report, from the mean loss of a token in nats. Only the last two compare between tokenizers."""
    bits = loss * tokens / math.log(2)
    return {
        "loss": loss,
        "perplexity": math.exp(min(loss, 700)),
        "bits_per_character": bits / max(characters, 1),
        "bits_per_byte": bits / max(size, 1),
    }


class Counts(NamedTuple):
    """The length of the text that tokens stand for; one that the tokenizer does not know counts as a character."""

    characters: int
    bytes: int

    @staticmethod
    def of(tokenizer: Tokenizer, tokens: np.ndarray) -> "Counts":
        [text], unknown = tokenizer.decode([tokens.tolist()]), tokenizer.count_unknown(tokens)
        return Counts(len(text) + unknown, len(text.encode()) + unknown)
