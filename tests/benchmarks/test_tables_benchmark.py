"""The benchmark of tables: fair splits, right ranks, nothing lost and nothing measured twice."""

import importlib.util
import json
import sys
import types
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas", reason="the benchmark reads its tables with pandas")
scipy_stats = pytest.importorskip("scipy.stats", reason="an oracle of ranks")
metrics = pytest.importorskip("sklearn.metrics", reason="the peers and the scores are scikit-learn's")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
_spec = importlib.util.spec_from_file_location("table_benchmark", BENCHMARKS / "tables.py")
assert _spec is not None
assert _spec.loader is not None
benchmark = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(benchmark)

from tabular.boards import Board  # noqa: E402
from tabular.cells import Cell, Shelf  # noqa: E402  (found only after the path is set)
from tabular.files import Table, read_table  # noqa: E402
from tabular.measure import machine, measure  # noqa: E402
from tabular.methods import Method, Setup  # noqa: E402
from tabular.ours import OURS  # noqa: E402
from tabular.peers import PEERS  # noqa: E402
from tabular.ranks import duel, ranks  # noqa: E402
from tabular.scores import auc, class_scores, number_scores  # noqa: E402
from tabular.splits import MAX_ASKED, folds, split  # noqa: E402

SCORES = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_subnormal=False))


def table_of(labels: list[str], name: str = "made") -> Table:
    return Table(name, "classification", pd.DataFrame({"place": np.arange(len(labels))}), np.array(labels))


