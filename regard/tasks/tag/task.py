"""Tag: predict a label for each word of a sentence, from an encoder that reads the whole sentence."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError, share
from regard.core.machine import device_of
from regard.data.text.pairs import pad
from regard.data.text.tagged import TaggedFiles, TaggedSentence, read_tagged, tag_labels
from regard.data.text.tagged_batches import TaggedBatch, TaggedTexts, encode_tagged, encode_words
from regard.data.trees.conllu import Parse
from regard.interop.base_model import BaseModel
from regard.models import BERT, Model, TokenClassifierHead
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.columns import training_data
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.tag.baseline import frequent_tags
from regard.tasks.tag.recording import record_tags
from regard.tasks.tag.scores import Tags, tag_scores
from regard.tasks.tag.words import Sentence, words_of
from regard.tasks.token_cache import existing_tokenizer
from regard.tasks.vocabulary import with_vocab
from regard.text import train_tokenizer

ROWS = 64  # sentences in a batch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tag(Task):
    labels: tuple[str, ...] = ()  # in the order of the logits; none: those of the training files
    max_length: int = 128  # tokens read of a sentence at a time
    label_smoothing: float = 0.0
    token_dropout: float = 0.0  # fraction of the tokens that each training step masks: rare words become unknown ones

    data: ClassVar[tuple[type, ...]] = (TaggedFiles,)
    verb: ClassVar[str] = "tag"
    next_command: ClassVar[str] = "regard tag {} < LINES.txt"
    named: ClassVar[tuple[str, ...]] = ("tag",)
    eval_options: ClassVar[tuple[str, ...]] = ("columns",)

    def __post_init__(self) -> None:
        share(label_smoothing=self.label_smoothing, token_dropout=self.token_dropout)

    def loss(self, model: nn.Module, batch: TaggedBatch) -> Loss:
        tokens = batch.tokens
        if model.training and self.token_dropout:
            dropped = torch.rand(tokens.shape, device=tokens.device) < self.token_dropout
            tokens = tokens.masked_fill(dropped, batch.mask)
        logits = model(tokens, batch.valid, chosen=batch.first)
        label = batch.label.masked_fill(~batch.label_valid, -100).flatten()
        smoothing = self.label_smoothing if model.training else 0.0
        total = F.cross_entropy(
            logits.flatten(0, 1).float(), label, ignore_index=-100, reduction="sum", label_smoothing=smoothing
        )
        return Loss(total, batch.label_valid.sum())

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data, model, training = plan.data, plan.model, plan.training
        if not isinstance(data, TaggedFiles):
            raise ConfigError(f"data: {type(data).__name__} holds no tagged sentences")
        if not isinstance(model, BERT) or not isinstance(model.head, TokenClassifierHead):
            raise ConfigError(f"model: {type(model).__name__} labels no words; choose BERT with a TokenClassifierHead")
        train, valid = data.sentences()
        texts = (" ".join(one.words) for one in train)
        tokenizer = existing_tokenizer(workspace) or train_tokenizer(data.tokenizer, texts)
        task = replace(self, labels=self.labels or tag_labels(train), max_length=data.max_length)
        encoded = [
            encode_tagged(some, task.labels, tokenizer, task.max_length) for some in (train, task._known_only(valid))
        ]
        model = replace(model, head=replace(model.head, labels=len(task.labels)))
        yield Prepared(
            task=task,
            model=with_vocab(model, tokenizer),
            train=TaggedTexts(encoded[0], tokenizer, training.batch_size, training.seed),
            valid=TaggedTexts(encoded[1], tokenizer, training.batch_size),
            tokenizer=tokenizer,
            score=lambda run, loss: task._scores(run, valid),
            scored_on=len(valid),
            baseline=lambda: frequent_tags(train, valid),
        )

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        if not isinstance(base.config, BERT):
            raise ConfigError("; start from an encoder (BERT), such as `train fill` makes")
        head = base.heads.get(TokenClassifierHead, TokenClassifierHead())
        return self, replace(base.config, head=head, dropout=0.1)

    def _known_only(self, sentences: Sequence[TaggedSentence]) -> list[TaggedSentence]:
        """Sentences with a label that never occurs in training have no validation loss; the scores count them."""
        known = [sentence for sentence in sentences if set(sentence.labels) <= set(self.labels)]
        if len(known) < len(sentences):
            left_out = len(sentences) - len(known)
            log.info(f"note: {left_out:,} validation sentences have labels that never occur in training")
        if not known:
            raise UserError(f"{sentences[0].where}: no validation sentence has only labels that occur in training")
        return known

    def answer(self, run: Run, inputs: Sequence[Sentence], **options: Any) -> list[list[tuple[str, str]]]:
        return self.tag(run, inputs, **options)

    def tag(self, run: Run, sentences: Sequence[Sentence]) -> list[list[tuple[str, str]]]:
        """The words of each sentence with their labels. A sentence is a text, or a list of words."""
        check_list(sentences, "sentences")
        words = [words_of(sentence) for sentence in sentences]
        labels = self._predict(run, words)
        return [list(zip(row, predicted, strict=True)) for row, predicted in zip(words, labels, strict=True)]

    @torch.inference_mode()
    def _predict(self, run: Run, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The most probable label of each word; what is longer than `max_length` tokens is read in parts."""
        tokenizer, device = run.require_tokenizer("it tags tokens but no words"), device_of(run.model)
        run.model.eval()
        labels: list[list[str]] = [[] for _ in sentences]
        while left := [number for number, words in enumerate(sentences) if len(labels[number]) < len(words)]:
            rest = [sentences[number][len(labels[number]) :] for number in left]
            encoded = encode_words(rest, tokenizer, self.max_length)
            order = sorted(range(len(left)), key=lambda place: len(encoded[place].tokens))
            for start in range(0, len(order), ROWS):
                some = order[start : start + ROWS]
                tokens, valid = pad([encoded[place].tokens for place in some], tokenizer.pad)
                first, _ = pad([encoded[place].first or [0] for place in some], 0)
                logits = run.model(tokens.to(device), valid.to(device), chosen=first.to(device))
                for place, best in zip(some, logits.argmax(-1).tolist(), strict=True):
                    count = max(1, len(encoded[place].first))  # at least one, or a word longer than all would never end
                    labels[left[place]] += [self.labels[number] for number in best[:count]]
        return labels

    def _scores(self, run: Run, sentences: Sequence[TaggedSentence]) -> dict[str, float]:
        predicted: Tags = self._predict(run, [sentence.words for sentence in sentences])
        return tag_scores(predicted, [sentence.labels for sentence in sentences])

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        column = (*options.columns, training_data(run).get("column"), TaggedFiles.column)[0] or TaggedFiles.column
        sentences = [sentence for file in files for sentence in read_tagged(Path(file), str(column))]
        if not sentences:
            raise UserError(f"{', '.join(files)}: no tagged sentences")
        words = sum(len(sentence.words) for sentence in sentences)
        return {**self._scores(run, sentences), "sentences": len(sentences), "words": words}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("text", "a sentence to tag") if has_tokenizer else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        [tagged] = self.tag(run, [view_input.text])
        return record_tags(run, view_input, tagged, self.max_length)
