"""Distance: over how many tokens a model can recall, and what it costs to connect distant tokens.

A recurrent network carries what it saw through every step in between; attention looks at it directly. The task needs
exactly that: among random letters one is marked, and the model must name it after reading the text.

    qwer>tyui    is answered with    t

The marked letter is in the middle, equally far from both ends, so reading in both directions does not help an encoder.
"""

import logging
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.config import override
from regard.core.errors import ConfigError, at_least
from regard.core.files import write_text
from regard.core.machine import seed_for, usable_cores
from regard.data.text.pair_files import PairFiles
from regard.models import RNN, Model, Transformer
from regard.parts import GELU, Additive
from regard.studies.distance.costs import measure_costs
from regard.studies.distance.report import report_distance
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import Timing, estimate, measure_timing
from regard.tasks.plan import Plan
from regard.tasks.translate.recipe import translator
from regard.text import Characters
from regard.train import AdamW, Cosine, Training

log = logging.getLogger(__name__)
LETTERS = "abcdefghijklmnop"
BATCH, VALIDATION = 32, 200  # texts per step, and validation texts
MODELS: dict[str, Model] = {
    "rnn": RNN(width=64, attention=None, dropout=0.0),
    "rnn-attention": RNN(width=64, attention=Additive(), dropout=0.0),
    "transformer": Transformer(width=64, layers=2, heads=4, feed=GELU(hidden=128), dropout=0.0),
}


@dataclass(frozen=True)
class Recall:
    """The settings of the study; the same settings in the same folder resume it."""

    distances: tuple[int, ...] = (4, 8, 16, 32, 64)
    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024)
    steps: int = 600
    seeds: int = 2
    overrides: Mapping[str, Any] | None = None  # dotted settings of all runs

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps, seeds=self.seeds)
        for name, values in (("distances", self.distances), ("lengths", self.lengths)):
            if not values or min(values) < 1 or len(set(values)) < len(values):
                raise ConfigError(f"{name}: needs distinct positive integers, not {values}")


def study_distance(study: Recall, out: Path, processes: int | None) -> None:
    with StudyFolder(out).open(asdict(study)) as folder:
        jobs = [
            Job(f"{model}@{distance}", seed, _plan(study, folder.path, model, distance, seed))
            for distance in study.distances
            for model in MODELS
            for seed in range(study.seeds)
        ]
        log.info("measuring time and memory by length")
        costs = folder.cached("costs", lambda: [asdict(cost) for cost in measure_costs(study.lengths)])
        timings = folder.cached("timings", lambda: _timings(jobs))
        if pending := folder.pending(jobs):
            seconds = [Timing(**timings[job.name]).run(job.plan.training.steps or 0) for job in pending]
            log.info(estimate(seconds, processes or usable_cores()))
        outcomes = run_jobs(folder, jobs, processes, exact_match=True)
        accuracies: dict[str, dict[int, list[float]]] = {model: {d: [] for d in study.distances} for model in MODELS}
        for job in jobs:
            model, distance = job.name.split("@")
            accuracies[model][int(distance)].append(outcomes[job.key].exact_match or 0.0)
        report_distance(folder.path, accuracies, costs, study.steps, 1 / len(LETTERS))
        log.info("wrote %s and %s", out / "report.html", out / "report.md")


def _timings(jobs: Sequence[Job]) -> dict[str, dict[str, float]]:
    """Of every model at every distance; the texts of a distance are read once for all models."""
    log.info("timing every model at every distance")
    timings: dict[str, dict[str, float]] = {}
    for data in dict.fromkeys(job.plan.data for job in jobs):
        plans = {job.name: job.plan for job in jobs if job.plan.data == data}
        with (
            tempfile.TemporaryDirectory() as scratch,
            prepared(next(iter(plans.values())), Path(scratch) / "run") as ready,
        ):
            assert ready.tokenizer is not None
            for name, plan in plans.items():
                sized = override(plan, {"model.vocab": ready.tokenizer.vocab})
                timings[name] = asdict(measure_timing(sized, ready))
    return timings


def recall_pairs(distance: int, count: int, split: str) -> list[tuple[str, str]]:
    """Random texts and their marked letters, the same for the same arguments."""
    rng = random.Random(seed_for("recall", distance, split))
    pairs = []
    for _ in range(count):
        letters = rng.choices(LETTERS, k=2 * distance + 1)
        item = letters[distance]
        pairs.append(("".join([*letters[:distance], ">", *letters[distance:]]), item))
    return pairs


def _plan(study: Recall, folder: Path, model: str, distance: int, seed: int) -> Plan:
    new = BATCH * study.steps  # no text is repeated, so nothing can be memorised
    train, valid = (_file(folder, distance, n, split) for split, n in (("train", new), ("valid", VALIDATION)))
    training = Training(
        batch_size=BATCH,
        steps=study.steps,
        optimiser=AdamW(lr=2e-3),
        schedule=Cosine(warmup=50),
        precision="float32",
        compile="never",
        eval_every=study.steps,
        keep_checkpoints=1,
        seed=seed,
    )
    plan = translator((train,), (valid,))
    data = PairFiles(train=(train,), valid=(valid,), tokenizer=Characters())
    return override(replace(plan, data=data, model=MODELS[model], training=training), study.overrides or {})


def _file(folder: Path, distance: int, count: int, split: str) -> str:
    path = folder / "data" / f"recall-{distance}.{split}-{count}.tsv"  # another number of steps needs other texts
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_text(path, "".join(f"{text}\t{item}\n" for text, item in recall_pairs(distance, count, split)))
    return str(path)
