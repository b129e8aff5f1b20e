"""Text in cells: n-grams of any script, numbers that do not leak the target, and cells that can be read again."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

import regard
from regard.core.errors import UserError
from regard.tables import NPTClassifier, NPTImputer
from regard.tables.data_checks import check_training_data
from regard.tables.encode.column import Column, infer_kind
from regard.tables.encode.columns import Columns
from regard.tables.encode.hashing import MAX_CHARACTERS
from regard.tables.encode.ngrams import count_ngrams
from regard.tables.encode.text import SHOWN, TextEncoder, fit_text
from regard.tables.encode.text_scores import fit_scores, score_targets, solve

WORDS = ("late", "refund", "broken", "happy", "thanks", "price", "cancel", "renew", "slow", "error", "login", "store")
WORDS += ("order", "box", "colour", "manager", "urgent")


def notes(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A number without meaning, and notes, some words of which decide."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(len(WORDS), rng.integers(3, 9)) for _ in range(rows)]
    texts = [" ".join(WORDS[word] for word in each) for each in chosen]
    score = np.array([sum(word < 4 for word in each) - sum(word > 12 for word in each) for each in chosen])
    noise = rng.normal(size=rows)
    return pd.DataFrame({"x": noise, "note": texts}), (score + 0.5 * rng.normal(size=rows) > 0).astype(int)


def test_ngrams_ignore_case_composition_and_runs_of_space():
    counts = count_ngrams(["Crème brûlée", "CRE\u0300ME  BRU\u0302LE\u0301E", "creme brulee", ""])
    assert abs(counts[[0]] - counts[[1]]).sum() == 0 < abs(counts[[0]] - counts[[2]]).sum()
    assert counts[[3]].nnz == 0


def test_ngrams_of_a_text_depend_on_no_other_text_and_not_on_its_end():
    texts = ["日本語の文", "ein Satz", "x" * MAX_CHARACTERS, "हिन्दी पाठ", "AB-12/2020", "!?"]
    together = count_ngrams(texts).toarray()
    assert all((count_ngrams([text]).toarray()[0] == row).all() for text, row in zip(texts, together, strict=True))
    assert (count_ngrams([texts[2] + "tail"]).toarray()[0] == together[2]).all()
    assert (together.sum(1) > 0).all()


def test_words_and_their_order_are_told_apart():
    counts = count_ngrams(["dog bites man", "man bites dog"])
    assert abs(counts[[0]] - counts[[1]]).sum() == 4  # two pairs of words each


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"note {number} about a thing" for number in range(40)], "text"),
        ([f"AB-{number:04d}-X" for number in range(40)], "text"),
        (["red", "green", "blue"] * 40, "category"),
        ([f"town{number % 40}" for number in range(400)], "category"),  # one word, and it repeats
        ([f"Senior clerk of office {number % 40}" for number in range(400)], "text"),
        (pd.Categorical([f"a b {number}" for number in range(40)]), "category"),
        (["a long text of few rows"] * 5, "category"),
    ],
)
def test_text_is_many_strings_of_several_words_or_hardly_repeated(cells: list[str], kind: str):
    assert infer_kind(pd.Series(cells)) == kind


def test_leave_one_out_scores_are_those_of_models_without_the_row():
    frame, target = notes(60)
    targets = score_targets([(torch.from_numpy(target).float(), 2)], torch.arange(60))
    encoder, known = fit_text(frame["note"].tolist(), targets)
    counts = TextEncoder(encoder.buckets, encoder.idf, np.eye(len(encoder.idf), dtype=np.float32), encoder.idf * 0)
    weights = counts.encode(frame["note"].tolist()).astype(float)
    errors = []
    for penalty in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0):
        centred = targets - targets.mean()
        others = [np.delete(np.arange(60), row) for row in range(60)]
        models = [Ridge(penalty, fit_intercept=False).fit(weights[rest], centred[rest]) for rest in others]
        scores = np.array([one.predict(weights[[row]]).item() for row, one in enumerate(models)]) + targets.mean()
        errors.append(np.abs(scores - known[:, 0]).max())
    assert min(errors) < 1e-4


def test_scores_of_many_rows_are_out_of_sample_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tables.encode.text_scores.MAX_EXACT", 100)
    texts = [f"word{number} other{number}" for number in range(400)]  # nothing is shared: nothing can be known
    target = np.random.default_rng(0).integers(0, 2, 400)
    targets = score_targets([(torch.from_numpy(target).float(), 2)], torch.arange(400))
    encoder, known = fit_text(texts, targets)
    assert abs(roc_auc_score(target, known[:, 0]) - 0.5) < 0.12
    assert roc_auc_score(target, encoder.encode(texts)[:, 0]) > 0.7  # in sample: what the network must not see


def test_scores_of_texts_that_repeat_do_not_give_the_target_away():
    rng = np.random.default_rng(0)
    texts = [f"level {number}" for number in rng.integers(0, 40, 400)]
    target = rng.integers(0, 2, 400)
    _, known = fit_text(texts, score_targets([(torch.from_numpy(target).float(), 2)], torch.arange(400)))
    frame = pd.DataFrame({"text": texts, "score": known[:, 0], "target": target})
    within = frame[["score", "target"]] - frame.groupby("text")[["score", "target"]].transform("mean")
    assert within.corr().iloc[0, 1] > -0.7  # leave-one-out has -1


def test_conjugate_gradients_solve_ridge_regression():
    frame, target = notes(80)
    weights = count_ngrams(frame["note"].tolist())
    weights.data /= 10
    centred = (target - target.mean())[:, None]
    gram = (weights @ weights.T).toarray() + 3.0 * np.eye(80)
    assert np.allclose(solve(weights, centred, 3.0), np.linalg.solve(gram, centred), atol=1e-4)
    projection, offset, known = fit_scores(weights, target[:, None].astype(float), repeats=False)
    assert projection.shape == (weights.shape[1], 1)
    assert offset == pytest.approx(target.mean())
    assert known.shape == (80, 1)


def test_rows_of_no_weight_teach_nothing():
    frame, target = notes(80)
    other = np.where(np.arange(80) < 40, target, 1 - target)
    fits = [
        fit_text(frame["note"].tolist(), score_targets([(torch.from_numpy(each).float(), 2)], torch.arange(40)))
        for each in (target, other)
    ]
    assert (fits[0][1] == fits[1][1]).all()


def test_scores_are_at_most_ten_and_one_for_two_classes():
    classes = torch.arange(60).float() % 30
    assert score_targets([(classes, 30)], torch.arange(60)).shape == (60, 10)
    assert score_targets([(classes % 2, 2), (classes, 0)], torch.arange(60)).shape == (60, 2)


def test_known_texts_come_back_and_unknown_ones_are_not_confused():
    texts = [f"{'long ' * (number % 7)}note {number}" for number in range(50)]
    cells = pd.Series([*texts, None, "x" * 999], name="note")
    column, parts = Column.fit_encode(cells)
    assert column.kind == "text"
    assert len(parts) == column.width
    numbers = np.stack(list(parts.values()), 1).astype(np.float32)
    assert column.decode(numbers).fillna("").tolist() == [*texts, "", "x" * SHOWN]
    assert column.decode(np.stack(list(column.encode(pd.Series(["never seen"])).values()), 1)).tolist() == ["?"]


def test_texts_that_repeat_are_categories_too():
    cells = pd.Series([f"Clerk of office {number % 40}" for number in range(400)], name="job")
    column = Column.fit(cells)
    assert column.repeats
    assert column.is_category == [True, *[False] * (column.width - 1)]
    codes = column.encode(pd.Series(["Clerk of office 7", "Clerk of no office", None]))["job"]
    assert column.categories[int(codes[0])] == "Clerk of office 7"
    assert codes[1] == 40
    assert np.isnan(codes[2])


def test_words_in_cells_are_learned_from_kept_and_shown(tmp_path: Path):
    frame, target = notes(300)
    model = NPTClassifier(mode="in_context", members=1, random_state=0).fit(frame[:200], target[:200])
    categories = NPTClassifier(mode="in_context", members=1, random_state=0, kinds={"note": "category"})
    categories.fit(frame[:200], target[:200])
    predicted = model.predict_proba(frame[200:])[:, 1]
    assert roc_auc_score(target[200:], predicted) > 0.85
    assert roc_auc_score(target[200:], categories.predict_proba(frame[200:])[:, 1]) < 0.7
    evidence = model.evidence(frame[200:201], top=3)[0]
    assert evidence.rows["note"].tolist() == frame["note"][evidence.rows.index].tolist()
    assert evidence.columns.index.tolist() == ["note", "x"]
    model.save(tmp_path / "run")
    assert (regard.load(tmp_path / "run").predict_proba(frame[200:])[:, 1] == predicted).all()
    data = json.loads((tmp_path / "run" / "columns.json").read_text())
    data["columns"][1]["categories"].reverse()
    (tmp_path / "run" / "columns.json").write_text(json.dumps(data))
    with pytest.raises(UserError, match="categories: must be distinct texts, the shortest first"):
        regard.load(tmp_path / "run")


def test_text_is_imputed_by_one_that_was_seen():
    frame, target = notes(60)
    frame["class"] = np.where(target, "yes", "no")
    frame.loc[:4, ["note", "class"]] = None
    filled = NPTImputer(members=1, random_state=0).fit_transform(frame)
    assert set(filled["note"][:5]) <= set(frame["note"][5:])
    assert filled["class"].notna().all()


def test_notes_are_no_identifiers_and_codes_may_be():
    frame = pd.DataFrame({"note": notes(80)[0]["note"], "code": [f"C{number:05d}" for number in range(80)]})
    lines = check_training_data(Columns.describe(frame), frame)
    assert len(lines) == 1
    assert lines[0].startswith("'code': 80 of 80 values are distinct, as in an identifier")
