"""Words inside the cells of a table: regard beside CatBoost with text features, and others.

    python benchmarks/tables_text.py                                   the generated tables
    python benchmarks/tables_text.py --data DATA                       and those of real texts
    python benchmarks/tables_text.py --tables notes codes --methods regard catboost --seeds 2

Each table has a text column, four numbers and a category; of real texts (SMS, film reviews, package descriptions,
sentences, words: DATA/text) the numbers and the category are noise, so the text alone decides. Every finished
measurement is kept in benchmarks/tables/text.json, and is not made again.
"""

import argparse
import gzip
import json
import lzma
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from regard.core.machine import choose_wait_policy

choose_wait_policy()

from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402  (the policy must be chosen before)
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.pipeline import make_pipeline, make_union  # noqa: E402

from regard.tables import NPTClassifier  # noqa: E402

CATBOOST = {"verbose": False, "random_seed": 0, "allow_writing_files": False, "thread_count": 1}
RESULTS = Path(__file__).parent / "tables" / "text.json"
VOCABULARY = """
account customer called delivery late refund invoice wrong item broken happy thanks asked price discount cancel
contract renew upgrade support slow fast error login password email phone store visit order shipped returned
damaged box colour size exchange manager complaint resolved waiting again twice urgent friendly polite angry
quiet survey offer newsletter address moved payment card declined bank transfer
"""
WORDS = VOCABULARY.split()


@dataclass(frozen=True)
class TextTable:
    features: pd.DataFrame  # with a column `text`
    target: np.ndarray
    train: int  # rows, the first ones

    @classmethod
    def of_texts(cls, texts: list[str], labels: list[str], train: int, test: int, seed: int) -> "TextTable":
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(texts))[: train + test]
        features = pd.DataFrame({**_others(rng, len(rows)), "text": [texts[row] for row in rows]})
        return cls(features, np.array(labels)[rows], train)

    @classmethod
    def of_scores(
        cls, others: dict[str, Any], texts: list[str], score: np.ndarray, train: int, rng: Any
    ) -> "TextTable":
        """Two classes, by numbers and by a score of the texts."""
        logit = 0.5 * others["x0"] + 0.4 * others["x1"] + 0.9 * (score - score.mean()) / score.std()
        target = (rng.random(len(texts)) < 1 / (1 + np.exp(-1.2 * logit))).astype(int)
        return cls(pd.DataFrame({**others, "text": texts}), target, train)


