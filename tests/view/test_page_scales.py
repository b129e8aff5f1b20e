"""Colour scales in a real browser: maps side by side share one, and uniform attention is not stretched to contrast."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import regard
from regard.tasks import save_run
from regard.tasks.image.image_file import ImageFile
from regard.tasks.recording import ViewInput
from regard.view.numbers import format_number
from regard.view.pictures import align
from regard.view.session import Session
from tests.view.browser import Watched, served
from tests.view.conftest import Runs
from tests.view.runs import picture

FILE = ImageFile("a.png", picture())
OPACITY = 0.6


@pytest.fixture(scope="module")
def uniform(runs: Runs) -> Path:
    """A ViT whose queries are zero: every patch attends to all patches equally."""
    run = regard.load(runs["image-mean"])
    with torch.no_grad():
        for name, parameter in run.model.named_parameters():
            if ".query." in name:
                parameter.zero_()
    path = runs.folder / "uniform"
    save_run(path, run.config, run.model, run.task, None)
    return path


@pytest.fixture(scope="module")
def site(runs: Runs, uniform: Path) -> Iterator[tuple[str, Session]]:
    with served(runs["transformer"], runs["rnn-attention"], uniform, runs["image-mean"]) as opened:
        yield opened


def saved(page: Any, place: int, file: Path) -> list[ElementTree.Element]:
    with page.expect_download() as coming:
        page.locator("[data-save=svg]").nth(place).click()
    coming.value.save_as(file)
    return list(ElementTree.parse(file).getroot())


def texts(drawn: list[ElementTree.Element]) -> list[str]:
    return [part.text or "" for part in drawn if part.tag.endswith("text")]


def test_alignments_side_by_side_share_a_named_scale(
    site: tuple[str, Session], watched: Watched, tmp_path: Path
) -> None:
    address, session = site
    page = watched.open(address, view="alignment", run=0, text="to be", target="abc", **{"with": 1})
    largest = max(float(align(run.record(ViewInput("to be", "abc"))).weights.max()) for run in session.runs[:2])
    labels = page.eval_on_selector_all("main canvas", "all => all.map(one => one.getAttribute('aria-label'))")
    assert len(labels) == 2
    for place, (name, label) in enumerate(zip(("transformer", "rnn-attention"), labels, strict=True)):
        assert label.endswith(f"attention weight from 0 to {format_number(largest, 3)}")
        words = texts(saved(page, place, tmp_path / "a.svg"))
        assert f"{name}: mean over layers, mean over heads" in words
        assert {"attention weight", "0", format_number(largest, 3)} <= set(words)


def test_maps_of_a_head_and_the_overview_share_a_scale(
    site: tuple[str, Session], watched: Watched, tmp_path: Path
) -> None:
    address, session = site
    both = {"run": 0, "with": 1, "text": "to be", "target": "abc"}
    page = watched.open(address, view="head", mode="map", attention="decoder.1.cross", head=1, **both)
    recordings = [run.record(ViewInput("to be", "abc")) for run in session.runs[:2]]
    cross = recordings[0].map("decoder.1.cross")
    largest = max(float(cross.pattern[1].max()), float(recordings[1].maps[0].pattern[0].max()))
    labels = page.eval_on_selector_all("main canvas", "all => all.map(one => one.getAttribute('aria-label'))")
    assert all(label.endswith(f"from 0 to {format_number(largest, 3)}") for label in labels)
    assert "transformer: decoder.1.cross, head 1" in texts(saved(page, 0, tmp_path / "a.svg"))
    page = watched.open(address, view="overview", **both)
    largest = max(float(one.pattern.max()) for recording in recordings for one in recording.maps)
    bar = page.get_attribute("canvas.bar-canvas", "aria-label")
    assert bar == f"Colour scale: attention weight from 0 to {format_number(largest, 3)}"
    for place, name in enumerate(("transformer", "rnn-attention")):
        words = texts(saved(page, place, tmp_path / "a.svg"))
        assert name in words
        assert format_number(largest, 3) in words


def overlay(drawn: list[ElementTree.Element], tile: int, side: int = 12) -> list[tuple[int, ...]]:
    """The colours of a tile, pixel after pixel."""
    cells = [part for part in drawn if part.tag.endswith("rect") and part.attrib["fill"].startswith("rgb")]
    tile_cells = cells[tile * side**2 : (tile + 1) * side**2]
    return [tuple(map(int, re.findall(r"\d+", part.attrib["fill"]))) for part in tile_cells]


def test_uniform_attention_looks_uniform(site: tuple[str, Session], watched: Watched, tmp_path: Path) -> None:
    """Its colour is that of a quarter of the scale everywhere, not the brightest."""
    address, session = site
    session.keep_file("image", FILE)
    page = watched.open(address, run=2, view="image", image=FILE.digest)
    drawn = saved(page, 0, tmp_path / "a.svg")
    image, weights = overlay(drawn, 0), overlay(drawn, 1)
    colours = {
        tuple(round((part - (1 - OPACITY) * own) / OPACITY) for part, own in zip(pixel, under, strict=True))
        for pixel, under in zip(weights, image, strict=True)
    }
    quarter = (59, 82, 139)  # viridis at 0.25
    assert all(abs(part - expected) <= 4 for colour in colours for part, expected in zip(colour, quarter, strict=True))
    words = texts(drawn)
    assert "attention weight, multiples of uniform (0.111)" in words
    assert {"0", "2", "4×"} <= set(words)


def test_images_of_two_runs_share_a_scale(site: tuple[str, Session], watched: Watched, tmp_path: Path) -> None:
    address, session = site
    session.keep_file("image", FILE)
    page = watched.open(address, run=2, view="image", image=FILE.digest, head=0, **{"with": 3})
    scales = [
        [word for word in texts(saved(page, place, tmp_path / "a.svg")) if word.endswith("×")] for place in (0, 1)
    ]
    assert scales[0] == scales[1]
    assert float(scales[0][0].removesuffix("×")) >= 4
