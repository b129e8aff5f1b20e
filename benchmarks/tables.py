"""How well tables are learned: regard beside boosted trees, forests, linear models, neighbours and others.

    python benchmarks/tables.py --data DIR                                  every table and method, three seeds
    python benchmarks/tables.py --data DIR --tables servo glass --methods linear catboost --seeds 1
    python benchmarks/tables.py --data DIR --jobs 2 --threads 1             two tables at once, a core each
    python benchmarks/tables.py --data DIR --full                           no cap on training rows
    python benchmarks/tables.py --data DIR --unique                         duplicate rows removed first
    python benchmarks/tables.py --data DIR --folds                          ten folds of the NPT paper's small tables
    python benchmarks/tables.py --report                                    the page and the document of all results

DIR holds MANIFEST.csv (name, task, …) and NAME.csv with a column `target`; an empty cell is missing. Every finished
measurement is a line in the results, and is not made again: a benchmark that was broken off goes on. To measure a
method anew, remove its file; to try again what failed, use --retry.
"""

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from regard.core.errors import ConfigError, UserError, at_least, did_you_mean, not_negative
from regard.core.machine import choose_wait_policy

choose_wait_policy()

from tabular import folds, report  # noqa: E402  (the policy must be chosen before)
from tabular.cells import Cell, Shelf  # noqa: E402
from tabular.files import MANIFEST, Array, Table, read_manifest, read_table  # noqa: E402
from tabular.measure import measure  # noqa: E402
from tabular.methods import Method  # noqa: E402
from tabular.ours import OURS  # noqa: E402
from tabular.page import page  # noqa: E402
from tabular.peers import PEERS  # noqa: E402
from tabular.splits import folds as cut_folds  # noqa: E402
from tabular.splits import split  # noqa: E402

METHODS: dict[str, Method] = {**OURS, **PEERS}
RESULTS = Path(__file__).parent / "tables" / "results"


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    try:
        at_least(1, seeds=options.seeds, rows=options.rows, threads=options.threads, jobs=options.jobs)
        not_negative(limit=options.limit)
        if options.data is None and not options.report:
            raise ConfigError(f"--data: name the folder that holds {MANIFEST} (or ask for --report alone)")
        if options.data is not None:
            run(options)
        if options.report:
            write_report(options)
    except UserError as error:
        sys.exit(f"error: {error}")


def run(options: argparse.Namespace) -> None:
    folder = options.data if (options.data / MANIFEST).exists() else options.data / "tables"
    tasks = read_manifest(folder if folder.exists() else options.data)
    usual = [name for name in folds.TABLES if name in tasks] if options.folds else list(tasks)
    names = _known("--tables", options.tables or usual, tasks)
    if not names:
        raise UserError(f"{folder}: none of {', '.join(folds.TABLES)} is here; name others with --tables")
    methods = _installed(options.methods, list(OURS) if options.folds else list(METHODS))
    if options.jobs == 1:
        for name in names:
            measure_table(folder, name, tasks[name], methods, options)
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(measure_table, folder, name, tasks[name], methods, options) for name in names]
        for each in waiting:
            each.result()


def measure_table(folder: Path, name: str, task: str, methods: list[str], options: argparse.Namespace) -> None:
    """Whatever is not on the shelf yet. Several processes may do this at once: each adds whole lines."""
    shelf = Shelf(options.results)
    done = {
        method: {key for key, cell in shelf.read(method, options.folds).items() if not (options.retry and cell.error)}
        for method in methods
    }
    table = read_table(folder, name, task)
    table = table.unique() if options.unique else table
    for asked, rows in _asked(table, methods, options):
        if asked.key not in done[asked.method]:
            cell = measure(asked, METHODS[asked.method], table, rows, options.limit)
            shelf.add(cell)
            print(_line(cell), flush=True)


def _asked(table: Table, methods: list[str], options: argparse.Namespace) -> Iterator[tuple[Cell, tuple[Array, Array]]]:
    """Every measurement of a table, without its outcome. Methods take turns, so that a busy hour slows all alike."""
    cap = None if options.full or options.folds else options.rows
    cuts: list[tuple[int, int | None, tuple[Array, Array]]]
    if options.folds:
        cuts = [(0, number, rows) for number, rows in enumerate(cut_folds(table))]
    else:
        cuts = [(seed, None, split(table, seed, cap)) for seed in range(options.seeds)]
    for seed, fold, rows in cuts:
        for method in methods:
            limit = options.limit if METHODS[method].keeps_limit else None
            sizes = len(table), len(rows[0]), len(rows[1])
            asked = (method, table.name, table.task, seed, fold, cap, options.unique, limit, *sizes)
            yield Cell(*asked, threads=options.threads), rows


def _known(option: str, names: list[str], known: dict[str, str] | dict[str, Method]) -> list[str]:
    for name in names:
        if name not in known:
            raise ConfigError(f"{option} {name}: {did_you_mean(name, known)}")
    return list(dict.fromkeys(names))


def _installed(asked: list[str] | None, usual: list[str]) -> list[str]:
    """The methods to measure: those asked for must be here; of the usual ones those that are not are named."""
    methods = _known("--methods", asked or usual, METHODS)
    absent = {name: module for name in methods if (module := METHODS[name].missing())}
    said = ", ".join(f"{name} (no module {module})" for name, module in absent.items())
    if absent and asked:
        raise UserError(f"not installed: {said}; pip install 'regard[bench]' brings the peers")
    if absent:
        print(f"not measured, as not installed: {said}", file=sys.stderr)
    return [name for name in methods if name not in absent]


def _line(cell: Cell) -> str:
    place = f"seed {cell.seed}" if cell.fold is None else f"fold {cell.fold}"
    scores = cell.scores and " ".join(f"{name} {value:.4g}" for name, value in cell.scores.items())
    outcome = scores or (f"left out: {cell.left_out}" if cell.left_out else f"FAILED: {cell.error}")
    seconds = f"{cell.fit_seconds:.2f} s + {cell.predict_seconds:.2f} s"
    return f"{cell.table:22} {place} {cell.method:18} {outcome}  ({cell.train_rows} rows, {seconds})"


def write_report(options: argparse.Namespace) -> None:
    """REPORT.md for people and report.json for programs, beside the folder of results."""
    shelf = Shelf(options.results)
    if options.methods:
        _known("--methods", options.methods, METHODS)
    found = report.document(shelf, report.Wanted(options.methods, options.tables, options.seeds, options.limit))
    if not found["settings"] and not found["folds"]:
        raise UserError(f"{shelf.folder}: no results here yet; measure first, with --data DIR")
    where = shelf.folder.parent
    (where / "report.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (where / "REPORT.md").write_text(page(found), encoding="utf-8")
    print(f"{where / 'REPORT.md'}, {where / 'report.json'}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"the folder that holds {MANIFEST}, or one whose tables/ does")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--seeds", type=int, default=3, help="how many splits (3)")
    parser.add_argument("--rows", type=int, default=2_000, help="training rows at most (2000)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that regard may fit for (60)")
    parser.add_argument("--threads", type=int, default=2, help="of each method (2)")
    parser.add_argument("--jobs", type=int, default=1, help="tables measured at once; give each its own threads (1)")
    parser.add_argument("--full", action="store_true", help="no cap on training rows")
    parser.add_argument("--unique", action="store_true", help="remove duplicate rows first")
    parser.add_argument("--folds", action="store_true", help="ten folds of the NPT paper's small tables")
    parser.add_argument("--retry", action="store_true", help="measure again what failed")
    parser.add_argument("--report", action="store_true", help="write the page and the document of all results")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
