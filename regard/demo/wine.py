"""A table: wines told apart by their chemistry, beside the usual models, and the known wines that decided a new one."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from regard.data.tables.files import write_table
from regard.tables.compare import compare
from regard.tables.fitting import Way
from regard.tables.keep import save
from regard.tables.peers import OF_SCIKIT_LEARN
from regard.tables.predictions import in_words, tell
from regard.tables.problem import Problem, pose
from regard.tables.words import comparison_grid, evidence_grids

NEW = 25  # rows apart: every so many-th wine is asked about, and never learned from
KINDS = ("Barolo", "Grignolino", "Barbera")  # what the numbers of scikit-learn's classes stand for
WAY = Way(mode="in_context")


def show(out: Path, quick: bool, console: Console) -> int:
    known, new = write_wines(out)
    problem = pose(known, "wine")
    rows, columns = problem.features.shape
    console.print(f"{rows} Italian wines, {columns} measurements each, of {len(KINDS)} kinds. Which kind is a new one?")
    console.print("The network has never seen a wine: it learned from invented tables, and now reads this one.\n")
    compare_models(problem, quick, console)

    model = WAY.estimator(problem).fit(problem.features, problem.target)
    save(model, out / "wine", overwrite=True, more={"table": str(known), "command": "regard demo"})
    asked = pose(new, "wine")
    row = asked.features.iloc[[0]]
    (found,), (told,) = model.evidence(row, top=3), tell(model, row)
    console.print(f"\nA wine that it has not seen: {escape(in_words(told))}. It is a {asked.target[0]}.\n")
    for grid in evidence_grids(found, row.iloc[0], "wine"):
        console.print(grid, "")
    console.print("[dim]Weights of known rows are those of its attention: the answer is their vote.[/]")
    return 0


def compare_models(problem: Problem, quick: bool, console: Console) -> None:
    folds = 2 if quick else 3
    with console.status("comparing with the models of scikit-learn …") as status:
        measure, found = compare(problem, WAY, folds, lambda line: status.update(escape(line)), OF_SCIKIT_LEARN)
    console.print(comparison_grid(measure, found, folds))
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
