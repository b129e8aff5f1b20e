"""Every picture of the viewer on the pages can be taken again."""

import importlib.util
from pathlib import Path
from typing import Any

from PIL import Image

from tests.view.conftest import Runs

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("shoot", DOCS / "shoot.py")
assert spec is not None
assert spec.loader is not None
shoot = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shoot)


def test_there_is_a_shot_for_every_picture() -> None:
    assert set(shoot.SHOTS) == {file.stem for file in (DOCS / "pictures").glob("*.png")}


def test_a_shot_is_taken_of_a_real_page(runs: Runs, tmp_path: Path, browser: Any) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "lm").symlink_to(runs["gpt"])
    shoot.take("positions", tmp_path / "runs", {}, browser, tmp_path)
    with Image.open(tmp_path / "positions.png") as picture:
        assert picture.size == shoot.SHOTS["positions"].size
        assert len(picture.convert("RGB").getcolors(2**20)) > 50  # the map is drawn
