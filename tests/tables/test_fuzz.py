"""Mutated folders of fitted tables load or are refused in one line; benchmarks/fuzz_folders.py runs thousands."""

import importlib.util
import random
import shutil
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import regard
from regard.core import tensors
from regard.core.errors import UserError
from regard.store import TABLE
from regard.tables import NPTRegressor

MUTATIONS = 60


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz_folders.py"
    spec = importlib.util.spec_from_file_location("fuzz_folders", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_folders"] = module
    spec.loader.exec_module(module)
    return module


def test_mutated_settings_and_columns_are_refused_in_one_line(fuzz: ModuleType, tmp_path: Path):
    frame = fuzz.small_table(12)
    settings = {"mode": "in_context", "members": 1, "weights": fuzz.small_weights(tmp_path / "weights")}
    source = tmp_path / "table"
    NPTRegressor(**settings, random_state=0).fit(frame, frame["number"].fillna(0)).save(source)
    ended = {}
    for number in range(MUTATIONS):
        rng = random.Random(f"test/{number}")
        folder = tmp_path / "mutated"
        shutil.copytree(source, folder)
        changed = fuzz.mutate_folder(folder, rng)
        ended[number, changed] = fuzz.outcome(folder)
        assert not (folder / "traceback.txt").exists(), (folder / "traceback.txt").read_text()
        shutil.rmtree(folder)
    assert set(ended.values()) <= {0, fuzz.REFUSED}
    assert list(ended.values()).count(fuzz.REFUSED) > MUTATIONS // 2


@pytest.mark.parametrize(("name", "value"), [("mean", 7.0), ("std", 0.5)])
def test_categories_of_a_model_from_scratch_are_not_standardised(fuzz: ModuleType, tmp_path: Path, name, value):
    frame = fuzz.small_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = NPTRegressor(mode="scratch", time_limit=0.1, random_state=0)
        fitted.fit(frame[["category"]], frame["number"].fillna(0)).save(tmp_path / "run")
    table = tensors.load(tmp_path / "run" / TABLE)
    table[f"scratch.0.{name}"][0] = value
    tensors.save(tmp_path / "run" / TABLE, table)
    with pytest.raises(UserError, match=r"scratch\.0\.mean.*column 0 holds categories, which are not standardised"):
        regard.load(tmp_path / "run")