def _others(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    numbers = {f"x{number}": rng.normal(size=rows) for number in range(4)}
    return {**numbers, "group": rng.choice(list("abcd"), rows)}


def notes(train: int, test: int, seed: int) -> TextTable:
    """Notes of three to fourteen words, four in ten of which have an effect."""
    rng = np.random.default_rng(1000 + seed)
    share = 1 / np.arange(1, len(WORDS) + 1) ** 0.6
    words = rng.permutation(WORDS)
    effect = rng.normal(size=len(WORDS)) * (rng.random(len(WORDS)) < 0.4)
    chosen = [rng.choice(len(WORDS), rng.integers(3, 15), p=share / share.sum()) for _ in range(train + test)]
    score = np.array([effect[np.unique(each)].sum() for each in chosen])
    texts = [" ".join(words[each]).capitalize() + "." for each in chosen]
    return TextTable.of_scores(_others(rng, train + test), texts, score, train, rng)


def codes(train: int, test: int, seed: int) -> TextTable:
    """Codes such as KT-2017-0413, of which the letters and the year have an effect."""
    rng = np.random.default_rng(2000 + seed)
    rows = train + test
    letters = ["".join(rng.choice(list("ABCDEFGHKLMNPRSTVWXZ"), 2)) for _ in range(25)]
    kind, year, number = rng.integers(0, 25, rows), rng.integers(2010, 2025, rows), rng.integers(0, 9999, rows)
    texts = [f"{letters[one]}-{when}-{which:04d}" for one, when, which in zip(kind, year, number, strict=True)]
    score = rng.normal(size=25)[kind] + 0.1 * (year - 2017)
    return TextTable.of_scores(_others(rng, rows), texts, score, train, rng)


def levels(train: int, test: int, seed: int) -> TextTable:
    """Not text, but a category of many levels with Zipf's frequencies, each with an effect of its own."""
    rng = np.random.default_rng(3000 + seed)
    count = max(50, train // 4)
    share = 1 / np.arange(1, count + 1)
    level = rng.choice(count, train + test, p=share / share.sum())
    texts = [f"L{one}" for one in rng.permutation(count)[level]]
    return TextTable.of_scores(_others(rng, train + test), texts, rng.normal(size=count)[level], train, rng)


def sms(data: Path) -> tuple[list[str], list[str]]:
    return _labelled(data / "classification" / "sms_spam" / "train.tsv.gz")


def reviews(data: Path) -> tuple[list[str], list[str]]:
    return _labelled(data / "classification" / "sst2_sentence" / "train.tsv.gz")


def packages(data: Path) -> tuple[list[str], list[str]]:
    """Descriptions of Debian packages: whether the synopsis, which is not shown, speaks of a library."""
    with lzma.open(data / "summarisation" / "debian_synopsis" / "train.tsv.xz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [row[0] for row in rows], ["library" if "librar" in row[1].lower() else "other" for row in rows]


def genres(data: Path) -> tuple[list[str], list[str]]:
    """Sentences of the English Web Treebank: which of five sources they are from."""
    texts, labels = [], []
    for block in _sentences(data):
        notes = dict(line[2:].split(" = ", 1) for line in block if line.startswith("# ") and " = " in line)
        if "text" in notes:
            texts.append(notes["text"])
            labels.append(notes["sent_id"].split("-")[0])
    return texts, labels


def words(data: Path) -> tuple[list[str], list[str]]:
    """Single words, each once: noun, name, verb, adjective or adverb."""
    classes: dict[str, str] = {}
    for line in (line for block in _sentences(data) for line in block):
        cells = line.split("\t")
        if len(cells) > 4 and cells[3] in ("NOUN", "PROPN", "VERB", "ADJ", "ADV"):
            classes.setdefault(cells[1], cells[3])
    return list(classes), list(classes.values())


def _labelled(path: Path) -> tuple[list[str], list[str]]:
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [row[1] for row in rows], [row[0] for row in rows]


def _sentences(data: Path) -> Iterator[list[str]]:
    with gzip.open(data / "treebank" / "ud_en_ewt" / "train.conllu.gz", "rt") as file:
        yield from (block.split("\n") for block in file.read().split("\n\n") if block.strip())


GENERATED = {"notes": notes, "codes": codes, "levels": levels}
REAL = {"sms": sms, "reviews": reviews, "packages": packages, "genres": genres, "words": words}


def regard(train: pd.DataFrame, target: np.ndarray, test: pd.DataFrame, kind: str | None = None) -> np.ndarray:
    kinds = {"text": kind} if kind else None
    return NPTClassifier(mode="in_context", random_state=0, kinds=kinds).fit(train, target).predict_proba(test)


def catboost(train: pd.DataFrame, target: np.ndarray, test: pd.DataFrame) -> np.ndarray:
    """With text features; as a category where no word occurs often enough for CatBoost's dictionary."""
    from catboost import CatBoostClassifier, CatBoostError

    try:
        model = CatBoostClassifier(cat_features=["group"], text_features=["text"], **CATBOOST).fit(train, target)
    except CatBoostError:
        model = CatBoostClassifier(cat_features=["group", "text"], **CATBOOST).fit(train, target)
    return model.predict_proba(test)


def catboost_category(train: pd.DataFrame, target: np.ndarray, test: pd.DataFrame) -> np.ndarray:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(cat_features=["group", "text"], **CATBOOST).fit(train, target).predict_proba(test)


def lightgbm(train: pd.DataFrame, target: np.ndarray, test: pd.DataFrame) -> np.ndarray:
    from lightgbm import LGBMClassifier

    seen, new = (one.drop(columns="text").assign(group=one["group"].astype("category")) for one in (train, test))
    return LGBMClassifier(random_state=0, verbose=-1).fit(seen, target).predict_proba(new)


def logistic(train: pd.DataFrame, target: np.ndarray, test: pd.DataFrame) -> np.ndarray:
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    both = make_union(pieces, TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True))
    model = make_pipeline(both, LogisticRegression(C=5, max_iter=1000)).fit(train["text"], target)
    return model.predict_proba(test["text"])


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "regard": regard,
    "regard, text as category": partial(regard, kind="category"),
    "catboost": catboost,
    "catboost, text as category": catboost_category,
    "lightgbm, without text": lightgbm,
    "logistic regression, text alone": logistic,
}


def measure(table: TextTable, method: Callable[..., np.ndarray]) -> dict[str, float]:
    classes, target = np.unique(table.target, return_inverse=True)
    features, train = table.features, table.train
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = method(features[:train], target[:train], features[train:])
    seconds = time.process_time() - began
    scores = predicted[:, 1] if len(classes) == 2 else predicted
    auc = roc_auc_score(target[train:], scores, multi_class="ovr")
    return {"auc": round(float(auc), 4), "cpu_seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with text/, for tables of real texts")
    parser.add_argument("--rows", type=int, nargs=2, default=(1000, 1000), help="training and test rows")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tables", nargs="+", choices=[*GENERATED, *REAL])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    names = options.tables or [*GENERATED, *(REAL if options.data else ())]
    if options.data is None and set(names) & set(REAL):
        sys.exit("error: --data: name the folder that holds text/")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        for seed in range(options.seeds):
            key = f"{name}, {options.rows[0]} rows, seed {seed}"
            if name in GENERATED:
                table = GENERATED[name](*options.rows, seed)
            else:
                table = TextTable.of_texts(*REAL[name](options.data / "text"), *options.rows, seed)
            for method in options.methods:
                if method not in results.setdefault(key, {}):
                    results[key][method] = measure(table, METHODS[method])
                    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
                print(f"{key}: {method}: {results[key][method]}", flush=True)


if __name__ == "__main__":
    main()
