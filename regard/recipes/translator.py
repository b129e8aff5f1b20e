"""A translator from pairs of texts."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data.text.dates import Dates
from regard.data.text.pair_files import PairFiles
from regard.models import RNN, Model, Transformer
from regard.parts import Additive, ReLU
from regard.recipes.pairs import TextPair, prepare_pairs
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.recipes.trees import check_trees, tell_unread_trees
from regard.run import Run
from regard.tasks import Translate
from regard.tasks.scores import translation_scores
from regard.text import Auto
from regard.train import AdamW, Cosine, Report, Training

MODELS: dict[str, Model] = {
    "transformer": Transformer(width=128, layers=4, heads=4, feed=ReLU(hidden=256), dropout=0.3),
    "rnn-attention": RNN(width=256, layers=1, attention=Additive(), dropout=0.4),
    "rnn": RNN(width=256, layers=1, attention=None, dropout=0.4),
}


def translator(train: tuple[str, ...], valid: tuple[str, ...], model: str = "transformer") -> Plan:
    """For some ten thousand pairs of sentences: little data wants a small model and much dropout (Wu et al., 2021)."""
    return Plan(
        data=PairFiles(train=train, valid=valid, tokenizer=Auto(vocab=5000)),
        task=Translate(smoothing=0.1),
        model=MODELS[model],
        training=Training(
            batch_size=128,
            epochs=60,
            minutes=58,
            optimiser=AdamW(lr=3e-3),
            schedule=Cosine(warmup=1000),
            ema=0.999,
            eval_every=500,
        ),
    )


def train_translator(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: nullcontext(prepare(plan, out, resume)), out, resume=resume, overwrite=overwrite)


def prepare(plan: Plan, folder: Path, resume: bool) -> Prepared:
    if not isinstance(plan.data, Dates | PairFiles):
        raise ConfigError(f"data: {type(plan.data).__name__} holds no pairs to translate")
    check_trees(plan.model, given=isinstance(plan.data, PairFiles) and bool(plan.data.trees))
    texts = plan.data.pairs()
    parses = plan.data.parses() if isinstance(plan.data, PairFiles) else {}
    tell_unread_trees(plan.model, given=bool(parses))
    measured = texts.get("test", texts["valid"])

    def score(run: Run, loss: float) -> dict[str, float]:
        answers = run.translate([source for source, _ in measured], trees=parses.get("valid"))
        return translation_scores(answers, [target for _, target in measured])

    return prepare_pairs(plan, texts, plan.data.tokenizer, score, folder, resume, parses=parses)


def share_right(run: Run, pairs: Sequence[TextPair]) -> float:
    """The share of pairs whose target the model writes exactly."""
    answers = run.translate([source for source, _ in pairs])
    return sum(answer == target for answer, (_, target) in zip(answers, pairs, strict=True)) / len(pairs)
