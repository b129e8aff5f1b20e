"""What looking for the likeliest text is worth: one translator, greedy and with beams of several widths.

    python benchmarks/text/beams.py runs/mt --test test2016.de test2016.en

BLEU, lower-cased, of all sentences, and the seconds that writing them took; in each round every width takes its turn,
and the median counts. What was written is the same in every round.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import regard  # noqa: E402  (the policy must be chosen before)
from regard.core.files import write_text  # noqa: E402
from regard.data.text.pair_files import read_pairs  # noqa: E402
from regard.decode import Beam  # noqa: E402
from regard.tasks.seq2seq.scores import signatures, translation_scores  # noqa: E402

WIDTHS = (1, 2, 5, 10)


def main() -> None:
    options = _options()
    sources, targets = (list(side) for side in zip(*read_pairs(tuple(map(str, options.test))), strict=True))
    run = regard.load(options.run)
    scores: dict[int, float] = {}
    seconds: dict[int, list[float]] = {width: [] for width in WIDTHS}
    for _ in range(options.rounds):
        for width in WIDTHS:
            began = time.perf_counter()
            written = run.translate(sources, beam=Beam(width) if width > 1 else None)
            seconds[width].append(time.perf_counter() - began)
            scores[width] = translation_scores(written, targets)["bleu_lower"]
    document = {
        "sentences": len(sources),
        "signatures": signatures(),
        "widths": [
            {"width": width, "bleu_lower": scores[width], "seconds": statistics.median(seconds[width])}
            for width in WIDTHS
        ],
    }
    write_text(options.json, json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["widths"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the run folder of a translator")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="two parallel files, or one of pairs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/text/results/beams.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
