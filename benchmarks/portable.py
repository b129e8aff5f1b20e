"""What the portable recipe costs: each task trained for the same minutes by the default recipe and by the portable one.

    python benchmarks/portable.py --data DATA                       every task, seed 0
    python benchmarks/portable.py --data DATA --tasks lm classify   some

DATA holds `text` and `vision`. The scores are those of the validation data, as the commands print them at their end.
The results are kept in results/portable.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from text.learning import DEBIAN, MULTI30K, SHAKESPEARE, SMS, Job, machine, run

RESULT = Path(__file__).parent / "results" / "portable.json"
TASKS = {
    "lm": f"{SHAKESPEARE} --minutes 3",
    "fill": "fill --data {data}/text/lm/tinyshakespeare.txt --minutes 2",
    "classify": f"classify --train {SMS}/train.tsv.gz --valid {SMS}/dev.tsv.gz",
    "translate": (
        f"translate --train {MULTI30K}/train.de.gz {MULTI30K}/train.en.gz "
        f"--valid {MULTI30K}/val.de.gz {MULTI30K}/val.en.gz --minutes 6 --processes 2"
    ),
    "summarise": f"summarise --train {DEBIAN}/train.tsv.xz --valid {DEBIAN}/val.tsv.gz --minutes 3 --processes 2",
    "image": "image --train {data}/vision/fashion_mnist --minutes 3 --processes 2",
}
RECIPES = {"default": "", "portable": " --recipe portable"}


def main() -> None:
    options = _options()
    document = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for task in options.tasks:
        found: dict[str, Any] = {"command": f"regard train {TASKS[task]}", "machine": machine()}
        for recipe, more in RECIPES.items():
            name = f"portable-{task}-{recipe}"
            found[recipe] = run(name, Job(TASKS[task] + more), options.seed, options.data, options.runs)
            print(task, recipe, json.dumps(found[recipe]), flush=True)
        document[task] = found
        RESULT.write_text(json.dumps(document, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="TASK")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmarks"), help="where the runs go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
