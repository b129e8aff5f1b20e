"""Does a dependency tree help a small Transformer? The same model with four codes for the place of a source token.

    python benchmarks/text/trees.py --data ud_partut                     translation, English to Italian
    python benchmarks/text/trees.py --data ud_partut --genres ud_en_ewt  and which of five genres a sentence is from
    python benchmarks/text/trees.py --data ud_partut --steps 20 --seeds 0 --json quick.json

ParTUT (UD_English-ParTUT, UD_Italian-ParTUT) is the same sentences in two languages, each with its tree: the number at
the end of `sent_id` is the same in both. EWT (UD_English-EWT) names the genre at the start of `sent_id`. Folders hold
en.train.conllu.gz, it.dev.conllu.gz, … and train.conllu.gz, dev.conllu.gz, test.conllu.gz.

Within a study everything but the source's position code is the same: data, tokenizer, steps, the decoder's own code
(sinusoid). Each seed draws weights, order and dropout anew. Weights are those of the best check on the dev sentences;
figures are of the test sentences. The document is written after every run, and a study that was broken off goes on
where it stopped.
"""

import argparse
import gzip
import json
import os
import platform
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import torch  # noqa: E402  (the policy must be chosen before)
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import regard  # noqa: E402
from regard.core.errors import UserError  # noqa: E402
from regard.core.files import write_text  # noqa: E402
from regard.data.text.labelled import LabelledTexts, encode_rows, encode_trees, read_labelled  # noqa: E402
from regard.data.text.pair_files import read_pairs  # noqa: E402
from regard.data.text.pairs import Pairs, source_trees  # noqa: E402
from regard.data.trees.conllu import Parse, read_trees  # noqa: E402
from regard.parts import NoPosition, Position, ReLU, Shaw, Sinusoid, Tree  # noqa: E402
from regard.store import CONFIG  # noqa: E402
from regard.tasks import Run, load_run  # noqa: E402
from regard.tasks.classify.recipe import classifier  # noqa: E402
from regard.tasks.labels import label_scores  # noqa: E402
from regard.tasks.plan import Plan  # noqa: E402
from regard.tasks.seq2seq.scores import signatures, translation_scores  # noqa: E402
from regard.tasks.training import train  # noqa: E402
from regard.tasks.translate.recipe import translator  # noqa: E402
from regard.text import BPE  # noqa: E402
from regard.train import AdamW, Cosine, Report, evaluate  # noqa: E402

POSITIONS: dict[str, Position] = {
    "NoPosition": NoPosition(),
    "Sinusoid": Sinusoid(),
    "Shaw": Shaw(),
    "Tree": Tree(),
}
SPLITS = ("train", "dev", "test")
LONGEST = 128  # tokens written for a test sentence
BATCH = 64  # when measuring: only speed depends on it


@dataclass(frozen=True)
class Study:
    """A table of rows beside trees for each split, how to train on it, and what to measure."""

    name: str
    steps: int
    write: Callable[[Path], None]
    plan: Callable[[Path, Position, int], Plan]
    train: Callable[..., Report]
    measure: Callable[[Run, Path], dict[str, float]]


def translation(data: Path, steps: int) -> Study:
    """English to Italian. With under two thousand pairs nothing fluent is written: the loss is what tells."""

    def write(folder: Path) -> None:
        for split in SPLITS:
            targets = {number_of(block): block for block in blocks(data / f"it.{split}.conllu.gz")}
            kept = [block for block in blocks(data / f"en.{split}.conllu.gz") if number_of(block) in targets]
            rows = [f"{text_of(block)}\t{text_of(targets[number_of(block)])}\n" for block in kept]
            write_split(folder, split, rows, kept)

    def plan(folder: Path, position: Position, seed: int) -> Plan:
        base = translator(*files(folder, "tsv"))
        model = replace(
            base.model,
            width=128,
            layers=2,
            feed=ReLU(hidden=256),
            dropout=0.3,
            position=position,
            target_position=Sinusoid(),
        )
        return settled(base, folder, model, seed, steps, batch=32)

    def measure(run: Run, folder: Path) -> dict[str, float]:
        pairs, parses = list(read_pairs((str(folder / "test.tsv"),))), test_trees(folder)
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        rows = list(zip(run.tokenizer.encode(sources), run.tokenizer.encode(targets), strict=True))
        batches = Pairs(rows, run.tokenizer, BATCH, trees=source_trees(sources, parses, run.tokenizer))
        scores = translation_scores(run.translate(sources, LONGEST, trees=parses), targets)
        loss = evaluate(run.model, run.task, batches)
        return {"loss": loss, "chrf": scores["chrf"], "bleu": scores["bleu"]}

    return Study("translation", steps, write, plan, train, measure)


