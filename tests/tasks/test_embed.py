"""`regard embed` and `search`: the vectors of transformers' own pooling, exact search, and what is refused."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from regard.core.errors import ConfigError, UserError
from regard.models import BERT
from regard.models.bert import MaskedLMHead
from regard.serve.answers import answer
from regard.tasks import MaskedLM, save_run
from regard.tasks.embed.embedding import Embedder
from regard.tasks.embed.nearest import nearest
from regard.text import Bytes
from tests.command import regard
from tests.interop.families import SIZES

TEXTS = ["a cat sleeps", "the dog plays in the snow", "snow", "two cats and a dog look at the mat"]
POOLED = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny sentence-transformers folder, as that library writes it."""
    path = tmp_path_factory.mktemp("minilm")
    words = sorted({word for text in TEXTS for word in text.split()})
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (path / "vocab.txt").write_text("\n".join(vocab))
    torch.manual_seed(3)
    model = transformers.BertModel(transformers.BertConfig(**SIZES)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(path)
    places = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [{"path": place, "type": f"sentence_transformers.models.{kind}"} for kind, place in places.items()]
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 7, "do_lower_case": False}))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps(POOLED))
    return path


def theirs(folder: Path, texts: list[str]) -> np.ndarray:
    """Mean pooling as the model cards have it."""
    vocab = (folder / "vocab.txt").read_text().split("\n")
    tokenizer = transformers.BertTokenizer(vocab={word: number for number, word in enumerate(vocab)})
    given = tokenizer(texts, padding=True, truncation=True, max_length=7, return_tensors="pt")
    with torch.no_grad():
        states = transformers.BertModel.from_pretrained(folder)(**given).last_hidden_state
    shown = given["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((states * shown).sum(1) / shown.sum(1), dim=-1).numpy()


def test_vectors_are_those_of_transformers(folder: Path) -> None:
    assert np.abs(Embedder.load(folder)(TEXTS) - theirs(folder, TEXTS)).max() < 1e-5
    assert Embedder.load(folder)([]).shape == (0, 32)


@pytest.mark.parametrize("mode", ["cls", "mean", "max"])
def test_the_server_gives_the_same_vectors(mode: str, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 7, "do_lower_case": True}))
    (copy / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": mode}))
    texts = [*TEXTS, "THE DOG"]
    embedder = Embedder.load(copy)
    served = answer(embedder.run, "embeddings", texts, {"context": 512})
    np.testing.assert_allclose([one["embedding"] for one in served], embedder(texts), rtol=1e-6)
    assert max(one["tokens"] for one in served) == 7


def test_every_byte_of_a_text_is_read(tmp_path: Path) -> None:
    """A character may be three tokens."""
    tokenizer = Bytes().train(TEXTS)
    config = BERT(vocab=tokenizer.vocab, width=16, layers=1, heads=2, head=MaskedLMHead())
    save_run(tmp_path / "run", config, config.build(), MaskedLM(), tokenizer)
    embedder, text = Embedder.load(tmp_path / "run"), "雲" * 27
    [served] = answer(embedder.run, "embeddings", [text], {"context": 512})
    assert served["tokens"] == 83
    np.testing.assert_allclose([served["embedding"]], embedder([text]), rtol=1e-6)


def test_commands(folder: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    def type_in(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))

    type_in(*TEXTS)
    assert regard("embed", folder, "--out", tmp_path / "vectors.npy") == 0
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape == (4, 32)
    assert vectors.dtype == np.float32
    (tmp_path / "texts.txt").write_text("\n".join([TEXTS[0], "", *TEXTS[1:]]))
    type_in("snow")
    capsys.readouterr()
    assert regard("search", folder, tmp_path / "texts.txt", "--count", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1.0000\t4\tsnow", "line numbers count empty lines"
    assert len(lines) == 2


def test_nearest_is_brute_force() -> None:
    draw = np.random.default_rng(0)
    vectors, queries = draw.normal(size=(50, 5)), draw.normal(size=(3, 5))
    vectors[7] = 0
    for query, hits in zip(queries, nearest(vectors, queries, 4), strict=True):
        cosines = [v @ query / max(np.linalg.norm(v), 1e-12) / np.linalg.norm(query) for v in vectors]
        assert [hit.row for hit in hits] == sorted(range(50), key=lambda row: -cosines[row])[:4]
        assert hits[0].score == pytest.approx(max(cosines))
    with pytest.raises(ConfigError, match="same length"):
        nearest(vectors, queries[:, :3])


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("modules.json", [{"path": "", "type": "a.Transformer"}, {"path": "2", "type": "a.Dense"}], "Dense"),
        ("modules.json", [{"path": "", "type": "Transformer"}, {"path": "../x", "type": "Pooling"}], "plain name"),
        ("modules.json", {"a": 1}, "list of modules"),
        ("1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True}, "pools by"),
        ("1_Pooling/config.json", POOLED | {"pooling_mode_max_tokens": True}, "pools by"),
        ("sentence_bert_config.json", {"max_seq_length": "long"}, "max_seq_length"),
    ],
)
def test_settings_that_are_not_read(file: str, content: Any, message: str, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / file).write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        Embedder.load(copy)
