"""Mutated run folders of text load or are refused in one line; benchmarks/fuzz_folders.py runs thousands."""

import random
import shutil
from pathlib import Path

from regard.models import GPT
from regard.tasks import LanguageModel, save_run
from regard.text import Characters
from tests.tables.test_fuzz import fuzz  # noqa: F401

MUTATIONS = 60


def test_mutated_runs_are_refused_in_one_line(fuzz, tmp_path: Path):  # noqa: F811
    tokenizer = Characters().train(["the cat sees a dog. a dog sees the cat."])
    config = GPT(vocab=tokenizer.vocab, width=16, layers=1, heads=2)
    source = tmp_path / "run"
    save_run(source, config, config.build(), LanguageModel(), tokenizer)
    assert fuzz.outcome(source) == 0
    ended = []
    for number in range(MUTATIONS):
        folder = tmp_path / "mutated"
        shutil.copytree(source, folder)
        fuzz.mutate_folder(folder, random.Random(f"test/{number}"))
        ended.append(fuzz.outcome(folder))
        assert not (folder / "traceback.txt").exists(), (folder / "traceback.txt").read_text()
        shutil.rmtree(folder)
    assert set(ended) <= {0, fuzz.REFUSED}
    assert ended.count(fuzz.REFUSED) > MUTATIONS // 3
