"""Verbs that study: many small runs, one question, a report."""

from pathlib import Path
from typing import Literal

from regard.cli.app import Changes, study
from regard.cli.run_options import columns_setting
from regard.cli.tables import say
from regard.core.errors import ConfigError, at_least
from regard.core.machine import end_with_parent


@study.command(name="ablate")
def study_ablate(
    *,
    task: Literal["lm", "translate", "classify", "table"],
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
    """What each part of a Transformer is worth on your data: one change at a time, against the noise of seeds.

    The base's learning rate is found first. Repeating the command goes on with a study that was stopped. Settings of
    the base are dotted options, such as --model.width 64; --training.optimiser.lr 0.004 saves the search.

    Parameters
    ----------
    task
        What the runs learn: a language model, a translator, a classifier, or a column of a table.
    data
        The files that `regard train` of that task takes; for a table one file.
    out
        Folder of the study.
    valid
        Files to measure by; without them a share of the data (translation needs them).
    columns
        Names of the columns of texts, as `regard train` takes them.
    target
        The column to be told, for a table.
    minutes
        Time for the whole study; runs are sized to fit.
    seeds
        Runs of each change; the base gets two more.
    budget
        Whether every run sees as many tokens, or trains for as long.
    steps
        Steps of every run, in place of minutes.
    only
        Names of the changes to make; without it all that the task can take.
    processes
        Runs side by side; without it one a core.
    """
    from regard.studies.ablate.ablation import Ablation, ablate

    at_least(1, processes=processes)
    asked = Ablation(
        task=task,
        data=tuple(map(str, data)),
        valid=tuple(map(str, valid)),
        target=target,
        minutes=minutes,
        seeds=seeds,
        budget=budget,
        steps=steps,
        only=tuple(name for word in only for name in word.split(",") if name),
        settings={**columns_setting(columns), **(changes or {})},
    )
    ablate(asked, out, processes, say)


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
    """How the loss of a language model falls with parameters, tokens and work; a larger run is foretold, then made.

    The rate of the smallest size is found first. Repeating the command goes on with a study that was stopped. Settings
    of all runs are dotted options; --training.optimiser.lr 0.008 is that of the smallest size, and saves the search.

    Parameters
    ----------
    data
        Text files, as for `regard train lm`.
    out
        Folder of the study.
    valid
        Files to measure by; without them the last tenth of the data.
    columns
        Name of the column of the text, where files call it otherwise than text.
    minutes
        Time for the whole study; sizes and budgets are chosen to fit.
    steps
        Steps of the longest runs, in place of minutes.
    sizes
        Widths and layers such as 64x3 96x4 128x5 192x6; the last is foretold, the others are fitted.
    for_budget
        Operations, such as 1e15, to name the best size for; a study that has ended may be asked again.
    processes
        Runs side by side; without it one a core.
    """
    from regard.studies.scale.scaling import Scaling, scale

    at_least(1, processes=processes)
    settings = {**columns_setting(columns), **(changes or {})}
    asked = Scaling(tuple(map(str, data)), tuple(map(str, valid)), minutes, steps, sizes, settings)
    scale(asked, out, processes, say, for_budget)


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
    """How far back an RNN, an RNN with attention and a Transformer recall; and what each way of mixing costs by length.

    Parameters
    ----------
    out
        Folder of the study.
    distances
        How many letters stand between the one to recall and either end of the text.
    lengths
        Lengths to measure time, memory and waiting at.
    steps
        Steps that each model learns for.
    seeds
        Runs of each model and distance.
    processes
        Runs side by side; without it one a core.
    """
    from regard.studies.distance.recall import Recall, distance

    at_least(1, processes=processes)
    distance(Recall(distances, lengths, steps, seeds, changes or {}), out, processes, say)


@study.command(name="heads")
def study_heads(*runs: Path, out: Path, trees: tuple[Path, ...] = (), batches: int = 4, sentences: int = 200) -> None:
    """What each head of a run attends to, and what the loss rises by when it is silent.

    Parameters
    ----------
    runs
        Run folders of `regard train` on texts or images, of `regard fit --mode trained`, or of a study of tables.
    out
        Folder of the study.
    trees
        CoNLL-U files with sentences, to see which heads look at the word that a word hangs from.
    batches
        Batches of the run's own validation data to measure by.
    sentences
        Most sentences to read of the trees.
    """
    from regard.core.files import sha256
    from regard.store import WEIGHTS
    from regard.studies.heads.heads import study_heads as study_subject
    from regard.studies.heads.heads import subject_of
    from regard.studies.heads.report import report_heads
    from regard.studies.runner.folder import StudyFolder
    from regard.train.display import clock

    if not runs:
        raise ConfigError("study heads: name the run folders to study")
    asked = {"runs": list(map(str, runs)), "trees": list(map(str, trees)), "batches": batches, "sentences": sentences}
    kept = [run / WEIGHTS for run in runs]  # a run that was trained again is another
    asked["weights"] = [sha256(file) if file.exists() else None for file in kept]
    with StudyFolder(out).open(asked) as folder:
        subjects = [subject_of(run, batches) for run in runs]
        left = [one.left(folder) for one in subjects]
        seconds = sum(count * one.seconds for count, one in zip(left, subjects, strict=True))
        say(f"silencing {sum(left)} heads one by one: about {clock(seconds)}")
        found = [study_subject(one, folder, trees, sentences) for one in subjects]
        report_heads(folder.path, found)
    say(f"wrote {out / 'report.html'} and {out / 'report.md'}")


@study.command(name="work", show=False)
def study_work(folder: Path, key: str, *, right: bool = False) -> int:
    """One run of a study, in a process of its own (`study` verbs start it).

    Parameters
    ----------
    folder
        Folder of the study.
    key
        Name and seed of the run.
    right
        Also count the texts that are told exactly right.
    """
    end_with_parent()
    from regard.studies.runner.work import work  # takes seconds, in which the study may be gone already

    return work(folder, key, right=right)
