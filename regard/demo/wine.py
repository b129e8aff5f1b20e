"""A table: wines told apart by their chemistry, beside the usual models, and the known wines that decided a new one."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from regard.data.tables.files import write_table
from regard.tables.baselines import SCIKIT_LEARN
from regard.tables.compare import compare
from regard.tables.fit_settings import FitSettings
from regard.tables.persist.save import save
from regard.tables.predictions import predict_targets, sentence
from regard.tables.problem import Problem, read_problem
from regard.tables.rendering import comparison_grid, evidence_grids

NEW = 25  # rows apart: every so many-th wine is asked about, and never learned from
KINDS = ("Barolo", "Grignolino", "Barbera")  # what the numbers of scikit-learn's classes stand for
SETTINGS = FitSettings(mode="in_context")


def show(out: Path, quick: bool, console: Console) -> int:
    known, new = write_wines(out)
    problem = read_problem(known, "wine")
    rows, columns = problem.features.shape
    console.print(f"{rows} Italian wines, {columns} measurements each, of {len(KINDS)} kinds. Which kind is a new one?")
    console.print("The network has never seen a wine: it was pre-trained on synthetic tables.\n")
    compare_models(problem, quick, console)

    model = SETTINGS.estimator(problem).fit(problem.features, problem.target)
    save(model, out / "wine", overwrite=True, extra={"table": str(known), "command": "regard demo"})
    unseen = read_problem(new, "wine")
    row = unseen.features.iloc[[0]]
    (evidence,), (predicted,) = model.evidence(row, top=3), predict_targets(model, row)
    console.print(f"\nA wine that it has not seen: {escape(sentence(predicted))}. It is a {unseen.target[0]}.\n")
    for grid in evidence_grids(evidence, row.iloc[0], "wine"):
        console.print(grid, "")
    console.print("[dim]Weights of training rows are those of its attention to their labels.[/]")
    return 0


def compare_models(problem: Problem, quick: bool, console: Console) -> None:
    folds = 2 if quick else 3
    with console.status("comparing with the models of scikit-learn …") as status:
        metric, scores = compare(problem, SETTINGS, folds, SCIKIT_LEARN, lambda line: status.update(escape(line)))
    console.print(comparison_grid(metric, scores, folds))
    console.print(
        "\n[dim]On a table as easy as this all are close. This one can also say where its answers come from.[/]"
    )


def write_wines(out: Path) -> tuple[Path, Path]:
    """The table that comes with scikit-learn as two files: wines to learn from, and new ones."""
    from sklearn.datasets import load_wine

    bunch = load_wine(as_frame=True)
    table = bunch.data.rename(columns={"od280/od315_of_diluted_wines": "dilution"})
    table["wine"] = [KINDS[number] for number in bunch.target]
    apart = table.index % NEW == NEW - 1
    files = out / "wines.csv", out / "new_wines.csv"
    for file, rows in zip(files, (table[~apart], table[apart]), strict=True):
        write_table(rows, file)
    return files
