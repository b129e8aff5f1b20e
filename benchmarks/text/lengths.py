"""How translators do on short and long sentences: BLEU by the length of the source, as a document and as a picture.

    python benchmarks/text/lengths.py runs/transformer runs/rnn-attention runs/rnn --test test2016.de test2016.en

Sentences are put in order of their number of words and cut into equal parts, so that every figure stands for as many
sentences. A recurrent network without attention must put a whole sentence into one state, and long ones suffer most.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import matplotlib  # noqa: E402  (the policy must be chosen before)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import regard  # noqa: E402
from regard.core.files import write_text  # noqa: E402
from regard.data.text.pair_files import read_pairs  # noqa: E402
from regard.decode import Beam  # noqa: E402
from regard.tasks.seq2seq.scores import signatures, translation_scores  # noqa: E402

Pair = tuple[str, str]


def main() -> None:
    options = _options()
    pairs = sorted(read_pairs(tuple(map(str, options.test))), key=lambda pair: len(pair[0].split()))
    size = -(-len(pairs) // options.parts)
    parts = [pairs[first : first + size] for first in range(0, len(pairs), size)]
    document: dict[str, Any] = {
        "beam": options.beam,
        "signatures": signatures(),
        "parts": [{"sentences": len(part), "words": _words(part)} for part in parts],
        "bleu_lower": {run.name: _scores(run, parts, options.beam) for run in options.runs},
    }
    write_text(options.json, json.dumps(document, indent=1) + "\n")
    draw(document, options.json.with_suffix(".png"))
    print(json.dumps(document["bleu_lower"]))


def _scores(run: Path, parts: list[list[Pair]], beam: int) -> list[float]:
    """One figure for each part."""
    loaded = regard.load(run)
    search = Beam(beam) if beam != 1 else None
    answers = iter(loaded.translate([source for part in parts for source, _ in part], beam=search))
    return [
        translation_scores([next(answers) for _ in part], [target for _, target in part])["bleu_lower"]
        for part in parts
    ]


def _words(part: list[Pair]) -> float:
    return statistics.mean(len(source.split()) for source, _ in part)


def draw(document: dict[str, Any], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    words = [part["words"] for part in document["parts"]]
    for name, scores in document["bleu_lower"].items():
        axes.plot(words, scores, marker="o", label=name)
    axes.set_xlabel("words of the source (mean of each part)")
    axes.set_ylabel("BLEU, lower-cased")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders of translators")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="two parallel files, or one of pairs")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/text/results/lengths.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
