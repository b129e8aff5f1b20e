"""A classifier from the user's own images, from the command line and in Python."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import regard as library
from regard.core.errors import ConfigError, UserError
from regard.data.images.pixels import Size
from regard.models import ViT
from regard.parts import Convolutions, Grid
from regard.parts.pool import QueryPool
from regard.store import read_config, read_metrics
from regard.tasks import load_run
from regard.tasks.image.sizes import with_sizes
from tests.command import regard
from tests.images.make import LABELS, bars, write_classes, write_idx
from tests.train.test_ranks import on_ranks

SMALL = ["--model.width=16", "--model.layers=1", "--model.heads=2", "--model.stem.channels=[4,8]"]
SMALL += ["--training.batch_size=16", "--training.compile=never"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    write_classes(folder / "train", 120)
    write_classes(folder / "test", 30, seed=1)
    (folder / "train" / "lying" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    words = ["--train", folder / "train", "--out", folder / "run", *SMALL, "--steps=60"]
    assert regard("train", "image", *words) == 0
    return folder / "run"


def test_it_learns_evaluates_and_classifies(run: Path, capsys: pytest.CaptureFixture):
    assert regard("evaluate", run, run.parent / "test", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["accuracy"] > 0.9
    assert (scores["images"], scores["skipped"]) == (30, 0)
    files = [run.parent / "test" / "upright" / "001.png", run.parent / "test" / "lying" / "000.png"]
    assert regard("classify", run, *files) == 0
    assert capsys.readouterr().out.splitlines() == [f"{files[0]}\tupright", f"{files[1]}\tlying"]
    assert regard("classify", run, run.parent / "test") == 0
    assert len(capsys.readouterr().out.splitlines()) == 30
    assert read_metrics(run)[-1]["accuracy"] > 0.9
    assert read_config(run)["model"]["image"] == 12
    assert regard("show", run) == 0


def test_a_bad_file_stops_no_other(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    good = run.parent / "test" / "upright" / "001.png"
    (tmp_path / "bad.png").write_text("x")
    assert regard("classify", run, tmp_path / "bad.png", good, tmp_path / "none.png", "--json") == 1
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [Path(line["file"]).name for line in lines] == ["bad.png", "001.png", "none.png"]
    assert "is not an image" in lines[0]["error"]
    assert lines[1]["label"] == "upright"
    assert sum(lines[1]["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert err.count("\n") == 2
    folder = write_classes(tmp_path / "more", 6)
    (folder / "lying" / "bad.png").write_text("x")
    assert regard("evaluate", run, folder, "--json") == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["images"], json.loads(out)["skipped"]) == (6, 1)
    assert "bad.png: is not an image" in err


def test_training_tells_what_it_skipped(run: Path):
    skipped = json.loads((run / "images" / "train.json").read_text())["skipped"]
    assert len(skipped) == 1
    assert "broken.png" in skipped[0]


def test_python_takes_files_arrays_and_images_of_pillow(run: Path):
    loaded = library.load(run)
    images, labels = bars(6, seed=5)
    names = [LABELS[label] for label in labels]
    assert loaded.classify(list(images)) == names
    assert loaded.classify([Image.fromarray(image) for image in images]) == names
    large = [np.kron(image, np.ones((3, 3), np.uint8)) for image in images]
    assert loaded.classify(large) == names, "of any size"
    path = run.parent / "test" / "upright" / "001.png"
    kinds = [str(path), path, np.asarray(Image.open(path)), Image.open(path).convert("RGBA")]
    known, chances = loaded.label_probabilities(kinds)
    assert known == LABELS
    torch.testing.assert_close(chances, chances[:1].expand(4, -1))
    assert loaded.classify([]) == []
    with pytest.raises(UserError, match="image 1: an array of shape"):
        loaded.classify([images[0], np.zeros(3, np.uint8)])


def test_the_patches_that_decided_can_be_watched(run: Path):
    loaded = library.load(run)
    assert isinstance(loaded.model.pool, QueryPool)
    with library.listen(loaded.model) as heard:
        loaded.classify(list(bars(2)[0]))
    pattern = heard["pool.attend.pattern"]
    assert pattern.shape == (2, 2, 1, 36)  # image, head, the query, patches
    torch.testing.assert_close(pattern.sum(-1), torch.ones(2, 2, 1))


def test_text_runs_read_lines_and_image_runs_files(run: Path, tmp_path: Path, capsys, monkeypatch):
    assert regard("classify", run) == 2
    assert "name the images" in capsys.readouterr().err
    rows = "".join(f"{label}\ta {label} text\n" for label in ("good", "bad") * 8)
    (tmp_path / "a.tsv").write_text(rows)
    words = ["--train", tmp_path / "a.tsv", "--out", tmp_path / "text", "--steps=2", "--model.width=16"]
    assert regard("train", "classify", *words, "--data.tokenizer.vocab=280") == 0
    capsys.readouterr()
    assert regard("classify", tmp_path / "text", "a.png") == 2
    assert "reads texts" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a good text\nbad\n")))
    assert regard("classify", tmp_path / "text", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2
    assert set(lines[0]["probabilities"]) == {"good", "bad"}
    with pytest.raises(UserError, match="has no 'each_probability'"):
        load_run(tmp_path / "text").each_probability([])


def test_a_run_that_was_broken_off_ends_with_the_same_bits(tmp_path: Path):
    data = ["--train", write_classes(tmp_path / "train", 40), *SMALL, "--training.checkpoint_minutes=1e-9"]
    data += ["--data.augment.crop=0.1", "--data.augment.erase=0.5", "--data.augment.mix=0.3", "--data.augment.flip=0.5"]
    data += ["--training.schedule=Constant"]
    assert regard("train", "image", "--out", tmp_path / "whole", *data, "--steps=8") == 0
    assert regard("train", "image", "--out", tmp_path / "halves", *data, "--steps=3") == 0
    (tmp_path / "train").rename(tmp_path / "gone")  # what was decoded is all that going on needs
    assert regard("train", "image", "--out", tmp_path / "halves", *data, "--steps=8", "--resume") == 0
    step = "checkpoints/step-000000008/weights.safetensors"
    assert (tmp_path / "whole" / step).read_bytes() == (tmp_path / "halves" / step).read_bytes()


def test_two_ranks_reproduce_the_losses_of_one(tmp_path: Path):
    data = ["--train", write_classes(tmp_path / "train", 40), *SMALL, "--steps=4", "--training.log_every=1"]
    assert regard("train", "image", "--out", tmp_path / "one", *data) == 0
    on_ranks(2, ["train", "image", "--out", tmp_path / "two", *data])
    one, two = ([line["loss"] for line in read_metrics(tmp_path / name) if "loss" in line] for name in ("one", "two"))
    assert len(one) == 4
    assert two[0] == pytest.approx(one[0], rel=1e-5)
    assert two == pytest.approx(one, rel=1e-3)  # Muon computes in bfloat16, which makes the last digits larger


def test_idx_files_train_on_one_part_and_measure_the_other(tmp_path: Path, capsys: pytest.CaptureFixture):
    write_idx(tmp_path / "idx", "train", *bars(60))
    write_idx(tmp_path / "idx", "t10k", *bars(14, seed=1))
    assert regard("train", "image", "--train", tmp_path / "idx", "--out", tmp_path / "run", *SMALL, "--steps=2") == 0
    assert "54 training images, 6 validation images, 2 labels; read as 12×12, grey" in capsys.readouterr().err
    assert regard("evaluate", tmp_path / "run", tmp_path / "idx", "--json") == 0
    assert json.loads(capsys.readouterr().out)["images"] == 14


def test_what_cannot_be_meant_is_told_before_anything_is_written(run: Path, tmp_path: Path, capsys):
    data = ["--train", run.parent / "train", *SMALL]
    extra = write_classes(tmp_path / "extra", 4)
    (extra / "lying").rename(extra / "crooked")
    for more, code, message in (
        (["--valid", extra], 1, "the label 'crooked' does not occur in the training images"),
        (["--model", "GPT", "--model.vocab=5"], 2, "GPT reads no images; choose ViT"),
        (["--model.image=13"], 2, "13 is not divisible by 2, by which the stem shrinks"),
        (["--model.patch=3"], 2, "patch 3 is not divisible by 2"),
        (["--data.augment.flp=0.5"], 2, "did you mean 'data.augment.flip'?"),
    ):
        words = [word for word in data if not ("GPT" in more and str(word).startswith("--model."))]
        assert regard("train", "image", "--out", tmp_path / "x", *words, *more) == code
        assert message in capsys.readouterr().err
        assert sorted(child.name for child in tmp_path.iterdir()) == ["extra"], "nothing is left behind"
    assert regard("train", "image", "--out", run, *data) == 1
    assert "already holds a run" in capsys.readouterr().err
    assert regard("evaluate", run, extra) == 1
    assert "does not occur in the training images" in capsys.readouterr().err


def test_patches_can_be_told_apart_by_their_row_and_column(tmp_path: Path):
    data = ["--train", write_classes(tmp_path / "train", 20), *SMALL, "--steps=2"]
    assert regard("train", "image", "--out", tmp_path / "run", *data, "--model.position", "Grid") == 0
    loaded = library.load(tmp_path / "run")
    assert loaded.config.position == Grid()
    assert loaded.config.position_encoding() == Grid(columns=6)
    assert len(loaded.classify(list(bars(3)[0]))) == 3


def test_one_class_is_none_to_tell_apart(tmp_path: Path, capsys: pytest.CaptureFixture):
    write_classes(tmp_path / "one", 4)
    for file in (tmp_path / "one" / "lying").iterdir():
        file.unlink()
    assert regard("train", "image", "--train", tmp_path / "one", "--out", tmp_path / "x", *SMALL) == 1
    assert "every image has the label 'upright'; there must be at least two labels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ([(28, 28, 1)], (28, 4, 1)),
        ([(8, 8, 1)], (8, 2, 1)),
        ([(32, 32, 3)], (32, 4, 3)),
        ([(480, 640, 3), (100, 300, 1), (70, 90, 1)], (64, 8, 3)),
        ([(30, 30, 1)], (32, 4, 1)),
        ([(1, 1, 1)], (2, 2, 1)),
    ],
)
def test_sizes_are_chosen_by_the_images(sizes: list[Size], chosen: Size):
    config = with_sizes(ViT(image=0, patch=0, channels=0, stem=Convolutions()), sizes)
    assert (config.image, config.patch, config.channels) == chosen


def test_a_chosen_size_is_kept():
    with pytest.raises(ConfigError, match="image"):
        ViT(labels=2, image=0).build()


def test_a_plain_vit_goes_to_hugging_face_and_comes_back(tmp_path: Path):
    """Their own model says the same of an image, and so does the folder loaded here."""
    from transformers import AutoModelForImageClassification

    plain = ["--model.stem=NoStem", "--model.pool=ClassToken", "--model.norm=LayerNorm", "--model.feed=GELU"]
    plain += ["--model.query_norm=null", "--model.bias=true", "--model.embedding_skip=null", "--model.init=XavierInit"]
    plain += ["--model.width=16", "--model.layers=1", "--model.heads=2", "--training.batch_size=16", "--steps=3"]
    data = ["--train", write_classes(tmp_path / "train", 30), "--data.resize=stretch"]
    assert regard("train", "image", *data, *plain, "--out", tmp_path / "run") == 0
    assert regard("export", tmp_path / "run", "--to", "huggingface", "--out", tmp_path / "hf") == 0
    images, _ = bars(4, seed=2)
    here, there = library.load(tmp_path / "run"), library.load(tmp_path / "hf")
    labels, chances = here.label_probabilities(list(images))
    assert there.label_probabilities(list(images))[0] == labels == LABELS
    torch.testing.assert_close(there.label_probabilities(list(images))[1], chances, rtol=1e-5, atol=1e-5)
    theirs = AutoModelForImageClassification.from_pretrained(tmp_path / "hf").eval()
    preprocessing = json.loads((tmp_path / "hf" / "preprocessor_config.json").read_text())
    given = (torch.from_numpy(images)[:, None] / 255 - preprocessing["image_mean"][0]) / preprocessing["image_std"][0]
    with torch.no_grad():
        probabilities = theirs(pixel_values=given).logits.softmax(-1)
    torch.testing.assert_close(probabilities, chances, rtol=1e-5, atol=1e-5)
    assert theirs.config.id2label == dict(enumerate(LABELS))
