"""The data of a plan made ready, whatever its task: the recipes' own preparation, measured by loss alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError
from regard.recipes import Plan
from regard.recipes.classifier import prepare as prepare_labels
from regard.recipes.filler import prepare as prepare_gaps
from regard.recipes.image_classifier import prepare as prepare_images
from regard.recipes.language import prepare as prepare_text
from regard.recipes.own_table import prepare as prepare_table
from regard.recipes.summariser import prepare as prepare_summaries
from regard.recipes.training import Prepared
from regard.recipes.translator import prepare as prepare_pairs
from regard.tasks import Classify, ClassifyImages, FillMasked, LanguageModel, MaskedCells, Summarise, Translate
from regard.train import Ranks


@contextmanager
def prepared(plan: Plan, out: Path, ranks: Ranks = Ranks()) -> Iterator[Prepared]:
    """`out` is the run folder, whose tokenizer is used where it has one already.

    Studies compare losses: to write out every validation text of every run would cost more than its training.
    """
    with _ready(plan, out, ranks) as ready:
        yield replace(ready, score=lambda run, loss: {"loss": loss})


@contextmanager
def _ready(plan: Plan, out: Path, ranks: Ranks) -> Iterator[Prepared]:
    if isinstance(plan.task, LanguageModel):
        with prepare_text(plan, out, ranks, True) as ready:
            yield ready
    elif isinstance(plan.task, FillMasked):
        with prepare_gaps(plan, out, ranks, True) as ready:
            yield ready
    elif isinstance(plan.task, ClassifyImages):
        with prepare_images(plan, out, ranks, True) as ready:
            yield ready
    elif isinstance(plan.task, Summarise):
        yield prepare_summaries(plan, out, True)
    elif isinstance(plan.task, Translate):
        yield prepare_pairs(plan, out, True)
    elif isinstance(plan.task, Classify):
        yield prepare_labels(plan, out, True)
    elif isinstance(plan.task, MaskedCells):
        yield prepare_table(plan)
    else:
        raise ConfigError(f"task: {type(plan.task).__name__} has no study; runs on texts, images and own tables have")
