"""A summariser from documents and their summaries."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data.text.pair_files import PairFiles, References, all_targets
from regard.decode import Beam
from regard.models import Transformer
from regard.parts import ReLU
from regard.recipes.pairs import prepare_pairs
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.run import Run
from regard.tasks import Summarise
from regard.tasks.scores import summary_scores
from regard.tasks.summarise import first_words
from regard.train import AdamW, Cosine, Report, Training


def summariser(train: tuple[str, ...], valid: tuple[str, ...]) -> Plan:
    """A small Transformer for some ten thousand short documents."""
    return Plan(
        data=PairFiles(train=train, valid=valid),
        task=Summarise(),
        model=Transformer(width=192, layers=3, heads=4, feed=ReLU(hidden=512), dropout=0.2),
        training=Training(
            batch_size=64,
            epochs=20,
            minutes=20,
            optimiser=AdamW(lr=1e-3),
            schedule=Cosine(warmup=400),
            ema=0.999,
            eval_every=500,
        ),
    )


def train_summariser(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    return make_run(lambda ranks: nullcontext(prepare(plan, out, resume)), out, resume=resume, overwrite=overwrite)


def prepare(plan: Plan, folder: Path, resume: bool) -> Prepared:
    if not isinstance(plan.data, PairFiles) or not isinstance(plan.task, Summarise):
        raise ConfigError(f"data: {type(plan.data).__name__} holds no documents with summaries")
    documents = plan.data.references()
    texts = {name: all_targets(rows) for name, rows in documents.items()}

    def score(run: Run, loss: float) -> dict[str, float]:
        return score_summaries(run, documents["valid"])

    return prepare_pairs(plan, texts, plan.data.tokenizer, score, folder, resume, longest=plan.task.longest)


def score_summaries(
    run: Run, documents: Sequence[References], longest: int = 128, beam: Beam | None = None
) -> dict[str, float]:
    """What the run writes, and beside it what takes no learning: the first words, as many as a reference has."""
    texts, references = [source for source, _ in documents], [targets for _, targets in documents]
    begun = summary_scores(first_words(texts, usual_length(references)), references)
    return {
        **summary_scores(run.summarise(texts, longest, beam=beam), references),
        **{f"first_words_{name}": value for name, value in begun.items()},
    }


def usual_length(references: Sequence[Sequence[str]]) -> int:
    """The mean number of words of a reference."""
    lengths = [len(text.split()) for texts in references for text in texts]
    return max(1, round(sum(lengths) / len(lengths)))
