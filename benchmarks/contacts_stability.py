"""Stability: scores of single mutations by `regard variants` beside measured changes of stability.

    python benchmarks/contacts_stability.py --data DATA
    python benchmarks/contacts_stability.py --data DATA --weights runs/contacts

DATA has `proteins` with an alignment (.aln.gz) of each protein and `ddg` with a table of its mutations: the measured
change and the scores of other methods that read the alignment. No measurement is trained on. Of each method the
absolute Spearman correlation with the measurements is averaged over the proteins.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import torch  # noqa: E402  (the policy must be chosen before)

from regard.tasks.contacts.shipped import contact_run  # noqa: E402

MEASURED, MUTATION = "DDG", "mutation_fasta"  # columns
OTHERS = ["LOR", "LORw", "GEMME_ind", "GEMME_epi", "EVCouplings_ind", "EVCouplings_epi", "ArDCA", "pycofitness"]
RESULTS = Path(__file__).parent / "contacts" / "stability.json"


def correlations(table: pd.DataFrame) -> dict[str, float]:
    return {method: abs(table[MEASURED].corr(table[method], method="spearman")) for method in [*OTHERS, "regard"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="a run of `regard pretrain contacts`; without it the shipped one")
    parser.add_argument("--threads", type=int, help="of torch")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    run, rows = contact_run(options.weights), {}
    for file in sorted((options.data / "ddg").glob("*.csv.gz")):
        name = file.name.removesuffix(".csv.gz")
        known = pd.read_csv(file)
        predicted = run.variants(options.data / "proteins" / f"{name}.aln.gz")[["mutation", "score"]]
        table = known.merge(predicted.rename(columns={"score": "regard"}), left_on=MUTATION, right_on="mutation")
        rows[name] = {"mutations": len(table), "of": len(known), **correlations(table)}
        print(name, rows[name], flush=True)
    means = pd.DataFrame(rows).T.drop(columns=["mutations", "of"]).mean().round(4).to_dict()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"mean": means, "proteins": rows}, indent=1) + "\n")
    print(means)


if __name__ == "__main__":
    main()
