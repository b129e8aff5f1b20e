"""An image on show: patterns are those that `listen` hears, rollout is the paper's product, bad files are named."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image
from torch import Tensor

import regard
from regard.core.errors import ConfigError, UserError
from regard.data.images.pixels import pixels
from regard.parts.taps import listen
from regard.tasks import ClassifyImages, Run, attention_maps
from regard.tasks.image import image_file
from regard.tasks.image.image_file import ImageFile, read_image_file
from regard.tasks.recording import AttentionMap, Recording, ViewedImage, ViewInput
from regard.view import session as session_module
from regard.view.open_run import OpenRun, record
from regard.view.pictures.image import image_picture, last_map, patch_weights, rollout
from regard.view.routes import make_app
from regard.view.session import Session
from tests.command import regard as command
from tests.view.conftest import Runs
from tests.view.runs import NASTY, picture
from tests.view.test_export import kept
from tests.view.test_pictures import unpacked

HERE = "http://127.0.0.1:7417"
BYTES = {"content-type": "application/octet-stream"}
GIVEN = ViewInput(image=ImageFile("a.png", picture()))
NAMES = ["image-token", "image-query", "image-mean"]


def heard_by(run: Run) -> dict[str, Tensor]:
    """One plain call of the model, on pixels that are decoded here."""
    assert isinstance(run.task, ClassifyImages)
    channels = len(run.task.mean)
    image = Image.open(io.BytesIO(picture())).convert("L" if channels == 1 else "RGB")
    values = torch.tensor(pixels(image, 12, channels, run.task.resize))
    with torch.inference_mode(), listen(run.model) as heard:
        run.model(run.task.normalise(values[None]))
    return heard


@pytest.mark.parametrize("name", [*NAMES, "image-slots"])
def test_patterns_are_those_that_listen_hears(runs: Runs, name: str) -> None:
    run = regard.load(runs[name])
    recording, heard = record(run, GIVEN), heard_by(run)
    assert {f"{look.name}.pattern" for look in recording.maps} == set(heard)
    for look in recording.maps:
        torch.testing.assert_close(look.pattern, heard[f"{look.name}.pattern"][0], rtol=0, atol=1e-6)
        assert look.pattern.shape[1:] == (len(look.queries), len(look.keys))


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_that_of_the_run(runs: Runs, name: str) -> None:
    run = regard.load(runs[name])
    recording = record(run, GIVEN)
    labels, probabilities = run.label_probabilities([picture()])
    assert dict(recording.probabilities) == pytest.approx(
        dict(zip(labels, probabilities[0].tolist(), strict=True)), abs=1e-6
    )
    assert [recording.answer] == run.classify([picture()])
    assert recording.probabilities[0][1] >= recording.probabilities[1][1]


def test_tokens_are_named_by_row_and_column(runs: Runs) -> None:
    token, query = (record(regard.load(runs[name]), GIVEN) for name in ("image-token", "image-query"))
    assert token.maps[0].keys == ("⟨class⟩", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3", "3,1", "3,2", "3,3")
    assert query.maps[-1].name == "pool.attend"
    assert (query.maps[-1].queries, query.maps[-1].keys) == (("⟨query⟩",), token.maps[0].keys[1:])
    assert last_map(token) == "encoder.1.attend"
    assert last_map(query) == "pool.attend"


def by_hand(recording: Recording, name: str, matrix: Tensor) -> Tensor:
    """What the pool gives, then what each patch gives, to each patch: one product at a time."""
    before = int(name == "image-token")
    count = len(matrix)
    weights = {
        "image-token": lambda: [1.0] + [0.0] * (count - 1),
        "image-mean": lambda: [1 / count] * count,
        "image-query": lambda: [
            sum(head[0][place].item() for head in recording.maps[-1].pattern) / 2 for place in range(9)
        ],
    }[name]()
    rows = [[sum(weights[token] * matrix[token][key].item() for token in range(count)) for key in range(count)]]
    rows += [[matrix[token][key].item() for key in range(count)] for token in range(before, count)]
    return torch.tensor([row[before:] for row in rows])


@pytest.mark.parametrize("name", NAMES)
def test_weights_on_patches_and_rollout_against_loops(runs: Runs, name: str) -> None:
    recording = record(regard.load(runs[name]), GIVEN)
    layers = [look for look in recording.maps if look.name.startswith("encoder")]
    rolled = None
    for look in layers:
        for head in range(len(look.pattern)):
            expected = by_hand(recording, name, look.pattern[head])
            torch.testing.assert_close(patch_weights(recording, look.name, head), expected, rtol=0, atol=1e-6)
        mean = sum(look.pattern[head] for head in range(len(look.pattern))) / len(look.pattern)
        expected = by_hand(recording, name, mean)
        torch.testing.assert_close(patch_weights(recording, look.name), expected, rtol=0, atol=1e-6)
        count = len(mean)
        mixed = [[(mean[i][j].item() + (i == j)) / 2 for j in range(count)] for i in range(count)]
        if rolled is not None:
            mixed = [
                [sum(mixed[i][k] * rolled[k][j] for k in range(count)) for j in range(count)] for i in range(count)
            ]
        rolled = mixed
        expected = by_hand(recording, name, torch.tensor(rolled))
        torch.testing.assert_close(rollout(recording, look.name), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(rollout(recording), expected, rtol=0, atol=1e-6)
    if name == "image-query":
        assert torch.equal(patch_weights(recording, "pool.attend", 1), recording.maps[-1].pattern[1])
        torch.testing.assert_close(rollout(recording, "pool.attend"), expected, rtol=0, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=some.integers(0, 10**6), layers=some.integers(0, 4), heads=some.integers(1, 3), across=some.integers(1, 4))
def test_rollout_is_a_share_for_each_patch(seed: int, layers: int, heads: int, across: int) -> None:
    """Rows sum to one, and where every token looks only at itself nothing moves."""
    dice = torch.Generator().manual_seed(seed)
    names = tuple(map(str, range(across**2)))
    patterns = [torch.rand(heads, across**2, across**2, generator=dice).softmax(-1) for _ in range(layers)]
    seen = ViewedImage(torch.zeros(1, 4, 4, dtype=torch.uint8), across, 0, "mean")

    def of(each: list[Tensor]) -> Recording:
        looks = tuple(AttentionMap(f"encoder.{number}.attend", one, names, names) for number, one in enumerate(each))
        return Recording(GIVEN, "", (), looks, image=seen)

    torch.testing.assert_close(rollout(of(patterns)).sum(-1), torch.ones(across**2 + 1))
    still = [torch.eye(across**2).expand(heads, -1, -1) for _ in range(layers)]
    torch.testing.assert_close(rollout(of(still))[1:], torch.eye(across**2))


def test_slots_lie_nowhere_on_the_image(runs: Runs) -> None:
    recording = record(regard.load(runs["image-slots"]), GIVEN)
    picture = image_picture(recording)
    assert [look["name"] for look in picture["maps"]] == ["encoder.0.attend"]
    assert not picture["has_rollout"]
    assert patch_weights(recording, "encoder.0.attend").shape == (10, 9)
    with pytest.raises(UserError, match=r"no rollout: encoder\.1\.attend attends to slots"):
        rollout(recording)
    with pytest.raises(ConfigError, match=r"encoder\.1\.attend: attends to slots"):
        patch_weights(recording, "encoder.1.attend")


def test_from_a_file_to_its_patches(runs: Runs) -> None:
    session = Session([OpenRun(runs["image-token"]), OpenRun(runs["image-mean"])])
    web = TestClient(make_app(session), base_url=HERE)
    assert [run["kind"] for run in web.get("/api/runs").json()["runs"]] == ["image", "image"]
    sent = web.post("/api/files/image", params={"name": "a.png"}, content=picture(), headers=BYTES).json()
    assert sent == {"image": GIVEN.image.digest, "name": "a.png"}
    for run, name in enumerate(("image-token", "image-mean")):
        recorded = web.post(f"/api/runs/{run}/record", json={"image": sent["image"]}).json()
        assert recorded["input"]["image"] == sent["image"]
        own = record(regard.load(runs[name]), GIVEN)
        assert recorded["answer"] == own.answer
        start = f"/api/recordings/{recorded['id']}"
        seen = web.get(f"{start}/image").json()
        assert (seen["side"], seen["patches"]) == (12, 3)
        asked = {"attention": "encoder.1.attend", "head": 1}
        weights = unpacked(web.get(f"{start}/patches", params=asked).json()["weights"])
        assert (weights - patch_weights(own, "encoder.1.attend", 1)).abs().max() <= 1e-6
        rolled = unpacked(web.get(f"{start}/rollout").json()["weights"])
        assert (rolled - rollout(own)).abs().max() <= 1e-6
        for wrong, words in (({"attention": "encoder.9"}, "no such attention"), ({**asked, "head": 7}, "head 7")):
            answer = web.get(f"{start}/patches", params=wrong)
            assert answer.status_code == 400
            assert words in answer.json()["error"]


def test_the_page_gets_the_pixels_that_the_model_reads(runs: Runs) -> None:
    import base64

    recording = record(regard.load(runs["image-mean"]), GIVEN)
    drawn = np.frombuffer(base64.b64decode(image_picture(recording)["pixels"]), np.uint8).reshape(12, 12, 3)
    assert np.array_equal(drawn, pixels(picture(), 12, 3, "pad").transpose(1, 2, 0))
    grey = record(regard.load(runs["image-token"]), GIVEN)
    drawn = np.frombuffer(base64.b64decode(image_picture(grey)["pixels"]), np.uint8).reshape(12, 12, 3)
    assert np.array_equal(drawn, np.repeat(pixels(picture(), 12, 1, "crop")[0][:, :, None], 3, 2))


def bomb() -> bytes:
    """A small file of many pixels."""
    data = io.BytesIO()
    Image.new("1", (10_000, 6_000)).save(data, "png")
    return data.getvalue()


BAD = {
    "text": (b"no picture at all", "is not an image of a supported format"),
    "empty": (b"", "is not an image of a supported format"),
    "half": (picture()[:600], "is damaged"),
    "bomb": (bomb(), "has 10,000×6,000 pixels; the limit is 50,000,000"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_in_one_line(runs: Runs, tmp_path: Path, capsys, name: str) -> None:
    data, message = BAD[name]
    web = TestClient(make_app(Session([OpenRun(runs["image-token"])])), base_url=HERE)
    answer = web.post("/api/files/image", params={"name": f"{name}\n.png"}, content=data, headers=BYTES)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"{name} .png: ")
    assert message in answer.json()["error"]
    file = tmp_path / f"{name}.png"
    file.write_bytes(data)
    for words in (("view", "--export", tmp_path / "a.html"), ("plot", "--out", tmp_path / "a.png")):
        assert command(words[0], runs["image-token"], "--input", file, *words[1:]) == 1
        err = capsys.readouterr().err
        assert f"{file}: " in err
        assert message in err
        assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file]


def test_huge_files_are_refused_unread(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_file, "MAX_BYTES", 1000)
    file = tmp_path / "a.png"
    file.write_bytes(picture())
    with pytest.raises(UserError, match="larger than 1,000 bytes"):
        read_image_file(file)
    with pytest.raises(UserError, match="larger than 1,000 bytes"):
        read_image_file(Path("/dev/zero"))
    web = TestClient(make_app(Session([OpenRun(runs["image-token"])])), base_url=HERE)
    large = {**BYTES, "content-length": str(10**9)}
    assert web.post("/api/files/image", content=b"", headers=large).status_code == 413
    page = (Path(session_module.__file__).parent / "page" / "source.js").read_text()
    assert "const MAX_BYTES = 32 * 2 ** 20;" in page  # the page says so before it sends


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--input", "nowhere.png"), "nowhere.png: cannot be read (No such file or directory)"),
        (("--input", "."), ".: cannot be read (Is a directory)"),
        (("--input", "a.png", "--target", "b"), "--target: only for texts"),
    ],
)
def test_mistakes_of_the_command_are_one_line(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, words: tuple[str, ...], message: str
) -> None:
    run = runs["image-token"]
    monkeypatch.chdir(tmp_path)
    assert command("view", run, *words) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_pictures_are_called_by_their_digest_while_they_are_kept(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session([OpenRun(runs["image-token"])])
    first, second = (ImageFile("a.png", picture(seed)) for seed in (0, 1))
    monkeypatch.setattr(session_module, "FILE_BYTES", len(first.data) + 1)
    session.keep_file("image", first)
    assert session.find_image(first.digest) == first
    session.keep_file("image", second)
    with pytest.raises(UserError, match=f"image {first.digest}: no longer in memory; choose the file again"):
        session.find_image(first.digest)
    web = TestClient(make_app(session), base_url=HERE)
    assert "reads images, and was given none" in web.post("/api/runs/0/record", json={"text": "a"}).json()["error"]
    assert "no longer in memory" in web.post("/api/runs/0/record", json={"image": "../etc"}).json()["error"]


def test_more_patches_than_memory_holds_are_refused(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_maps, "MAX_BYTES", 1000)
    with pytest.raises(UserError, match=r"the image has 10 tokens; .* choose a model with larger patches"):
        record(regard.load(runs["image-token"]), GIVEN)


def test_a_file_holds_the_image_and_its_looks(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    both = runs["image-query"], runs["gpt"]
    assert command("view", *both, "--input", tmp_path / "a.png", "--export", tmp_path / "a.html") == 0
    held = kept((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert held["api/runs/0/record"]["input"]["image"] == GIVEN.image.digest
    for path in (
        "image",
        "patches?attention=pool.attend",
        "patches?attention=encoder.0.attend&head=1",
        "rollout?attention=pool.attend",
    ):
        assert f"api/recordings/0/{path}" in held
    assert "api/runs/1/record" not in held  # a language model reads no images


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("image-token",), ()),
        (("image-query", "image-mean"), ()),
        (("image-mean",), ("--attention", "encoder.0.attend", "--head", "3")),
        (("image-token",), ("--picture", "overview")),
        (("image-token",), ("--picture", "head", "--head", "1")),
    ],
)
def test_plots_of_an_image(runs: Runs, tmp_path: Path, names: tuple[str, ...], words: tuple[str, ...]) -> None:
    (tmp_path / "in.png").write_bytes(picture())
    for out in ("a.png", "a.svg", "b.svg"):
        run = [runs[name] for name in names]
        assert command("plot", *run, "--input", tmp_path / "in.png", *words, "--out", tmp_path / out) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert len(image.convert("RGB").getcolors(2**24)) > 20


def test_what_cannot_be_plotted_is_told(runs: Runs, tmp_path: Path, capsys) -> None:
    (tmp_path / "in.png").write_bytes(picture())
    out = tmp_path / "a.png"
    assert command("plot", runs["image-slots"], "--input", tmp_path / "in.png", "--out", out) == 1
    assert "no rollout" in capsys.readouterr().err
    assert command("plot", runs["gpt"], "--picture", "image", "--input", "abc", "--out", out) == 2
    assert "has no image" in capsys.readouterr().err
    assert not out.exists()
    assert NASTY in regard.load(runs["image-token"]).task.labels