def genre(data: Path, steps: int) -> Study:
    """Which genre a sentence is from. Its words tell most of it, so that no code of places may be needed at all."""

    def write(folder: Path) -> None:
        for split in SPLITS:
            kept = list(blocks(data / f"{split}.conllu.gz"))
            rows = [f"{comment_of(block, 'sent_id').partition('-')[0]}\t{text_of(block)}\n" for block in kept]
            write_split(folder, split, rows, kept)

    def plan(folder: Path, position: Position, seed: int) -> Plan:
        base = classifier(*files(folder, "tsv"))
        model = replace(base.model, position=position, neighbours=None)  # which would read the order of the words
        return settled(base, folder, model, seed, steps, batch=64)

    def measure(run: Run, folder: Path) -> dict[str, float]:
        rows, parses = read_labelled([str(folder / "test.tsv")]), test_trees(folder)
        texts, longest = [row.fields[1] for row in rows], run.task.longest
        encoded = encode_rows(rows, run.task.labels, run.tokenizer, longest)
        trees = encode_trees(texts, parses, run.tokenizer, longest)
        scores = label_scores(run.classify(texts, parses), [row.fields[0] for row in rows])
        return {
            "loss": evaluate(run.model, run.task, LabelledTexts(encoded, run.tokenizer.pad, BATCH, trees=trees)),
            **scores,
        }

    return Study("genre", steps, write, plan, train, measure)


def settled(base: Plan, folder: Path, model: Any, seed: int, steps: int, batch: int) -> Plan:
    """A recipe with what all runs of a study share."""
    trees, valid_trees = files(folder, "conllu")
    return replace(
        base,
        data=replace(base.data, trees=trees, valid_trees=valid_trees, tokenizer=BPE(vocab=2000)),
        model=model,
        training=replace(
            base.training,
            batch=batch,
            epochs=None,
            steps=steps,
            optimiser=AdamW(lr=1e-3),
            schedule=Cosine(warmup=100),
            average=0.99,
            eval_every=100,
            seed=seed,
        ),
    )


