"""Take the screenshots of the viewer for these pages: python docs/shoot.py table --runs runs

A screenshot shows the file that `regard view --export` writes. SHOTS lists the runs that each needs, as the job pages
train them: `lm`, `mt`, `rnn`, `houses`, `photos`; `image` shows the file of --photo, and `training` the study `parts`
(--runs studies). `contacts` and `sequences` show the alignment of --family, and the structure beside it, with the
shipped weights. It needs playwright and chromium, like the browser tests.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image

OUT = Path(__file__).parent / "pictures"
COLOURS = 128  # enough for lines and text, at a third of the file size


@dataclass(frozen=True)
class Shot:
    runs: tuple[str, ...]
    given: tuple[str, ...] = ()  # options of `regard view`
    state: dict[str, str] = field(default_factory=dict)  # the state of the page, as in its address
    size: tuple[int, int] = (1000, 760)
    wait: str = "main canvas"
    dark: bool = False


PHOTO = "the file that --photo names"
FAMILY = "the file that --family names"
SHIPPED = "contacts"  # no run folder, but the shipped weights
SENTENCE = ("--input", "Zwei große Hunde spielen im Schnee.")
CHANGES = ["base", "muon", "no-feed-forward", "no-positions", "no-warm-up", "rnn"]
SPEECH = """First Citizen:
Before we proceed any further, hear me speak.

All:
Speak, speak.

First Citizen:
You are all resolved rather to die than to famish?
"""
SHOTS = {
    "alignment": Shot(("mt", "rnn"), SENTENCE, {"view": "alignment", "with": "1"}, (885, 570)),
    "contacts": Shot(
        (SHIPPED,), ("--input", FAMILY), {"view": "residues", "head": "1", "token": "pair-33-67"}, (1160, 1030)
    ),
    "head": Shot(
        ("mt",), SENTENCE, {"view": "head", "attention": "decoder.0.cross", "head": "3"}, (750, 495), dark=True
    ),
    "image": Shot(("photos",), ("--input", PHOTO), {"view": "image"}, (1000, 740)),
    "long": Shot(
        ("lm",), ("--input", SPEECH), {"view": "head", "attention": "decoder.2.attend", "token": "query-14"}, (750, 787)
    ),
    "sequences": Shot(
        (SHIPPED,),
        ("--input", FAMILY),
        {"view": "sequences", "attention": "blocks.0.columns", "head": "0"},
        (980, 1020),
        dark=True,
    ),
    "positions": Shot(("lm",), (), {"view": "positions"}, (750, 860)),
    "training": Shot(("parts",), (), {"view": "training", "groups": json.dumps(CHANGES)}, (1300, 668)),
    "overview": Shot(("lm",), ("--input", "First Citizen:\nYou are all resolved ra"), {"view": "overview"}, (760, 760)),
    "table": Shot(
        ("houses",),
        tuple(word for cell in ("area=120", "city=Oslo", "built=1975", "garden=yes") for word in ("--cell", cell)),
        size=(820, 860),
        wait="#explanations tbody",
    ),
}


def take(name: str, runs: Path, files: dict[str, Path], browser: object, out: Path = OUT) -> Path:
    """`files` are those that stand for PHOTO and FAMILY."""
    shot, picture = SHOTS[name], out / f"{name}.png"
    given = [str(files[word].absolute()) if word in files else word for word in shot.given]
    with tempfile.TemporaryDirectory() as place:
        page_file = Path(place) / "page.html"
        view = [
            sys.executable,
            "-m",
            "regard",
            "view",
            *(run if run == SHIPPED else f"{runs.name}/{run}" for run in shot.runs),
            *given,
        ]
        subprocess.run([*view, "--export", page_file], cwd=runs.absolute().parent, check=True)
        width, height = shot.size
        scheme = "dark" if shot.dark else "light"
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[attr-defined]
        page.goto(f"{page_file.as_uri()}#{urlencode(shot.state)}")
        page.wait_for_selector(shot.wait)
        page.wait_for_timeout(500)  # drawn in the next frame
        page.screenshot(path=picture)
        page.close()
    Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
    return picture


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=list(SHOTS), metavar="NAME", help=", ".join(SHOTS))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of the runs")
    parser.add_argument("--photo", type=Path, help="the picture that `image` shows")
    parser.add_argument("--family", type=Path, help="the alignment that `contacts` and `sequences` show")
    options = parser.parse_args()
    files = {word: file for word, file in ((PHOTO, options.photo), (FAMILY, options.family)) if file is not None}
    for name in options.names:
        for word, option in ((PHOTO, "--photo"), (FAMILY, "--family")):
            if word in SHOTS[name].given and word not in files:
                parser.error(f"{name}: needs a file to show; name it with {option}")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in options.names:
            print(take(name, options.runs, files, browser))
        browser.close()


if __name__ == "__main__":
    main()
