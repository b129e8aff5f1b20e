"""Contacts: regard beside mutual information and mean-field couplings, by cross-validation over clusters of families.

    python benchmarks/contacts.py --data DATA
    python benchmarks/contacts.py --data DATA --seeds 1 --variant "no triangles"
    python benchmarks/contacts.py --data DATA --seeds 1 --depths 16 64 256 1024

DATA has `proteins` and `rna` with an alignment (.aln.gz) and the distances (.npz) of each family, and `index.csv` with
the set and the cluster of each protein. Only proteins with an X-ray structure are used, and RNA families of more than
one sequence. A fold leaves whole clusters out (of RNA, whole Rfam families), and nothing of a family that is left out
is trained on: neither its sequences nor families invented from its structure. Every finished fold is kept in
benchmarks/contacts, and is not made again.
"""

import argparse
import csv
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import torch  # noqa: E402  (the policy must be chosen before)

from regard.data.alignments.batches import FamilyBatches  # noqa: E402
from regard.data.alignments.examples import Examples  # noqa: E402
from regard.data.alignments.families import Family, read_families, read_family  # noqa: E402
from regard.tasks import Plan  # noqa: E402
from regard.tasks.contacts.predict import predict  # noqa: E402
from regard.tasks.contacts.recipe import contact_predictor  # noqa: E402
from regard.tasks.contacts.scores import precision  # noqa: E402
from regard.train import Loop, MemoryKeeper  # noqa: E402

RESULTS = Path(__file__).parent / "contacts"
X_RAY = "kortemme"
SMALL = {"width": 16, "pair_width": 24, "layers": 2, "outer": 8, "dropout": 0.0}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "full": {},
    # Ablations are of a tenth of the parameters, and so of the time.
    "small": {"model": SMALL},
    "no triangles": {"model": {**SMALL, "triangles": "none"}},
    "no pair bias": {"model": {**SMALL, "bias": "none"}},
    "no column attention": {"model": {**SMALL, "along": "rows"}},
    "no window": {"model": {**SMALL, "window": 0}},
    "triangle attention": {"model": {**SMALL, "triangles": "both"}},
    "invented only": {"model": SMALL, "data": {"invented": 1.0}},
    "real only": {"model": SMALL, "data": {"invented": 0.0}},
}


@dataclass(frozen=True)
class Member:
    """A family and the cluster that it must not be parted from."""

    name: str
    cluster: str
    family: Family


def read_members(data: Path) -> list[Member]:
    with (data / "index.csv").open() as file:
        proteins = [row for row in csv.DictReader(file) if row["set"] == X_RAY]
    members = [
        Member(row["id"], row["cluster"], read_family(data / "proteins" / f"{row['id']}.aln.gz")) for row in proteins
    ]
    for family in read_families([str(data / "rna")]):
        name = Path(family.name).name.removesuffix(".aln.gz")
        members.append(Member(name, name.split("_")[0], family))
    return members


def folds(members: list[Member], count: int, seed: int) -> list[set[str]]:
    """Clusters of proteins and of RNA, each shuffled and dealt out."""
    result: list[set[str]] = [set() for _ in range(count)]
    for molecule in ("protein", "rna"):
        clusters = sorted({one.cluster for one in members if one.family.alignment.alphabet.molecule == molecule})
        random.Random(seed).shuffle(clusters)
        for number, cluster in enumerate(clusters):
            result[number % count].add(cluster)
    return result


class Subset(Examples):
    """Some families of a pool, which are encoded once for all folds."""

    def __init__(self, pool: Examples, chosen: list[int], data: Any):
        super().__init__([pool.families[number] for number in chosen], data, pool.seed)
        self.pool, self.chosen = pool, chosen

    def get(self, family: int, number: int) -> Any:
        return self.pool.get(self.chosen[family], number)


def train(plan: Plan, examples: Examples) -> torch.nn.Module:
    torch.manual_seed(plan.training.seed)
    model, keeper = plan.model.build(), MemoryKeeper()
    batches = FamilyBatches(examples, plan.training.batch_size, plan.training.seed)
    Loop(model, plan.task, batches, plan.training, keeper).run()
    model.load_state_dict(keeper.weights)
    return model.eval()


