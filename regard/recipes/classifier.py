"""A classifier from labelled texts."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data.text.labelled import (
    LabelFiles,
    LabelledTexts,
    encode_rows,
    encode_trees,
    labels_of,
    read_row_trees,
)
from regard.models import BERT, ClassifierHead, Model, RNNClassifier
from regard.parts import GELU, PreNorm, Sinusoid
from regard.recipes.begun import Begun, read_begun
from regard.recipes.encoded import own_tokenizer
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.recipes.trees import check_trees, tell_unread_trees
from regard.run import Run
from regard.store import RunFolder
from regard.tasks import Classify
from regard.tasks.classify import label_scores
from regard.text import Tokenizer
from regard.train import AdamW, Cosine, Report, Training


def classifier(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    return Plan(
        data=LabelFiles(train=train, valid=valid),
        task=Classify(smoothing=0.1, blind=0.1),
        model=BERT(
            width=128,
            layers=2,
            heads=4,
            position=Sinusoid(),
            wiring=PreNorm(),
            feed=GELU(hidden=256),
            head=ClassifierHead(pooling="mean"),
            dropout=0.3,
        ),
        training=Training(
            batch_size=64,
            epochs=5,
            min_steps=800,
            optimiser=AdamW(lr=1e-3, weight_decay=0.1),
            schedule=Cosine(warmup=100),
            ema=0.99,
            eval_every=100,
        ),
    )


def tuned(plan: Plan, init: Path) -> Plan:
    """The plan of a classifier that begins from an encoder: gentler and shorter, as most is known already."""
    begun, training = read_begun(init), plan.training
    assert isinstance(plan.data, LabelFiles)
    return replace(
        plan,
        init=str(init),
        data=replace(plan.data, tokenizer=None),
        model=replace(begun.model, head=ClassifierHead(pooling="mean"), dropout=0.1),
        training=replace(training, epochs=4, optimiser=AdamW(lr=5e-4, weight_decay=0.1)),
    )


def train_classifier(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: nullcontext(prepare(plan, out, resume)), out, resume=resume, overwrite=overwrite)


def prepare(plan: Plan, folder: Path, resume: bool) -> Prepared:
    data, task, model = plan.data, plan.task, plan.model
    if not isinstance(data, LabelFiles) or not isinstance(task, Classify):
        raise ConfigError(f"data: {type(data).__name__} holds no labelled texts")
    if not isinstance(model, BERT | RNNClassifier) or not isinstance(model.head, ClassifierHead):
        raise ConfigError(
            f"model: {type(model).__name__} names no label; choose BERT with the head ClassifierHead, or RNNClassifier"
        )
    check_trees(model, given=bool(data.trees))
    train, valid = data.rows()
    parses = read_row_trees(data.trees, train), read_row_trees(data.valid_trees, valid)
    tell_unread_trees(model, given=bool(data.trees))
    labels = task.labels or labels_of(train)
    begun = _begun(plan, model, folder, resume)
    tokenizer = _tokenizer(data, begun, [row.fields[1] for row in train], folder, resume)
    encoded = [encode_rows(rows, labels, tokenizer, data.max_length) for rows in (train, valid)]
    trees = [
        encode_trees([row.fields[1] for row in rows], beside, tokenizer, data.max_length)
        for rows, beside in zip((train, valid), parses, strict=True)
    ]

    def score(run: Run, loss: float) -> dict[str, float]:
        answers = run.classify([row.fields[1] for row in valid], parses[1])
        return label_scores(answers, [row.fields[0] for row in valid])

    head = replace(model.head, labels=len(labels))
    return Prepared(
        plan=replace(
            plan,
            task=replace(task, labels=labels, longest=data.max_length),
            model=replace(model, vocab=model.vocab if plan.init else tokenizer.vocab, head=head),
        ),
        train=LabelledTexts(encoded[0], tokenizer.pad, plan.training.batch_size, plan.training.seed, trees[0]),
        valid=LabelledTexts(encoded[1], tokenizer.pad, plan.training.batch_size, trees=trees[1]),
        tokenizer=tokenizer,
        score=score,
        weights=begun.weights if begun else {},
    )


def _begun(plan: Plan, model: Model, folder: Path, resume: bool) -> Begun | None:
    """What the run begins from; a run that goes on from its own checkpoint needs nothing of it any more."""
    if plan.init is None or (resume and RunFolder(folder).checkpoints()):
        return None
    begun = read_begun(Path(plan.init))
    begun.check(model)
    return begun


def _tokenizer(data: LabelFiles, begun: Begun | None, texts: Sequence[str], folder: Path, resume: bool) -> Tokenizer:
    if (own := own_tokenizer(folder, resume)) is not None:
        return own
    if begun is not None and data.tokenizer is not None:
        raise ConfigError(f"data.tokenizer: the model of {begun.path} knows the tokens of its own only; leave it out")
    if begun is not None:
        return begun.tokenizer
    if data.tokenizer is None:
        raise ConfigError("data.tokenizer: needs a kind, such as BPE, where training begins from no other run")
    return data.tokenizer.train(texts)
