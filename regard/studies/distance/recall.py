"""Distance: how far back a model can recall, and what it costs to let distant places meet.

A recurrent network carries what it saw through every step in between; attention looks at it directly. The task asks for
exactly that: among random letters one is marked, and after the text it is to be named.

    qwer>tyui    is answered with    t

The marked letter stands in the middle, as far from the one end of the text as from the other: an encoder that reads
both ways comes no nearer to it from either side.
"""

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
from regard.recipes import Plan, translator
from regard.studies.distance.costs import measure_costs
from regard.studies.distance.report import report_distance
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import Pace, estimate, measure_pace
from regard.text import Characters
from regard.train import AdamW, Cosine, Training

LETTERS = "abcdefghijklmnop"
BATCH, MEASURED = 32, 200  # texts of a step, and texts to measure by
MODELS: dict[str, Model] = {
    "rnn": RNN(width=64, attention=None, dropout=0.0),
    "rnn-attention": RNN(width=64, attention=Additive(), dropout=0.0),
    "transformer": Transformer(width=64, layers=2, heads=4, feed=GELU(hidden=128), dropout=0.0),
}


@dataclass(frozen=True)
class Recall:
    distances: tuple[int, ...] = (4, 8, 16, 32, 64)
    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024)
    steps: int = 600
    seeds: int = 2
    settings: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps, seeds=self.seeds)
        for name, values in (("distances", self.distances), ("lengths", self.lengths)):
            if not values or min(values) < 1 or len(set(values)) < len(values):
                raise ConfigError(f"{name}: needs different whole numbers above 0, not {values}")


def distance(asked: Recall, out: Path, processes: int | None, say: Callable[[str], None]) -> None:
    with StudyFolder(out).open(asdict(asked)) as folder:
        jobs = [
            Job(f"{kind}@{steps_back}", seed, _plan(asked, folder.path, kind, steps_back, seed))
            for steps_back in asked.distances
            for kind in MODELS
            for seed in range(asked.seeds)
        ]
        say("measuring time and memory by length")
        costs = folder.settled("costs", lambda: [asdict(cost) for cost in measure_costs(asked.lengths)])
        paces = folder.settled("paces", lambda: _paces(jobs, say))
        if left := folder.waiting(jobs):
            told = [Pace(**paces[job.name]).run(job.plan.training.steps or 0) for job in left]
            say(estimate(told, processes or usable_cores()))
        outcomes = run_jobs(folder, jobs, processes, say, right=True)
        right: dict[str, dict[int, list[float]]] = {kind: {k: [] for k in asked.distances} for kind in MODELS}
        for job in jobs:
            kind, steps_back = job.name.split("@")
            right[kind][int(steps_back)].append(outcomes[job.key].right or 0.0)
        report_distance(folder.path, right, costs, asked.steps, 1 / len(LETTERS))
        say(f"wrote {out / 'report.html'} and {out / 'report.md'}")


def _paces(jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Of every model at every distance; the texts of a distance are read once for all models."""
    say("measuring the pace of every model at every distance")
    found: dict[str, dict[str, float]] = {}
    for data in dict.fromkeys(job.plan.data for job in jobs):
        plans = {job.name: job.plan for job in jobs if job.plan.data == data}
        with tempfile.TemporaryDirectory() as place, prepared(next(iter(plans.values())), Path(place) / "run") as ready:
            assert ready.tokenizer is not None
            for name, plan in plans.items():
                known = override(plan, {"model.vocab": ready.tokenizer.vocab})
                found[name] = asdict(measure_pace(known, ready))
    return found


def recall_pairs(steps_back: int, count: int, part: str) -> list[tuple[str, str]]:
    """Texts and the letter that stands behind the mark; the same ones every time."""
    dice = random.Random(seed_for("recall", steps_back, part))
    pairs = []
    for _ in range(count):
        letters = dice.choices(LETTERS, k=2 * steps_back + 1)
        item = letters[steps_back]
        pairs.append(("".join([*letters[:steps_back], ">", *letters[steps_back:]]), item))
    return pairs


def _plan(asked: Recall, folder: Path, kind: str, steps_back: int, seed: int) -> Plan:
    new = BATCH * asked.steps  # no text comes twice, so nothing can be learned by heart
    train, valid = (_file(folder, steps_back, count, part) for part, count in (("train", new), ("valid", MEASURED)))
    training = Training(
        batch_size=BATCH,
        steps=asked.steps,
        optimiser=AdamW(lr=2e-3),
        schedule=Cosine(warmup=50),
        precision="float32",
        compile="never",
        eval_every=asked.steps,
        keep_checkpoints=1,
        seed=seed,
    )
    plan = translator((train,), (valid,))
    data = PairFiles(train=(train,), valid=(valid,), tokenizer=Characters())
    return override(replace(plan, data=data, model=MODELS[kind], training=training), asked.settings or {})


def _file(folder: Path, steps_back: int, count: int, part: str) -> str:
    place = folder / "data" / f"recall-{steps_back}.{part}-{count}.tsv"  # other steps need other texts
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_text(place, "".join(f"{text}\t{item}\n" for text, item in recall_pairs(steps_back, count, part)))
    return str(place)