def numbers_of(count: int, name: str = "made") -> Table:
    return Table(name, "regression", pd.DataFrame({"place": np.arange(count)}), np.arange(count, dtype=float))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three tables that are easy to learn: texts, missing cells, words that only a few rows hold, duplicates."""
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 120))
    colour = random.choice(["red", "green", "blue: [dark]"], size=120).astype(object)
    frame = pd.DataFrame({"x [m]": x, "y": y, "colour": colour, "rare": [f"word{n // 2}" for n in range(120)]})
    frame.loc[random.random(120) < 0.1, ["x [m]", "colour"]] = None
    answer = np.nan_to_num(x) + 2 * (colour == "red")
    frame.assign(target=np.where(answer > 0.7, "yes", "no")).to_csv(folder / "two.csv", index=False)
    frame.assign(target=np.digitize(answer, [0, 1.5])).to_csv(folder / "three.csv", index=False)
    numbers = frame.assign(target=answer)
    pd.concat([numbers, numbers[:80]]).to_csv(folder / "twice.csv", index=False)
    manifest = "name,rows,task\ntwo,120,classification\nthree,120,classification\ntwice,200,regression\n"
    (folder / "MANIFEST.csv").write_text(manifest)
    return folder


class Guess:
    """The mean of the training rows, for every row."""

    def fit(self, features: Any, target: Any) -> "Guess":
        self.target = np.asarray(target)
        return self

    def predict(self, features: Any) -> Any:
        return np.full(len(features), self.target.mean())

    def predict_proba(self, features: Any) -> Any:
        return np.tile(np.bincount(self.target.astype(int)) / len(self.target), (len(features), 1))


class Broken(Guess):
    def fit(self, features: Any, target: Any) -> "Guess":
        raise RuntimeError("cannot read /home/somebody/secret/model.bin\nat all")


def method(kind: Callable[[], Any], **settings: Any) -> Method:
    return Method(lambda setup: kind(), ("numpy",), **settings)


def run(data: Path, out: Path, *words: str) -> None:
    benchmark.main(["--data", str(data), "--results", str(out / "results"), "--threads", "1", *words])


def report(out: Path, *words: str) -> dict[str, Any]:
    benchmark.main(["--report", "--results", str(out / "results"), *words])
    return json.loads((out / "report.json").read_text())


def lines(out: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results" / f"{name}.jsonl").read_text().splitlines()]


# ---- splits


@given(
    st.lists(st.sampled_from("aaaaabbc"), min_size=2, max_size=120),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(3, 90)),
)
def test_a_split_is_disjoint_the_same_each_time_and_keeps_the_shares(labels: list[str], seed: int, rows: int | None):
    table = table_of(labels)
    train, test = split(table, seed, rows)
    assert np.array_equal(train, split(table, seed, rows)[0])
    assert np.array_equal(test, split(table, seed, rows)[1])
    assert len(set(train) | set(test)) == len(train) + len(test) == len(labels)
    assert len(train) == min(rows or len(labels), max(1, int(0.7 * len(labels))))
    counts, all_counts = Counter(table.target[train]), Counter(labels)
    if len(train) >= len(all_counts):
        assert set(counts) == set(all_counts)  # every class has something to be learned from
    for label, count in all_counts.items():  # a row for the start of each class, and a row for rounding
        assert abs(counts[label] - count * len(train) / len(labels)) <= 1 + len(all_counts)


def test_splits_of_other_seeds_names_and_caps_differ():
    cuts = [
        split(numbers_of(200), 0, 50),
        split(numbers_of(200), 1, 50),
        split(numbers_of(200, "other"), 0, 50),
        split(numbers_of(200), 0, 51),
    ]
    assert all(not np.array_equal(one[0][:50], other[0][:50]) for one, other in combinations(cuts, 2))


def test_rows_to_ask_for_are_bounded():
    train, test = split(numbers_of(30_000), 0, 100)
    assert (len(train), len(test)) == (100, MAX_ASKED)
    train, test = split(numbers_of(30_000), 0, None)
    assert (len(train), len(test)) == (21_000, MAX_ASKED)


def test_a_split_does_not_depend_on_the_methods_asked_for(data, tmp_path, monkeypatch):
    seen: list[Any] = []

    class Spy(Guess):
        def fit(self, features: Any, target: Any) -> Guess:
            seen.append(features.assign(answer=target))
            np.random.seed(len(seen))  # a method that stirs the global stream must not move the splits of the next
            np.random.random(7)
            return super().fit(features, target)

    monkeypatch.setitem(benchmark.METHODS, "spy", method(Spy))
    run(data, tmp_path / "alone", "--methods", "spy", "--seeds", "2")
    alone, seen[:] = list(seen), []
    run(
        data,
        tmp_path / "beside",
        "--methods",
        "knn",
        "spy",
        "linear",
        "--seeds",
        "2",
        "--tables",
        "twice",
        "three",
        "two",
    )
    beside = seen[4:] + seen[2:4] + seen[:2]  # the tables were asked for the other way round
    assert len(alone) == len(beside) == 6
    for one, other in zip(alone, beside, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_unique_leaves_no_row_of_training_among_those_asked_for(data):
    table = read_table(data, "twice", "regression")
    assert _shared(table), "the table must have duplicates for this to say anything"
    unique = table.unique()
    assert _rows(unique) == list(dict.fromkeys(_rows(table)))
    assert not _shared(unique)


def _rows(table: Table) -> list[str]:
    return [repr(row) for row in table.features.assign(target=table.target).itertuples(index=False)]


def _shared(table: Table) -> set[str]:
    rows = _rows(table)
    train, test = split(table, 0, None)
    return {rows[place] for place in train} & {rows[place] for place in test}


def test_unique_is_another_measurement_than_not(data, tmp_path):
    for words in ([], ["--unique"], ["--full"], ["--rows", "30"]):
        run(data, tmp_path, "--methods", "linear", "--tables", "twice", "--seeds", "1", *words)
    kept = [
        (line["rows"], line["unique"], line["table_rows"], line["train_rows"]) for line in lines(tmp_path, "linear")
    ]
    assert kept == [(2000, False, 200, 140), (2000, True, 120, 84), (None, False, 200, 140), (30, False, 200, 30)]
    assert len(report(tmp_path, "--seeds", "1")["settings"]) == 4


def test_folds_ask_for_every_row_once():
    for table in (numbers_of(53), table_of(["a"] * 30 + ["b"] * 25)):
        cuts = folds(table)
        assert len(cuts) == 10
        assert sorted(np.concatenate([test for _, test in cuts])) == list(range(len(table)))
        assert all(not set(train) & set(test) for train, test in cuts)
        assert all(np.array_equal(one[1], other[1]) for one, other in zip(cuts, folds(table), strict=True))


# ---- files


def test_only_empty_cells_are_missing_and_texts_stay_texts(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,target\n1,NA,007,x\n,true,8,y\n2.5,,9,\n3,false,x,NA\n")
    table = read_table(tmp_path, "t", "classification")
    assert table.target.tolist() == ["x", "y", "NA"]  # a row without an answer is of no use
    assert table.texts == ["b", "c"]
    assert table.features["b"].tolist() == ["NA", "true", "false"]
    assert np.isnan(table.features["a"][1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "nowhere"], "nowhere: no MANIFEST.csv here"),
        ([], "--data: name the folder"),
        (["--data", "{data}", "--tables", "tow"], "--tables tow: did you mean 'two'?"),
        (["--data", "{data}", "--methods", "cat_boost"], "did you mean 'catboost'?"),
        (["--data", "{data}", "--folds"], "none of boston_housing, concrete, yacht, breast_cancer is here"),
        (["--data", "{data}", "--seeds", "0"], "seeds: must be at least 1, not 0"),
        (["--report", "--results", "{data}/none"], "no results here yet"),
    ],
)
def test_mistakes_are_one_line(data, words, said):
    with pytest.raises(SystemExit) as ended:
        benchmark.main([word.format(data=data) for word in words])
    assert said in str(ended.value)
    assert "\n" not in str(ended.value)


def test_a_manifest_that_names_no_file_or_an_unknown_task(data, tmp_path):
    (data / "two.csv").unlink()
    with pytest.raises(SystemExit, match=r"two\.csv: no such file, though MANIFEST\.csv names it"):
        run(data, tmp_path, "--methods", "linear", "--tables", "two")
    (data / "MANIFEST.csv").write_text("name,task\ntwo,ranking\n")
    with pytest.raises(SystemExit, match="two has the task 'ranking'"):
        run(data, tmp_path, "--methods", "linear")


# ---- scores


def pairwise_auc(truth: Any, chances: Any) -> float:
    """By definition: how often a row of a class gets more of it than a row of another, counted one by one."""
    found = []
    for one, other in combinations(sorted(set(truth.tolist())), 2):
        for side, rest in ((one, other), (other, one)):
            above = [(a > b) + (a == b) / 2 for a in chances[truth == side, side] for b in chances[truth == rest, side]]
            found.append(np.mean(above))
    return float(np.mean(found))


@given(st.integers(2, 5), st.integers(0, 1000))
def test_auc_is_counted_pairs_and_that_of_scikit_learn(classes: int, seed: int):
    random = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(classes), random.integers(0, classes, 20)])
    chances = random.dirichlet(np.ones(classes), len(truth)).round(1) + 0.01  # rounded: ties must count as half
    chances /= chances.sum(axis=1, keepdims=True)
    ours = auc(truth, chances)
    assert ours == pytest.approx(pairwise_auc(truth, chances))
    if classes == 2:
        chances[:, 0] = 1 - chances[:, 1]
        assert auc(truth, chances) == pytest.approx(metrics.roc_auc_score(truth, chances[:, 1]))
    else:
        assert ours == pytest.approx(metrics.roc_auc_score(truth, chances, multi_class="ovo", average="macro"))


def test_auc_with_a_class_that_nobody_asks_for():
    random = np.random.default_rng(0)
    truth = random.choice([0, 2, 3], 40)  # 1 is missing
    chances = random.dirichlet(np.ones(4), 40)
    assert auc(truth, chances) == pytest.approx(pairwise_auc(truth, chances))
    assert class_scores(truth, chances)["log_loss"] == pytest.approx(-np.log(chances[np.arange(40), truth]).mean())
    with pytest.raises(ValueError, match="one class"):
        auc(np.zeros(5, int), chances[:5])


def test_a_class_that_training_never_saw_has_no_chance():
    table = table_of(["a", "b", "c"] * 4)
    train = np.array([0, 1, 3, 4, 6, 7])
    test = np.setdiff1d(np.arange(12), train)
    cell = Cell("guess", "made", table.task, 0, None, None, False, None, 12, 6, 6)
    scores = measure(cell, method(Guess), table, (train, test), 1.0).scores
    assert scores is not None
    assert scores["auc"] == 0.5
    assert scores["log_loss"] > 10  # sure of what is wrong, but not infinitely


def test_number_scores_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, answers = random.normal(size=(2, 30))
    scores = number_scores(truth, answers)
    assert scores["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, answers))
    assert scores["r2"] == pytest.approx(metrics.r2_score(truth, answers))


# ---- ranks and the report


@given(st.lists(SCORES, min_size=1, max_size=8))
def test_ranks_are_those_of_scipy(scores: list[float | None]):
    rounded = [-np.inf if score is None else float(f"{score:.6g}") for score in scores]
    expected = scipy_stats.rankdata([-score for score in rounded], method="average")
    found = ranks({str(place): score for place, score in enumerate(scores)})
    assert list(found.values()) == expected.tolist()
    for one, other in combinations(range(len(scores)), 2):
        assert duel(scores[one], scores[other]) == np.sign(expected[other] - expected[one])


def test_the_report_ranks_as_brute_force_does(tmp_path):
    """Random cells, some of them failed, some left out: everything in the table is computed a second time by pandas."""
    random = np.random.default_rng(3)
    shelf, kept = Shelf(tmp_path / "results"), []
    methods = ["regard_auto", "linear", "knn", "mlp", "gaussian_process"]
    for number in range(9):
        task, rows = ("classification", 400 + 200 * number) if number % 2 else ("regression", 900)
        for name in methods:
            left_out = "too many" if name == "gaussian_process" and number < 3 else None
            for seed in range(3):
                fails = name == "mlp" and number == 4 and seed == 1
                made = (
                    {"auc": round(random.random(), 1)} if number % 2 else {"rmse": 40.0 - seed, "r2": random.random()}
                )
                if number % 2 == 0 and name != "knn":
                    made["rmse"] = round(random.random() * 100)
                scores = None if fails or left_out else made
                cell = Cell(
                    name, f"t{number}", task, seed, None, 2000, False, 60.0 if name == "regard_auto" else None, rows,
                    rows, 9, scores, "Boom" if fails else None, left_out, random.random(), 1.0, machine=machine(),
                )  # fmt: skip
                shelf.add(cell)
                kept.append(cell)
    [setting] = report(tmp_path)["settings"]
    standings = {each["method"]: each for each in setting["standings"]}

    frame = pd.DataFrame([vars(cell) for cell in kept if not cell.left_out])
    guess = {"auc": 0.5, "rmse": np.inf, "r2": 0.0}
    for measure_name in guess:
        frame[measure_name] = [(scores or guess).get(measure_name, np.nan) for scores in frame.scores]
    frame["loss"] = frame.rmse.where(frame.task == "regression", -frame.auc)
    means = frame.groupby(["table", "task", "table_rows", "method"], as_index=False)[["loss", "auc", "r2"]].mean()
    means["rank"] = means.groupby("table").loss.transform(lambda column: scipy_stats.rankdata(column.round(9)))
    groups = {
        "all": means,
        "classification": means[means.task == "classification"],
        "regression": means[means.task == "regression"],
        "small": means[means.table_rows <= 1000],
    }
    for name in methods:
        for group, rows in groups.items():
            assert standings[name]["rank"][group] == pytest.approx(rows[rows.method == name]["rank"].mean())
        mine = means[means.method == name]
        assert standings[name]["auc"] == pytest.approx(mine[mine.task == "classification"].auc.mean())
        assert standings[name]["r2"] == pytest.approx(mine[mine.task == "regression"].r2.mean())
        times = frame[frame.method == name]
        assert standings[name]["seconds"] == pytest.approx((times.fit_seconds + times.predict_seconds).sum())
    losses = means.pivot(index="table", columns="method", values="loss").round(9)
    for name in methods[1:]:
        both = losses[["regard_auto", name]].dropna()
        sides = np.sign(both[name] - both["regard_auto"]).tolist()
        assert standings[name]["duels"] == [sides.count(1), sides.count(0), sides.count(-1)]
    assert standings["regard_auto"]["duels"] is None
    assert standings["mlp"]["failures"] == 1
    assert next(each for each in setting["tables"] if each["table"] == "t4")["ranks"]["mlp"] == 5
    assert (standings["gaussian_process"]["tables"], standings["gaussian_process"]["left_out"]) == (6, 3)
    assert [each["method"] for each in setting["standings"]] == sorted(
        methods, key=lambda m: standings[m]["rank"]["all"]
    )
    assert "| failed |" in (tmp_path / "REPORT.md").read_text()


def test_ways_of_ours_do_not_push_a_peer_down_twice():
    """Two of ours ahead of a peer cost it one place: they are ranked one at a time."""
    scores = {"regard_auto": 0.9, "regard_in_context": 0.8, "catboost": 0.7, "knn": 0.6}
    cells = {
        name: [Cell(name, "t", "classification", 0, None, 2000, False, None, 9, 9, 9, {"auc": auc})]
        for name, auc in scores.items()
    }
    found = Board("t", "classification", 9, cells, ()).ranks()
    assert found == {"regard_auto": 1, "regard_in_context": 1, "catboost": 2, "knn": 3}
    del cells["regard_auto"], cells["regard_in_context"]
    assert Board("t", "classification", 9, cells, ()).ranks() == {"catboost": 1, "knn": 2}


def test_a_failing_method_is_recorded_and_last(data, tmp_path, monkeypatch):
    monkeypatch.setitem(benchmark.METHODS, "broken", method(Broken))
    monkeypatch.setitem(benchmark.METHODS, "nan", method(lambda: types.SimpleNamespace(
        fit=lambda features, target: None,
        predict=lambda features: np.full(len(features), np.nan),
        predict_proba=lambda features: np.full((len(features), 2), np.nan),
    )))  # fmt: skip
    run(data, tmp_path, "--methods", "broken", "nan", "linear", "--seeds", "2", "--report")
    kept = lines(tmp_path, "broken")
    assert len(kept) == 6
    assert {line["error"] for line in kept} == {"RuntimeError: cannot read model.bin at all"}  # a line, no folders
    assert all("0% of them finite" in line["error"] or "shape" in line["error"] for line in lines(tmp_path, "nan"))
    [setting] = json.loads((tmp_path / "report.json").read_text())["settings"]
    standings = {each["method"]: each for each in setting["standings"]}
    assert standings["linear"]["rank"]["all"] == 1
    assert standings["broken"]["rank"]["all"] == standings["nan"]["rank"]["all"] == 2.5
    assert standings["broken"]["failures"] == 6
    assert (standings["broken"]["auc"], standings["broken"]["r2"]) == (0.5, 0.0)


def test_nothing_in_a_line_tells_whose_machine_it_is(data, tmp_path):
    run(data, tmp_path, "--methods", "linear", "--seeds", "1")
    text = (tmp_path / "results" / "linear.jsonl").read_text()
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text
    assert set(lines(tmp_path, "linear")[0]["machine"]) == {"processor", "cores"}
    assert lines(tmp_path, "linear")[0]["versions"].keys() >= {"scikit-learn", "python", "pandas"}


def test_a_table_counts_only_when_every_method_has_been_there(data, tmp_path):
    run(data, tmp_path, "--methods", "linear", "--seeds", "2")
    run(data, tmp_path, "--methods", "knn", "--seeds", "2", "--tables", "two", "three")
    run(data, tmp_path, "--methods", "knn", "--seeds", "1", "--tables", "twice")
    [setting] = report(tmp_path, "--seeds", "2")["settings"]
    assert [each["table"] for each in setting["tables"]] == ["three", "two"]
    assert setting["waiting"] == {"twice": ["knn"]}
    assert "twice (knn)" in (tmp_path / "REPORT.md").read_text()
    [setting] = report(tmp_path, "--seeds", "2", "--methods", "linear")["settings"]
    assert len(setting["tables"]) == 3


# ---- going on


def test_what_is_done_is_not_measured_again(data, tmp_path, monkeypatch):
    built: list[int] = []
    monkeypatch.setitem(benchmark.METHODS, "counted", method(lambda: built.append(1) or Guess()))
    words = ["--methods", "counted", "--seeds", "2"]
    run(data, tmp_path, *words, "--tables", "two")
    run(data, tmp_path, *words)
    assert len(built) == 6
    before = lines(tmp_path, "counted")
    run(data, tmp_path, *words)
    assert len(built) == 6
    path = tmp_path / "results" / "counted.jsonl"
    path.write_text(path.read_text()[:-40])  # broken off while the last line was written
    run(data, tmp_path, *words)
    assert len(built) == 7
    after = Shelf(tmp_path / "results").read("counted")
    assert {(cell.table, cell.seed) for cell in after.values()} == {(line["table"], line["seed"]) for line in before}


def test_what_failed_is_tried_again_only_when_asked(data, tmp_path, monkeypatch):
    words = ["--methods", "mended", "--seeds", "1"]
    monkeypatch.setitem(benchmark.METHODS, "mended", method(Broken))
    run(data, tmp_path, *words)
    monkeypatch.setitem(benchmark.METHODS, "mended", method(Guess))
    run(data, tmp_path, *words)
    assert all(cell.error for cell in Shelf(tmp_path / "results").read("mended").values())
    run(data, tmp_path, *words, "--retry")
    assert not any(cell.error for cell in Shelf(tmp_path / "results").read("mended").values())


def test_another_limit_is_another_measurement_for_those_who_keep_to_it(data, tmp_path, monkeypatch):
    monkeypatch.setitem(benchmark.METHODS, "timed", method(Guess, keeps_limit=True))
    for limit in ("5", "6"):
        run(data, tmp_path, "--methods", "timed", "linear", "--seeds", "1", "--tables", "two", "--limit", limit)
    assert [line["limit"] for line in lines(tmp_path, "timed")] == [5, 6]
    assert [line["limit"] for line in lines(tmp_path, "linear")] == [None]


def test_a_method_is_left_out_where_it_does_not_fit(data, tmp_path, monkeypatch):
    monkeypatch.setitem(benchmark.METHODS, "small", method(Guess, most_rows=100))
    run(data, tmp_path, "--methods", "small", "linear", "--seeds", "1", "--report")
    [setting] = json.loads((tmp_path / "report.json").read_text())["settings"]
    small = next(each for each in setting["standings"] if each["method"] == "small")
    assert (small["tables"], small["left_out"], small["failures"]) == (2, 1, 0)
    assert small["r2"] is None


def test_methods_that_are_not_installed_are_named(data, tmp_path, monkeypatch, capsys):
    absent = Method(lambda setup: Guess(), ("no_such_module.part",))
    monkeypatch.setattr(benchmark, "METHODS", {"linear": PEERS["linear"], "absent": absent})
    run(data, tmp_path, "--seeds", "1", "--tables", "two")
    assert "absent (no module no_such_module.part)" in capsys.readouterr().err
    assert not (tmp_path / "results" / "absent.jsonl").exists()
    with pytest.raises(SystemExit, match=r"not installed: absent .*regard\[bench\]"):
        run(data, tmp_path, "--methods", "absent")


def test_folds_are_kept_apart_with_their_standard_error(data, tmp_path):
    run(data, tmp_path, "--folds", "--methods", "linear", "--tables", "two", "twice", "--report")
    kept = [line["scores"]["rmse"] for line in lines(tmp_path, "folds_linear") if line["table"] == "twice"]
    assert len(kept) == 10
    document = json.loads((tmp_path / "report.json").read_text())
    result = document["folds"]["measured"]["linear"]["twice"]
    assert result["mean"] == pytest.approx(np.mean(kept))
    assert result["error"] == pytest.approx(scipy_stats.sem(kept))
    assert document["settings"] == []


# ---- methods


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("task", ["two", "three", "twice"])
def test_every_peer_learns_an_easy_table(name, task, data):
    """With missing cells, words that training never saw, and names of columns that some libraries dislike."""
    if absent := PEERS[name].missing():
        pytest.skip(f"{absent} is not installed: it is for benchmarks only")
    table = read_table(data, task, "regression" if task == "twice" else "classification")
    cut = split(table, 0, None)
    cell = Cell(name, task, table.task, 0, None, None, False, None, len(table), len(cut[0]), len(cut[1]))
    done = measure(cell, PEERS[name], table, cut, 60.0)
    assert done.error is None
    assert done.scores is not None
    assert done.scores["r2" if task == "twice" else "auc"] > (0.5 if task == "twice" else 0.8)
    assert done.fit_seconds > 0


def test_regard_is_asked_for_its_modes(monkeypatch):
    fake = types.ModuleType("regard.tables")
    fake.NPTClassifier = lambda **settings: ("classifier", settings)  # type: ignore[attr-defined]
    fake.NPTRegressor = lambda **settings: ("regressor", settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "regard.tables", fake)
    setup = Setup("regression", (), 4, 1, 30.0)
    settings = {"time_limit": 30.0, "random_state": 4}
    assert OURS["regard_auto"].build(setup) == ("regressor", {"mode": "auto", **settings})
    assert OURS["regard_in_context"].build(setup) == ("regressor", {"mode": "in_context", **settings})
    setup = Setup("classification", (), 4, 1, 30.0)
    assert OURS["regard_scratch"].build(setup) == ("classifier", {"mode": "scratch", **settings})