def blocks(path: Path) -> Iterator[str]:
    """The sentences of a treebank as they are written."""
    try:
        text = gzip.decompress(path.read_bytes()).decode("utf-8")
    except (OSError, EOFError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    return (block + "\n\n" for block in re.split(r"\n\n+", text.strip()))


def comment_of(block: str, key: str) -> str:
    match = re.search(rf"^# {key} = (.*)$", block, re.MULTILINE)
    if match is None:
        raise UserError(f"a sentence has no comment # {key}: {block[:60]!r}")
    return match[1]


def text_of(block: str) -> str:
    return comment_of(block, "text").replace("\t", " ").strip()


def number_of(block: str) -> str:
    return comment_of(block, "sent_id").rpartition("-")[2]


def write_split(folder: Path, split: str, rows: list[str], trees: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{split}.tsv", "".join(rows))
    write_text(folder / f"{split}.conllu", "".join(trees))


def files(folder: Path, suffix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """To train on, and to check by."""
    return (str(folder / f"train.{suffix}"),), (str(folder / f"dev.{suffix}"),)


def test_trees(folder: Path) -> list[Parse]:
    return read_trees([folder / "test.conllu"])


def run_study(study: Study, asked: argparse.Namespace, document: dict[str, Any]) -> None:
    """Every position with every seed; rows that the document holds already are kept."""
    folder = asked.work / study.name / "data"
    study.write(folder)
    counts = {split: sum(1 for _ in (folder / f"{split}.tsv").open(encoding="utf-8")) for split in SPLITS}
    mine = document["studies"].get(study.name)
    if mine is None or (mine["steps"], mine["rows"]) != (study.steps, counts):
        mine = document["studies"][study.name] = {"steps": study.steps, "rows": counts, "runs": []}
    for seed in asked.seeds:
        for name in asked.positions:
            if any((row["position"], row["seed"]) == (name, seed) for row in mine["runs"]):
                continue
            out = asked.work / study.name / f"{name}-{study.steps}-steps-seed-{seed}"
            report = study.train(study.plan(folder, POSITIONS[name], seed), out, resume=(out / CONFIG).exists())
            if report.stopped_by:
                sys.exit(128 + report.stopped_by)
            progress = report.progress
            mine["runs"].append(
                {
                    "position": name,
                    "seed": seed,
                    **study.measure(load_run(out), folder),
                    "best_step": progress.best_step,
                    "seconds": round(progress.seconds, 1),
                }
            )
            mine["summary"] = summary(mine["runs"])
            write_text(asked.json, json.dumps(document, indent=2) + "\n")


def summary(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Mean and standard deviation over seeds of every figure."""
    statistics_of: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(row["position"] for row in runs):
        rows = [row for row in runs if row["position"] == name]
        figures = [key for key in rows[0] if key not in ("position", "seed", "best_step", "seconds")]
        statistics_of[name] = {"seeds": len(rows)}
        for figure in figures:
            values = [row[figure] for row in rows]
            spread = statistics.stdev(values) if len(values) > 1 else None
            statistics_of[name][figure] = {"mean": statistics.mean(values), "deviation": spread}
    return statistics_of


def machine() -> dict[str, Any]:
    about = Path("/proc/cpuinfo")
    model = re.search(r"^model name\s*: (.*)$", about.read_text(), re.MULTILINE) if about.exists() else None
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "OMP_WAIT_POLICY": os.environ["OMP_WAIT_POLICY"],
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "regard": regard.__version__,
    }


def show(console: Console, document: dict[str, Any]) -> None:
    for name, study in document["studies"].items():
        summary = study["summary"]
        table = Table(title=f"{name} after {study['steps']} steps: test sentences, mean ± deviation over seeds")
        figures = [key for key in next(iter(summary.values())) if key != "seeds"]
        for column in ("position", "seeds", *figures):
            table.add_column(column, justify="left" if column == "position" else "right")
        for position, row in summary.items():
            cells = [
                f"{row[figure]['mean']:.3f}"
                + ("" if row[figure]["deviation"] is None else f" ± {row[figure]['deviation']:.3f}")
                for figure in figures
            ]
            table.add_row(position, str(row["seeds"]), *cells)
        console.print(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="ParTUT in English and Italian")
    parser.add_argument("--genres", type=Path, metavar="FOLDER", help="English EWT, for the second study")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--positions", nargs="+", choices=POSITIONS, default=list(POSITIONS), metavar="NAME")
    parser.add_argument("--work", type=Path, default=Path("runs/trees"), metavar="FOLDER", help="for the runs")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/text/results/trees.json"), metavar="FILE")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    before = json.loads(asked.json.read_text()) if asked.json.exists() else {"studies": {}}
    document = {
        "command": f"python benchmarks/text/trees.py --data ud_partut --steps {asked.steps}"
        + (" --genres ud_en_ewt" if asked.genres else ""),
        "machine": machine(),
        "signatures": signatures(),
        "studies": before["studies"],
    }
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    try:
        run_study(translation(asked.data, asked.steps), asked, document)
        if asked.genres is not None:
            run_study(genre(asked.genres, asked.steps), asked, document)
    except UserError as error:
        sys.exit(f"trees.py: {error}")
    show(Console(), document)


if __name__ == "__main__":
    main()