def measure(model: torch.nn.Module, member: Member, sequences: int, depth: int | None = None) -> dict[str, Any]:
    alignment = member.family.alignment
    if depth is not None:
        alignment = alignment.sample(depth, "depth", member.name)
    prediction = predict(model, alignment, sequences)
    row: dict[str, Any] = {"family": member.name, "molecule": alignment.alphabet.molecule, "depth": depth}
    for method, score in prediction.methods.items():
        row[method] = dict(precision(score, member.family.distance, alignment.alphabet))
    return row


def plan_for(variant: str, steps: int | None, seed: int) -> Plan:
    plan = contact_predictor(("x",))
    changes = VARIANTS[variant]
    training = replace(plan.training, seed=seed, steps=steps or plan.training.steps)
    data = replace(plan.data, **changes.get("data", {}))
    return replace(plan, model=replace(plan.model, **changes.get("model", {})), data=data, training=training)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over families for each seed, then the mean and the spread over seeds; a seed counts once it is complete."""
    measured = Counter(row["seed"] for row in rows)
    rows = [row for row in rows if measured[row["seed"]] == max(measured.values())]
    result: dict[str, Any] = {}
    for molecule in ("protein", "rna"):
        for depth in sorted({row["depth"] for row in rows}, key=lambda one: one or 0):
            some = [row for row in rows if row["molecule"] == molecule and row["depth"] == depth]
            for method in ("regard", "mean-field DCA", "MI + APC") if some else ():
                for top in ("L/5", "L/2", "L"):
                    seeds = sorted({row["seed"] for row in some})
                    each = [
                        [row[method][top] for row in some if row["seed"] == seed and top in row[method]]
                        for seed in seeds
                    ]
                    means = torch.tensor([sum(values) / max(1, len(values)) for values in each])
                    spread = means.std().item() if len(means) > 1 else None
                    name = f"{molecule}, {depth or 'all'} sequences, {method}, top {top}"
                    result[name] = {"mean": round(means.mean().item(), 4), "spread": spread and round(spread, 4)}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of each training; without it those of the recipe")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="full", help="an ablation")
    parser.add_argument("--depths", type=int, nargs="*", default=[], help="numbers of sequences to measure with too")
    parser.add_argument("--threads", type=int, help="of torch")
    parser.add_argument("--out", type=Path, help="results; without it benchmarks/contacts/VARIANT.json")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    out = options.out or RESULTS / f"{options.variant.replace(' ', '_')}.json"
    document = json.loads(out.read_text()) if out.exists() else {"rows": [], "trainings": []}
    members = read_members(options.data)
    pools: dict[int, Examples] = {}
    for seed in range(options.seeds):
        plan = plan_for(options.variant, options.steps, seed)
        pool = pools.setdefault(0, Examples([one.family for one in members], plan.data))
        for number, left_out in enumerate(folds(members, options.folds, seed)):
            done = [(one["seed"], one["fold"]) for one in document["trainings"]]
            if (seed, number) in done:
                continue
            started = time.monotonic()
            chosen = [place for place, one in enumerate(members) if one.cluster not in left_out]
            model = train(plan, Subset(pool, chosen, plan.data))
            seconds = round(time.monotonic() - started)
            for member in (one for one in members if one.cluster in left_out):
                for depth in (None, *options.depths):
                    row = measure(model, member, plan.task.sequences, depth)
                    document["rows"].append({"seed": seed, "fold": number, **row})
            training = {"seed": seed, "fold": number, "steps": plan.training.steps, "seconds": seconds}
            document["trainings"].append({**training, "parameters": sum(p.numel() for p in model.parameters())})
            document["summary"] = summary(document["rows"])
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(document, indent=1) + "\n")
            print(f"seed {seed}, fold {number}: {seconds} s")
    for name, value in document["summary"].items():
        print(f"{name}: {value['mean']:.3f}" + (f" ± {value['spread']:.3f}" if value["spread"] is not None else ""))


if __name__ == "__main__":
    main()
