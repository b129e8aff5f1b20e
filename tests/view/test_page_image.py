"""Images in a real browser: chosen or dropped, clicked, compared, linked to, saved, exported."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from regard.tasks.image.image_file import ImageFile
from regard.tasks.recording import ViewInput
from regard.view.export import export_page
from regard.view.numbers import format_number
from regard.view.open_run import OpenRun
from regard.view.pictures.image import patch_weights
from regard.view.session import Session
from tests.view.browser import NAMELESS, Watched, served
from tests.view.conftest import Runs
from tests.view.runs import NASTY, picture
from tests.view.test_page import status

FILE = ImageFile("a.png", picture())
CANVAS = "figure[data-picture=image] canvas"


@pytest.fixture(scope="module")
def site(runs: Runs) -> Iterator[tuple[str, Session]]:
    with served(runs["image-token"], runs["image-query"], runs["image-mean"]) as opened:
        yield opened


def give(page: Any, name: str = "a.png", data: bytes = FILE.data) -> None:
    """Choose a file, as a user would in the dialog."""
    page.set_input_files("input[name=image]", {"name": name, "mimeType": "image/png", "buffer": data})


def strongest(session: Session, run: int, look: str, viewer: int, head: int | None = None) -> str:
    weights = patch_weights(session.runs[run].record(ViewInput(image=FILE)), look, head)[viewer]
    best = int(weights.argmax())
    return f"attends to row {best // 3 + 1}, column {best % 3 + 1} ({format_number(float(weights[best]), 3)}, "


def test_a_chosen_file_a_clicked_patch_and_the_link_back(site: tuple[str, Session], watched: Watched) -> None:
    address, session = site
    page = watched.open(address, wait="input[name=image]", run=0)
    assert page.text_content("main p").startswith("Choose an image above")
    give(page)
    page.wait_for_selector(CANVAS)
    assert page.text_content("#answers .answer") == session.runs[0].record(ViewInput(image=FILE)).answer
    status(page, "the class token " + strongest(session, 0, "encoder.1.attend", 0))
    box = page.locator(CANVAS).bounding_box()
    tile = (box["width"] - 24) / 3
    page.mouse.click(box["x"] + tile * 0.5, box["y"] + 20 + tile * 5 / 6)  # the last row, the middle column
    status(page, "row 3, column 2 " + strongest(session, 0, "encoder.1.attend", 8))
    page.locator(CANVAS).focus()
    page.keyboard.press("ArrowUp")
    status(page, "row 2, column 2 " + strongest(session, 0, "encoder.1.attend", 5))
    page.select_option("select[name=attention]", "encoder.0.attend")
    page.select_option("select[name=head]", "1")
    status(page, "row 2, column 2 " + strongest(session, 0, "encoder.0.attend", 5, head=1))
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(CANVAS)
    status(page, "row 2, column 2 " + strongest(session, 0, "encoder.0.attend", 5, head=1))
    assert page.url == link
    page.locator(CANVAS).focus()
    page.keyboard.press("Escape")
    status(page, "the class token " + strongest(session, 0, "encoder.0.attend", 0, head=1))


def test_two_runs_on_one_picture_and_every_view_of_it(
    site: tuple[str, Session], watched: Watched, tmp_path: Path
) -> None:
    address, session = site
    session.keep_file("image", FILE)
    page = watched.open(address, run=1, image=FILE.digest, **{"with": 2})
    page.wait_for_function("() => document.querySelectorAll('main canvas').length == 2")
    first, second = (one.bounding_box() for one in page.query_selector_all("main canvas"))
    assert abs(first["y"] - second["y"]) < 2
    status(page, "the learned query " + strongest(session, 1, "pool.attend", 0))
    for kind in ("png", "svg"):
        with page.expect_download() as coming:
            page.locator(f"[data-save={kind}]").first.click()
        coming.value.save_as(tmp_path / f"a.{kind}")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(ElementTree.parse(tmp_path / "a.svg").getroot())) > 100
    assert page.evaluate(NAMELESS) == []
    page.click("[role=tab]:text-is('Overview')")
    page.get_by_role("button", name="Open encoder.1.attend, head 1").first.press("Enter")
    page.wait_for_selector("figure[data-picture=head] canvas")
    page.locator("figure[data-picture=head] canvas").first.focus()
    page.keyboard.press("ArrowDown")
    status(page, "“1,1” (0) attends to")


def test_bad_and_huge_files_are_told_and_change_nothing(
    site: tuple[str, Session], watched: Watched, tmp_path: Path
) -> None:
    address, session = site
    big = tmp_path / "big.png"
    with big.open("wb") as file:
        file.truncate(32 * 2**20 + 1)  # from the disk: through the protocol of playwright it would take a minute
    session.keep_file("image", FILE)
    page = watched.open(address, run=0, image=FILE.digest)
    for name, data, message in (
        (f"{NASTY}.png", b"no picture", f"{NASTY}.png: is not an image of a supported format"),
        (None, big, "big.png: has 33,554,433 bytes, more than 33,554,432"),
    ):
        page.set_input_files("input[name=image]", data) if name is None else give(page, name, data)
        page.wait_for_function("words => document.getElementById('error').textContent.startsWith(words)", arg=message)
        assert f"image={FILE.digest}" in page.url
        assert page.locator(CANVAS).count() == 1
    assert page.locator("img").count() == 0
    watched.forgive("status of 400")


def test_a_link_to_a_picture_that_is_gone_says_so(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="#error:not([hidden])", run=0, image="0123456789abcdef0123")
    assert page.text_content("#error") == "image 0123456789abcdef: no longer in memory; choose the file again"
    assert page.locator("main canvas").count() == 0
    watched.forgive("status of 400")
    give(page)
    page.wait_for_selector(CANVAS)
    assert page.text_content("#error") == ""


def test_a_dropped_file_is_looked_at(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="input[name=image]", run=2)
    page.evaluate(
        """data => { const files = new DataTransfer();
        const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
        files.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }));
        document.querySelector('main').dispatchEvent(
            new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })); }""",
        base64.b64encode(picture(3)).decode(),
    )
    page.wait_for_selector(CANVAS)
    assert "dropped.png" in page.text_content("#answers")


def test_an_exported_image_opens_from_the_disk(runs: Runs, watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    session = Session([OpenRun(runs["image-query"])])
    file.write_text(export_page(session, ViewInput(image=FILE)), encoding="utf-8")
    page = watched.open(file.as_uri(), wait=CANVAS)
    for tab in page.locator("[role=tab]").all_text_contents():
        page.click(f"[role=tab]:text-is('{tab}')")
        page.wait_for_selector("main :is(canvas, p)")
        assert page.text_content("#error") == "", tab
    page.click("[role=tab]:text-is('Image')")
    page.select_option("select[name=attention]", "encoder.0.attend")
    status(page, strongest(session, 0, "encoder.0.attend", 0))
    assert page.locator("input[name=image]").count() == 0
