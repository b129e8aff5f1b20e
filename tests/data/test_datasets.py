"""Data sets of Hugging Face's `datasets`: folders, Arrow and Parquet files, structs, classes by name, images."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image

from regard.core.errors import ConfigError, UserError
from regard.data.images.image_files import find_images
from regard.data.images.images import ImageFiles
from regard.data.text.documents import Documents
from regard.data.text.files import Fields, read_rows
from regard.data.text.labelled import LabelFiles
from regard.data.text.pair_files import read_pairs
from tests.command import regard as command
from tests.images.make import LABELS, bars

LABELLED = [{"text": "two dogs", "label": 1}, {"text": "rain", "label": 0}, {"text": "?", "label": -1}]
PAIRS = [{"translation": {"de": "zwei Hunde", "en": "two dogs"}}, {"translation": {"de": "eine Katze", "en": "a cat"}}]
CLASSES = {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}}


def table(rows: list[dict[str, Any]], features: dict[str, Any] | None = None) -> pa.Table:
    made = pa.Table.from_pylist(rows)
    known = {"huggingface": json.dumps({"info": {"features": features}})} if features else None
    return made.replace_schema_metadata(known)


def write(made: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pa.parquet.write_table(made, path)
    elif path.suffix == ".feather":
        path = path.with_suffix(".arrow")
        pa.feather.write_feather(made, path, compression="uncompressed")
    elif path.suffix == ".arrow":
        with pa.ipc.new_stream(path, made.schema) as stream:
            stream.write_table(made, max_chunksize=2)
    else:  # a folder of two files
        path.mkdir()
        write(made.slice(0, 1), path / "data-00000-of-00002.arrow")
        write(made.slice(1), path / "data-00001-of-00002.arrow")
        files = [{"filename": f"data-0000{number}-of-00002.arrow"} for number in range(2)]
        (path / "state.json").write_text(json.dumps({"_data_files": files, "_indices_data_files": None}))
        (path / "dataset_info.json").write_text("{}")
    return path


KINDS = ("a.parquet", "a.arrow", "a.feather", "folder")


@pytest.mark.parametrize("name", KINDS)
def test_classes_have_names_and_structs_have_fields(name: str, tmp_path: Path) -> None:
    path = write(table(LABELLED, CLASSES), tmp_path / name)
    rows = list(read_rows(path, Fields(("label", "text"))))
    assert [row.fields for row in rows] == [("good", "two dogs"), ("bad", "rain"), ("", "?")]
    with pytest.raises(UserError, match="the label is empty"):
        LabelFiles(train=(str(path),)).rows()
    pairs = write(table(PAIRS), tmp_path / f"p{name}")
    wanted = [("zwei Hunde", "two dogs"), ("eine Katze", "a cat")]
    assert list(read_pairs((str(pairs),), ("de", "en"))) == wanted
    assert list(read_pairs((str(pairs),), ("translation.en", "translation.de"))) == [one[::-1] for one in wanted]
    with pytest.raises(
        UserError, match=r"has no column 'source'; known: translation\.de, translation\.en; set the names"
    ):
        list(read_pairs((str(pairs),)))


def test_records_inside_json_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    assert next(iter(read_pairs((str(path),), ("de", "en")))) == ("zwei Hunde", "two dogs")
    assert next(iter(read_pairs((str(path),), ("translation.en", "de")))) == ("two dogs", "zwei Hunde")


def test_a_name_that_two_structs_have_must_be_whole(tmp_path: Path) -> None:
    path = write(table([{"one": {"de": "a", "en": "b"}, "two": {"de": "c", "en": "d"}}]), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="has no column 'de'"):
        list(read_pairs((str(path),), ("de", "en")))
    assert list(read_pairs((str(path),), ("one.de", "two.en"))) == [("a", "d")]


def test_documents_of_a_folder(tmp_path: Path) -> None:
    path = write(table([{"text": "two dogs"}, {"text": "a cat"}]), tmp_path / "folder")
    assert [piece.text for piece in Documents((str(path),)).pieces()] == ["two dogs", "a cat"]


def test_folders_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    path = write(table(PAIRS), tmp_path / "folder")
    state = json.loads((path / "state.json").read_text())
    for change, message in (
        ({"_data_files": [{"filename": "../a.arrow"}]}, "must name the files"),
        ({"_data_files": None}, "must name the files"),
        ({"_indices_data_files": [{"filename": "i.arrow"}]}, "flatten_indices"),
        ({"_data_files": [{"filename": "absent.arrow"}]}, r"absent\.arrow: "),
    ):
        (path / "state.json").write_text(json.dumps({**state, **change}))
        with pytest.raises(UserError, match=message):
            list(read_pairs((str(path),), ("de", "en")))
    (path / "state.json").write_text(json.dumps(state))
    (path / "data-00001-of-00002.arrow").write_bytes(b"ARROW1 no more")
    with pytest.raises(UserError, match=r"data-00001-of-00002\.arrow: cannot be read as Arrow"):
        list(read_pairs((str(path),), ("de", "en")))
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(UserError, match=r"holds the splits train, test; give one of them, such as .*train"):
        list(read_pairs((str(tmp_path / "both"),), ("de", "en")))


def pictures(count: int = 12) -> list[dict[str, Any]]:
    rows = []
    for image, number in zip(*bars(count), strict=True):
        held = io.BytesIO()
        Image.fromarray(image).save(held, "PNG")
        rows.append({"image": {"bytes": held.getvalue(), "path": None}, "label": int(number)})
    return rows


PICTURES = {"image": {"_type": "Image"}, "label": {"names": list(LABELS), "_type": "ClassLabel"}}


@pytest.mark.parametrize("name", KINDS)
def test_images_with_their_labels(name: str, tmp_path: Path) -> None:
    path = write(table(pictures(), PICTURES), tmp_path / name)
    records = list(find_images(path, "train"))
    assert [record.label for record in records] == [LABELS[number] for number in bars(12)[1]]
    assert [record.image for record in records] == [row["image"]["bytes"] for row in pictures()]
    assert set(find_images(path, "train").sizes()) == {(*bars(1)[0][0].shape, 1)}


def test_columns_of_images_are_chosen_where_only_one_can_be_meant(tmp_path: Path) -> None:
    rows = [{"img": row["image"]["bytes"], "fine": row["label"], "coarse": 0} for row in pictures()]
    only = {"fine": PICTURES["label"]}
    path = write(table(rows, only), tmp_path / "one.parquet")
    assert next(iter(find_images(path, "train"))).label in LABELS
    path = write(table(rows, {**only, "coarse": PICTURES["label"]}), tmp_path / "two.parquet")
    with pytest.raises(UserError, match=r"has no column 'label'.*set the names of the image and label columns"):
        list(find_images(path, "train"))
    assert [record.label for record in find_images(path, "train", ("img", "coarse"))] == [LABELS[0]] * 12
    with pytest.raises(UserError, match="has no column 'fine' with the bytes of images"):
        list(find_images(path, "train", ("fine", "coarse")))
    with pytest.raises(ConfigError, match="columns: must be the names"):
        ImageFiles(train=(str(path),), columns=("img",))


def test_an_image_beside_the_file(tmp_path: Path) -> None:
    first, *others = pictures()
    (tmp_path / "a.png").write_bytes(first["image"]["bytes"])
    rows = [{**first, "image": {"bytes": None, "path": "a.png"}}, *others]
    records = list(find_images(write(table(rows, PICTURES), tmp_path / "a.parquet"), "train"))
    assert records[0].image == tmp_path / "a.png"


def test_the_command_trains_on_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write(table(pictures(24), PICTURES), tmp_path / "photos"), tmp_path / "run"
    small = ["--steps", 2, "--model.width", 16, "--model.layers", 1, "--model.heads", 2, "--training.batch_size", 4]
    assert command("train", "image", "--train", path, "--out", out, *small) == 0
    assert command("evaluate", out, path) == 0
    pairs = write(table(PAIRS * 8), tmp_path / "wmt.parquet")
    words = ["--train", pairs, "--valid", pairs, "--columns", "de", "en", "--out", tmp_path / "pairs"]
    assert command("train", "translate", *words, *small) == 0
    assert command("evaluate", tmp_path / "pairs", pairs) == 0
    assert "bleu" in capsys.readouterr().out


def test_what_datasets_itself_writes(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="no extra has it")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    made = datasets.Dataset.from_list(LABELLED[:2], features=features)
    made.save_to_disk(tmp_path / "folder")
    made.to_parquet(tmp_path / "a.parquet")
    for name in ("folder", "a.parquet"):
        rows = read_rows(tmp_path / name, Fields(("label", "text")))
        assert [row.fields for row in rows] == [("good", "two dogs"), ("bad", "rain")]
    made.select([1]).save_to_disk(tmp_path / "some")
    assert [row.fields for row in read_rows(tmp_path / "some", Fields(("label", "text")))] == [("bad", "rain")]
    datasets.Dataset.from_list(PAIRS).save_to_disk(tmp_path / "pairs")
    assert next(read_pairs((str(tmp_path / "pairs"),), ("de", "en"))) == ("zwei Hunde", "two dogs")
    datasets.DatasetDict({"train": made}).save_to_disk(tmp_path / "both")
    with pytest.raises(UserError, match="holds the splits train"):
        list(read_rows(tmp_path / "both", Fields(("label", "text"))))
