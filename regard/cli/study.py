"""Verbs that study: many small runs, one question, a report."""

from pathlib import Path
from typing import Literal

from regard.cli.app import study
from regard.core.errors import at_least
from regard.core.extras import require
from regard.core.machine import end_with_parent
from regard.tasks.options import Changes, columns_setting


@study.command(name="ablate")
def study_ablate(
    *,
    task: str,
    data: tuple[Path, ...],
    out: Path,
    valid: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    target: str | None = None,
    minutes: float = 30.0,
    seeds: int = 3,
    budget: Literal["tokens", "time"] = "tokens",
    steps: int | None = None,
    only: tuple[str, ...] = (),
    processes: int | None = None,
    changes: Changes = None,
) -> None:
    """Ablation on your data: what each part of a Transformer is worth, one change at a time, against seed noise.

    The learning rate of the base is searched first. Repeating the command resumes a study that was stopped. Settings of
    the base are dotted options, such as --model.width 64; --training.optimiser.lr 0.004 skips the search.

    Parameters
    ----------
    task
        What the runs learn: lm, fill, translate, summarise, classify, image or table.
    data
        Files as for `regard train` of that task; for a table one file.
    out
        Folder of the study.
    valid
        Validation files; by default a fraction of the data (required for pairs of texts).
    columns
        Names of the text columns, as for `regard train`.
    target
        The column to predict, for a table.
    minutes
        Time for the whole study; runs are sized to fit.
    seeds
        Runs per change; the base gets two more.
    budget
        Whether all runs see equally many tokens, or train equally long.
    steps
        Steps of every run, instead of minutes.
    only
        Names of changes, or of part classes, your own included; by default all changes that apply to the task.
    processes
        Parallel runs; by default one per core.
    """
    require("plot", "the report of a study")
    from regard.studies.ablate.ablation import Ablation, study_ablation

    at_least(1, processes=processes)
    ablation = Ablation(
        task=task,
        data=tuple(map(str, data)),
        valid=tuple(map(str, valid)),
        target=target,
        minutes=minutes,
        seeds=seeds,
        budget=budget,
        steps=steps,
        only=tuple(name for word in only for name in word.split(",") if name),
        overrides={**columns_setting(columns), **(changes or {})},
    )
    study_ablation(ablation, out, processes)


@study.command(name="scale")
def study_scale(
    *,
    data: tuple[Path, ...],
    out: Path,
    valid: tuple[Path, ...] = (),
    columns: tuple[str, ...] = (),
    minutes: float = 30.0,
    steps: int | None = None,
    sizes: tuple[str, ...] = (),
    for_budget: tuple[float, ...] = (),
    processes: int | None = None,
    changes: Changes = None,
) -> None:
    """Scaling laws of a language model: loss by parameters, tokens and compute; a larger run is predicted, then made.

    The learning rate of the smallest size is searched first. Repeating the command resumes a study that was stopped.
    Settings of all runs are dotted options; --training.optimiser.lr 0.008, for the smallest size, skips the search.

    Parameters
    ----------
    data
        Text files, as for `regard train lm`.
    out
        Folder of the study.
    valid
        Validation files; by default the last tenth of the data.
    columns
        Name of the text column, if it is not named text.
    minutes
        Time for the whole study; sizes and budgets are chosen to fit.
    steps
        Steps of the longest runs, instead of minutes.
    sizes
        Widths and layers such as 64x3 96x4 128x5 192x6; the last is predicted, the others are fitted.
    for_budget
        FLOPs, such as 1e15, to print the best size for; also for a study that is complete.
    processes
        Parallel runs; by default one per core.
    """
    require("plot", "the report of a study")
    from regard.studies.scale.scaling import Scaling, study_scaling

    at_least(1, processes=processes)
    overrides = {**columns_setting(columns), **(changes or {})}
    scaling = Scaling(tuple(map(str, data)), tuple(map(str, valid)), minutes, steps, sizes, overrides)
    study_scaling(scaling, out, processes, for_budget)


@study.command(name="distance")
def study_distance(
    *,
    out: Path,
    distances: tuple[int, ...] = (4, 8, 16, 32, 64),
    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024),
    steps: int = 600,
    seeds: int = 2,
    processes: int | None = None,
    changes: Changes = None,
) -> None:
    """Recall over distance of an RNN, an RNN with attention and a Transformer; and the cost of their layers by length.

    Parameters
    ----------
    out
        Folder of the study.
    distances
        Letters between the one to recall and either end of the text.
    lengths
        Lengths at which to measure time, memory and sequential steps.
    steps
        Training steps of each model.
    seeds
        Runs per model and distance.
    processes
        Parallel runs; by default one per core.
    """
    require("plot", "the report of a study")
    from regard.studies.distance.recall import Recall
    from regard.studies.distance.recall import study_distance as run_study

    at_least(1, processes=processes)
    run_study(Recall(distances, lengths, steps, seeds, changes or {}), out, processes)


@study.command(name="heads")
def study_heads(*runs: Path, out: Path, trees: tuple[Path, ...] = (), batches: int = 4, sentences: int = 200) -> None:
    """What each head of a run attends to, and how much the loss rises when it is masked.

    Parameters
    ----------
    runs
        Run folders of `regard train` on texts or images, of `regard fit --mode scratch`, or of an ablation of a table.
    out
        Folder of the study.
    trees
        CoNLL-U files with dependency trees, to find the heads that attend to the syntactic head of a word.
    batches
        Batches of the run's validation data to measure on.
    sentences
        Maximum number of sentences to read from the trees.
    """
    require("plot", "the report of a study")
    from regard.studies.heads.study import HeadStudy
    from regard.studies.heads.study import study_heads as run_study

    run_study(HeadStudy(tuple(map(str, runs)), tuple(map(str, trees)), batches, sentences), out)


@study.command(name="work", show=False)
def study_work(folder: Path, key: str, *, exact_match: bool = False) -> int:
    """One run of a study, in a process of its own (`study` verbs start it).

    Parameters
    ----------
    folder
        Folder of the study.
    key
        Name and seed of the run.
    exact_match
        Also measure the fraction of validation texts that are answered exactly.
    """
    end_with_parent()
    from regard.studies.runner.work import work  # takes seconds, in which the study may have ended

    return work(folder, key, exact_match=exact_match)
