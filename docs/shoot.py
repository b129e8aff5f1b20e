"""The pictures of the viewer on these pages, taken by a real browser: python docs/shoot.py table --runs runs

A picture is taken of the file that `regard view --export` writes. SHOTS names the runs that each needs; playwright and
a chromium must be there, as for the tests of the page.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image

OUT = Path(__file__).parent / "pictures"
COLOURS = 128  # are enough for lines and text, and make a file of a third of the size


@dataclass(frozen=True)
class Shot:
    runs: tuple[str, ...]
    given: tuple[str, ...] = ()  # options of `regard view`
    state: dict[str, str] = field(default_factory=dict)  # where the page is to stand
    size: tuple[int, int] = (1000, 760)
    wait: str = "main canvas"


SHOTS = {
    "overview": Shot(("lm",), ("--input", "First Citizen:\nYou are all resolved ra"), {"view": "overview"}, (760, 760)),
    "table": Shot(
        ("houses",),
        tuple(word for cell in ("area=120", "city=Oslo", "built=1975", "garden=yes") for word in ("--cell", cell)),
        size=(820, 700),
        wait="#rests tbody",
    ),
}


def take(name: str, runs: Path, browser: object) -> Path:
    shot, picture = SHOTS[name], OUT / f"{name}.png"
    with tempfile.TemporaryDirectory() as place:
        page_file = Path(place) / "page.html"
        view = [sys.executable, "-m", "regard", "view", *(f"{runs.name}/{run}" for run in shot.runs), *shot.given]
        subprocess.run([*view, "--export", page_file], cwd=runs.absolute().parent, check=True)
        width, height = shot.size
        page = browser.new_page(viewport={"width": width, "height": height})  # type: ignore[attr-defined]
        page.goto(f"{page_file.as_uri()}#{urlencode(shot.state)}")
        page.wait_for_selector(shot.wait)
        page.wait_for_timeout(500)  # pictures are drawn in the frame after
        page.screenshot(path=picture)
        page.close()
    Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
    return picture


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=list(SHOTS), metavar="NAME", help=", ".join(SHOTS))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of the runs")
    options = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in options.names:
            print(take(name, options.runs, browser))
        browser.close()


if __name__ == "__main__":
    main()
