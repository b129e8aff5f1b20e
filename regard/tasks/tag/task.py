"""Tag: predict a label for each word of a sentence, from an encoder that reads the whole sentence."""

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
from regard.data.text.tagged import TaggedFiles, TaggedSentence, read_tagged
from regard.data.trees.conllu import Parse
from regard.models import BERT, Model, TokenClassifierHead
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.columns import training_data
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.tag.batches import Encoded, TaggedBatch, TaggedSentences, collate, encode_words
from regard.tasks.tag.recording import record_tags
from regard.tasks.tag.scores import Tags, tag_scores
from regard.tasks.tag.words import Sentence, words_of
from regard.tasks.token_cache import existing_tokenizer
from regard.tasks.vocabulary import with_vocab
from regard.text import Tokenizer

ROWS = 64  # sentences in a batch


@dataclass(frozen=True)
class Tag(Task):
    labels: tuple[str, ...] = ()  # in the order of the logits; none: those of the training files
    max_length: int = 256  # tokens read of a sentence
    label_smoothing: float = 0.0
    token_dropout: float = 0.0  # fraction of the tokens that each training step masks

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
        logits = model(tokens, batch.valid, chosen=batch.words)
        label = batch.label.masked_fill(~batch.counted, -100).flatten()
        smoothing = self.label_smoothing if model.training else 0.0
        total = F.cross_entropy(
            logits.flatten(0, 1).float(), label, ignore_index=-100, reduction="sum", label_smoothing=smoothing
        )
        return Loss(total, batch.counted.sum())

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data, model, training = plan.data, plan.model, plan.training
        if not isinstance(data, TaggedFiles):
            raise ConfigError(f"data: {type(data).__name__} holds no tagged sentences")
        if not isinstance(model, BERT) or not isinstance(model.head, TokenClassifierHead):
            raise ConfigError(f"model: {type(model).__name__} labels no words; choose BERT with a TokenClassifierHead")
        train, valid = data.sentences()
        tokenizer = existing_tokenizer(workspace) or data.tokenizer.train(
            word for sentence in train for word in sentence.words
        )
        labels = self.labels or tuple(sorted({label for sentence in train for label in sentence.labels}))
        task = replace(self, labels=labels, max_length=data.max_length)
        model = replace(model, head=replace(model.head, labels=len(labels)))

        def score(run: Run, loss: float) -> dict[str, float]:
            return task._scores(run, valid)

        yield Prepared(
            task=task,
            model=with_vocab(model, tokenizer),
            train=TaggedSentences(task._encode(train, tokenizer), tokenizer, training.batch_size, training.seed),
            valid=TaggedSentences(task._encode(valid, tokenizer, known_only=True), tokenizer, training.batch_size),
            tokenizer=tokenizer,
            score=score,
        )

    def _encode(
        self, sentences: Sequence[TaggedSentence], tokenizer: Tokenizer, *, known_only: bool = False
    ) -> list[Encoded]:
        """Tokens and label numbers; with `known_only` words whose label never occurs in training have no loss."""
        number = {label: place for place, label in enumerate(self.labels)}
        rows = []
        for sentence in sentences:
            row = encode_words(sentence.words, tokenizer, self.max_length)
            pairs = list(zip(row.words, sentence.labels, strict=False))  # of a long sentence the last words are left out
            if not known_only and (missing := {label for _, label in pairs} - number.keys()):
                raise UserError(f"{sentence.where}: the label {min(missing)!r} is not among those of the task")
            pairs = [pair for pair in pairs if pair[1] in number]
            rows.append(Encoded(row.tokens, [at for at, _ in pairs], [number[label] for _, label in pairs]))
        return [row for row in rows if row.words]

    def answer(self, run: Run, inputs: Sequence[Sentence], **options: Any) -> list[list[tuple[str, str]]]:
        return self.tag(run, inputs, **options)

    def tag(self, run: Run, sentences: Sequence[Sentence]) -> list[list[tuple[str, str]]]:
        """The words of each sentence with their labels. A sentence is a text, or a list of words."""
        check_list(sentences, "sentences")
        words = [words_of(sentence) for sentence in sentences]
        labels = self._predict(run, words)
        return [list(zip(own, predicted, strict=True)) for own, predicted in zip(words, labels, strict=True)]

    @torch.inference_mode()
    def _predict(self, run: Run, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The most probable label of each word; the words after `max_length` tokens are read as sentences of their own."""
        tokenizer, device = run.words("it tags tokens but no words"), device_of(run.model)
        run.model.eval()
        pieces = [part for number, words in enumerate(sentences) for part in self._parts(number, words, tokenizer)]
        pieces.sort(key=lambda part: len(part[1].tokens))
        labels: list[dict[int, str]] = [{} for _ in sentences]
        for first in range(0, len(pieces), ROWS):
            some = pieces[first : first + ROWS]
            batch = collate([row for _, row, _ in some], tokenizer).to(device)
            best = run.model(batch.tokens, batch.valid, chosen=batch.words).argmax(-1).tolist()
            for (number, row, start), predicted in zip(some, best, strict=True):
                for place in range(len(row.words)):
                    labels[number][start + place] = self.labels[predicted[place]]
        return [[own[place] for place in sorted(own)] for own in labels]

    def _parts(self, number: int, words: Sequence[str], tokenizer: Tokenizer) -> Iterator[tuple[int, Encoded, int]]:
        start = 0
        while start < len(words):
            row = encode_words(words[start:], tokenizer, self.max_length)
            if not row.words:  # a single word longer than a sentence may be: its beginning is read
                row = Encoded([*row.tokens[:-1], tokenizer.mask, row.tokens[-1]], [1], [])
            yield number, row, start
            start += len(row.words)

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

    def record(self, run: Run, given: ViewInput, tree: Parse | None = None) -> Recording:
        [tagged] = self.tag(run, [given.text])
        return record_tags(run, given, tagged, self.max_length)
