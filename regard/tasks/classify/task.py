"""Classify: predict the label of a text."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, share
from regard.data.text.files import Row
from regard.data.text.labelled import (
    LabelFiles,
    LabelledBatch,
    LabelledTexts,
    check_labels,
    encode_rows,
    encode_trees,
    labels_of,
    read_labelled,
    read_row_trees,
)
from regard.data.trees.conllu import Parse
from regard.interop.base_model import BaseModel
from regard.models import BERT, ClassifierHead, Model, RNNClassifier
from regard.parts.positions import Learned
from regard.store import NGRAMS, RunFolder
from regard.tasks.attention_maps import as_texts
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.classify.answers import text_scores
from regard.tasks.classify.attribution import Attribution, attribute_label
from regard.tasks.classify.baseline import tfidf_baseline
from regard.tasks.classify.mixture import Mixture, fit_mixture
from regard.tasks.classify.ngram_model import Ngrams, load_ngrams
from regard.tasks.classify.ngram_part import NgramPart
from regard.tasks.classify.pretraining import Pretraining, pretrain, read_texts
from regard.tasks.classify.recording import record_label
from regard.tasks.columns import training_columns
from regard.tasks.labels import label_scores
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.token_cache import existing_tokenizer
from regard.tasks.trees import Trees, check_trees, note_unused_trees, trees_of
from regard.tasks.vocabulary import with_vocab
from regard.text import Tokenizer, train_tokenizer


@dataclass(frozen=True)
class Classify(Task):
    labels: tuple[str, ...] = ()  # in the order of the logits; none: those of the training files
    max_length: int = 128  # tokens read of a text
    label_smoothing: float = 0.0
    token_dropout: float = 0.0  # fraction of the tokens that each training step does not show
    ngrams: Ngrams | None = None  # a linear model of n-grams beside the network; None: the network alone
    pretraining: Pretraining = Pretraining()  # on masked words, where the data has unlabelled texts
    mixture: Mixture = Mixture()  # fitted on the validation texts when training ends

    data: ClassVar[tuple[type, ...]] = (LabelFiles,)
    verb: ClassVar[str] = "classify"
    next_command: ClassVar[str] = "regard classify {} < LINES.txt"
    named: ClassVar[tuple[str, ...]] = ("classify", "label_probabilities", "attribute")
    eval_options: ClassVar[tuple[str, ...]] = ("trees", "columns")
    finetune_epochs: ClassVar[float] = 4.0

    def __post_init__(self) -> None:
        share(label_smoothing=self.label_smoothing, token_dropout=self.token_dropout)

    def loss(self, model: nn.Module, batch: LabelledBatch) -> Loss:
        return self.loss_and_logits(model, batch)[0]

    def loss_and_logits(self, model: nn.Module, batch: LabelledBatch) -> tuple[Loss, Tensor]:
        shown = batch.valid
        if model.training and self.token_dropout:
            shown = shown & (torch.rand(shown.shape, device=shown.device) >= self.token_dropout)
            shown[:, 0] = True  # so that there is always something to attend to
        logits = model(batch.tokens, shown, positions=batch.positions).float()
        smoothing = self.label_smoothing if model.training else 0.0
        total = F.cross_entropy(logits, batch.label, reduction="sum", label_smoothing=smoothing)
        return Loss(total, torch.tensor(batch.rows)), logits

    def loss_and_errors(self, model: nn.Module, batch: LabelledBatch) -> tuple[Loss, Loss]:
        logits, count = model(batch.tokens, batch.valid, positions=batch.positions).float(), torch.tensor(batch.rows)
        loss = F.cross_entropy(logits, batch.label, reduction="sum")
        return Loss(loss, count), Loss((logits.argmax(-1) != batch.label).sum(), count)

    def loss_unit(self, model: Model) -> str:
        return "nats per text"

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data, model = plan.data, plan.model
        if not isinstance(data, LabelFiles):
            raise ConfigError(f"data: {type(data).__name__} holds no labelled texts")
        if not isinstance(model, BERT | RNNClassifier) or not isinstance(model.head, ClassifierHead):
            raise ConfigError(
                f"model: {type(model).__name__} predicts no label; choose BERT with the head ClassifierHead, "
                "or RNNClassifier"
            )
        if data.unlabelled and (plan.init is not None or not isinstance(model, BERT)):
            other = "init" if plan.init is not None else f"model {type(model).__name__}"
            raise ConfigError(f"data.unlabelled: pre-trains a BERT from the start; remove it, or {other}")
        check_trees(model, has_trees=bool(data.trees))
        train, valid = data.rows()
        trees = read_row_trees(data.trees, train), read_row_trees(data.valid_trees, valid)
        note_unused_trees(model, has_trees=bool(data.trees))
        yield self._prepared(plan, workspace, (train, valid), trees)

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        if not isinstance(base.config, BERT):
            raise ConfigError("; start from an encoder (BERT), such as `train fill` makes")
        head = base.heads.get(ClassifierHead, ClassifierHead(pooling="mean"))
        model = replace(base.config, head=head, dropout=0.1)
        # What came from another library shall be able to return there, where no n-gram model stands beside it.
        return (self if base.origin is None else replace(self, ngrams=None)), model

    def _prepared(
        self,
        plan: Settings,
        workspace: Workspace,
        rows: tuple[list[Row], list[Row]],
        trees: tuple[list[Parse] | None, list[Parse] | None],
    ) -> Prepared:
        data, training, (train, valid) = plan.data, plan.training, rows
        texts = _texts(train) + (read_texts(data.unlabelled) if data.unlabelled else [])
        tokenizer = existing_tokenizer(workspace) or train_tokenizer(data.tokenizer, texts)
        task = replace(self, labels=self.labels or labels_of(train), max_length=data.max_length)
        task = replace(task, mixture=Mixture())  # until it is fitted: both count, so that both are asked
        encoded = [encode_rows(part, task.labels, tokenizer, data.max_length) for part in rows]
        token_trees = [
            encode_trees(_texts(part), parses, tokenizer, data.max_length)
            for part, parses in zip(rows, trees, strict=True)
        ]

        def score(run: Run, loss: float) -> dict[str, float]:
            answers = run.classify(_texts(valid), trees[1])
            return label_scores(answers, [row.fields[0] for row in valid])

        def calibrate(run: Run) -> Classify:
            network, ngrams = task._both_scores(run, _texts(valid), trees[1])
            return replace(task, mixture=fit_mixture(network, ngrams, torch.tensor([label for label, _ in encoded[1]])))

        model = with_vocab(replace(plan.model, head=replace(plan.model.head, labels=len(task.labels))), tokenizer)
        ngrams_file, part = (
            workspace.out / NGRAMS,
            NgramPart(task.ngrams, task.labels, train, [] if data.valid else valid),
        )
        return Prepared(
            task=task,
            model=model,
            train=LabelledTexts(encoded[0], tokenizer.pad, training.batch_size, training.seed, token_trees[0]),
            valid=LabelledTexts(encoded[1], tokenizer.pad, training.batch_size, trees=token_trees[1]),
            tokenizer=tokenizer,
            score=score,
            keep=lambda: part.fit(ngrams_file),
            weights=self._pretrained(plan, model, tokenizer, texts, workspace),
            scored_on=len(valid),
            baseline=lambda: tfidf_baseline(*map(_pairs, rows)),
            calibrate=calibrate,
            refit=lambda: part.refit(ngrams_file),
        )

    def _pretrained(
        self, plan: Settings, model: Model, tokenizer: Tokenizer, texts: Sequence[str], workspace: Workspace
    ) -> Mapping[str, Tensor]:
        """Weights to start from, where the data has unlabelled texts and no checkpoint is continued."""
        started = workspace.resume and bool(RunFolder(workspace.out).checkpoints())
        if started or not plan.data.unlabelled or not isinstance(model, BERT):
            return {}
        return pretrain(model, tokenizer, texts, plan, self.pretraining, workspace.ranks)

    def answer(self, run: Run, inputs: Sequence[str], **options: Any) -> list[str]:
        return self.classify(run, inputs, **options)

    def classify(self, run: Run, texts: Sequence[str], trees: Trees | None = None) -> list[str]:
        """The most probable label of each text."""
        labels, probabilities = self.label_probabilities(run, texts, trees)
        return [labels[place] for place in probabilities.argmax(-1).tolist()] if len(texts) else []

    def label_probabilities(
        self, run: Run, texts: Sequence[str], trees: Trees | None = None
    ) -> tuple[tuple[str, ...], Float[Tensor, "text label"]]:
        """The labels, and the probability of each for each text."""
        check_list(texts)
        return self.labels, self.mixture.mix(*self._both_scores(run, as_texts(texts, run.path), trees)).softmax(-1)

    def attribute(self, run: Run, texts: Sequence[str]) -> list[Attribution]:
        """The label of each text, and how much each word contributes to it: its effect when it is left out."""
        check_list(texts)
        return [
            attribute_label(text, self.labels, lambda some: self.label_probabilities(run, some)[1]) for text in texts
        ]

    def _both_scores(self, run: Run, texts: Sequence[str], trees: Trees | None) -> tuple[Tensor, Tensor | None]:
        """The scores of the network, and those of the n-gram model; one that counts for nothing is not asked."""
        parses = trees_of(run, texts, trees)
        tokenizer = run.require_tokenizer("it classifies tokens but no text")
        network = torch.zeros(len(texts), len(self.labels))
        if texts and self.mixture.network:
            network = text_scores(run.model, tokenizer, texts, self.max_length, parses)
        return network, self._ngram_scores(run, texts)

    def _ngram_scores(self, run: Run, texts: Sequence[str]) -> Tensor | None:
        counts = self.ngrams is not None and self.mixture.ngrams
        scores: Tensor | None = run.extra["ngrams"].log_probabilities(texts) if counts else None
        return scores

    def read_extra(self, path: Path) -> Mapping[str, Any]:
        return {} if self.ngrams is None else {"ngrams": load_ngrams(path / NGRAMS, self.ngrams, len(self.labels))}

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        rows = read_labelled(tuple(files), options.columns or training_columns(run))
        check_labels(rows, self.labels)
        answers = self.classify(run, _texts(rows), read_row_trees(options.trees, rows))
        return {**label_scores(answers, [row.fields[0] for row in rows]), "texts": len(rows)}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("label", "a text to classify") if has_tokenizer and isinstance(config, BERT) else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        if not isinstance(run.config, BERT):
            return super().record(run, view_input, tree)
        ngrams = self._ngram_scores(run, [view_input.text])
        recording = record_label(
            run,
            view_input,
            self.labels,
            self.max_length,
            lambda scores: self.mixture.mix(scores, ngrams).softmax(-1),
            tree,
        )
        if self.ngrams is None:
            return recording
        weights = f"{self.mixture.network:g} and {self.mixture.ngrams:g}"
        note = f"the network, whose attention is shown, and the n-gram model count with the weights {weights}"
        return replace(recording, notes=(*recording.notes, note))

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "Classify | None":
        if not isinstance(config, BERT) or not isinstance(config.head, ClassifierHead):
            return None
        names = extra.get("id2label", {})
        length = config.position.length if isinstance(config.position, Learned) else cls.max_length
        return cls(labels=tuple(map(str, names.values())), max_length=length)


def _texts(rows: Sequence[Row]) -> list[str]:
    return [row.fields[1] for row in rows]


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.fields[0], row.fields[1]) for row in rows]
