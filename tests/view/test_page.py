"""Every view in a real browser: what is on screen is what was recorded, and nothing goes wrong or goes out."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
import torch

from regard.store import RunFolder
from regard.tasks.recording import ViewInput
from regard.view.export import export_page
from regard.view.numbers import format_number
from regard.view.open_run import OpenRun
from regard.view.pictures import align
from regard.view.session import Session
from tests.view.browser import NAMELESS, Watched, served
from tests.view.conftest import Runs
from tests.view.runs import NASTY

TEXT = "to be, or not"


@pytest.fixture(scope="module")
def site(runs: Runs, tables: tuple[Path, Path]) -> Iterator[tuple[str, Session]]:
    """Runs 0 to 5: two translators, a language model, a classifier, two tables."""
    with served(runs["transformer"], runs["rnn-attention"], runs["gpt"], runs["label"], *tables) as opened:
        yield opened


def status(page: Any, words: str) -> str:
    """The text of the status line, once it contains this."""
    page.wait_for_function("words => document.getElementById('status').textContent.includes(words)", arg=words)
    return page.text_content("#status")


def pixels(page: Any, selector: str) -> str:
    return page.eval_on_selector(selector, "canvas => canvas.toDataURL()")


def test_alignments_of_two_runs_side_by_side(site: tuple[str, Session], watched: Watched) -> None:
    address, session = site
    page = watched.open(address, view="alignment", run=0, text=TEXT, target="abc", **{"with": 1})
    page.wait_for_function("() => document.querySelectorAll('main canvas').length == 2")
    first, second = page.query_selector_all("main canvas")
    assert abs(first.bounding_box()["y"] - second.bounding_box()["y"]) < 2
    weights = align(session.runs[0].record(ViewInput(TEXT, "abc"))).weights
    first.focus()
    for key in ["ArrowRight", *["ArrowRight"] * 3, "ArrowDown"]:  # the first goes to the corner
        page.keyboard.press(key)
    assert status(page, "“b” (1), “b” (3)").endswith(f": {format_number(float(weights[1, 3]))}")
    page.select_option("select[name=head]", "1")
    page.wait_for_function("() => location.hash.includes('head=1')")


def test_from_the_overview_to_a_head(site: tuple[str, Session], watched: Watched) -> None:
    address, session = site
    page = watched.open(address, run=0, view="overview", text=TEXT, target="abc")
    assert page.locator("table.heads button").count() == 12
    page.get_by_role("button", name="Open decoder.1.cross, head 1").press("Enter")
    page.wait_for_selector("figure[data-picture=head]")
    assert "view=head&text=" in page.url.replace("&target=abc", "")
    assert "attention=decoder.1.cross&head=1" in page.url
    page.locator("figure[data-picture=head] canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    look = session.runs[0].record(ViewInput(TEXT, "abc")).map("decoder.1.cross")
    best, place = look.pattern[1, 1].max(-1)
    assert f"({int(place)}) {format_number(float(best), 3)}" in status(page, "“b” (1) attends to")


def test_heads_of_two_runs_side_by_side(site: tuple[str, Session], watched: Watched) -> None:
    """Each with its own attention: where the second has none of that name, its first stands beside."""
    both = {"run": 0, "with": 1, "text": TEXT, "target": "abc"}
    page = watched.open(site[0], view="overview", **both)
    page.wait_for_function("() => document.querySelectorAll('table.heads').length == 2")
    counts = [sum(len(look.pattern) for look in run.record(ViewInput(TEXT, "abc")).maps) for run in site[1].runs[:2]]
    tables = page.locator("table.heads").all()
    assert [table.locator("button").count() for table in tables] == counts
    page = watched.open(site[0], view="head", attention="decoder.1.cross", head=1, **both)
    page.wait_for_function("() => document.querySelectorAll('figure[data-picture=head]').length == 2")
    other = site[1].runs[1].record(ViewInput(TEXT, "abc")).maps[0]
    titles = page.locator("main h3").all_text_contents()
    assert [title.partition(": ")[2] for title in titles] == ["decoder.1.cross, head 1", f"{other.name}, head 0"]
    page.locator("figure[data-picture=head] canvas").nth(1).focus()
    page.keyboard.press("ArrowDown")
    best, place = other.pattern[0, 0].max(-1)
    assert f"({int(place)}) {format_number(float(best), 3)}" in status(page, "(0) attends to")


def test_hovering_isolates_a_token(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=3, view="head", text="abcdef")
    canvas = page.locator("figure[data-picture=head] canvas")
    before, box = pixels(page, "figure[data-picture=head] canvas"), canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.28, box["y"] + 22 + 20 * 2.5)
    status(page, "“b” (2) attends to")
    watched.settle()
    assert pixels(page, "figure[data-picture=head] canvas") != before
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 22 + 20 * 0.5)
    status(page, "“<s>” (0) is attended to by")
    page.mouse.move(5, 5)
    watched.settle()
    assert pixels(page, "figure[data-picture=head] canvas") == before


def test_typing_gives_an_answer(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="textarea", run=2)
    page.fill("textarea[name=text]", TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#answers .inline li")
    assert page.text_content("#answers .answer") == f"{TEXT}│{site[1].runs[2].record(ViewInput(TEXT)).answer}"
    page.fill("textarea[name=text]", "another")
    page.click("button.first")
    page.wait_for_function("() => document.querySelector('#answers .answer').textContent.startsWith('another')")


def test_a_long_text_costs_no_more_than_what_is_on_screen(site: tuple[str, Session], watched: Watched) -> None:
    """Of a thousand tokens only visible queries are fetched, and a frame draws only visible lines: so it is smooth."""
    page = watched.open(site[0], run=2, view="head", text=("to be or not to be " * 60)[:1000])
    watched.settle()
    page.evaluate("""() => { window.strokes = [];
        const context = CanvasRenderingContext2D.prototype, { stroke, clearRect } = context;
        context.clearRect = function (...box) { strokes.push(0); return clearRect.apply(this, box); };
        context.stroke = function () { strokes[strokes.length - 1]++; return stroke.apply(this); }; }""")
    box = page.locator("figure[data-picture=head] canvas").bounding_box()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.25 if step % 2 else 0.75), box["y"] + 30 + (step * 23) % 480)
        if step % 5 == 4:
            page.mouse.wheel(0, 120)
    status(page, "attend")
    watched.settle()
    frames = page.evaluate("window.strokes")
    visible = int((560 - 22) / 20)
    assert 0 < len(frames) <= 2 * 20 + 8, "a pointer event draws once at most"
    assert max(frames) <= visible**2
    heads = [parse_qs(urlsplit(request).query) for request in watched.requests if "/head?" in request]
    assert 0 < len(heads) < 20
    assert all(int(head["last"][0]) - int(head["first"][0]) == 64 for head in heads)


def test_a_map_of_a_long_text_is_made_small(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=2, view="head", mode="map", text="to be " * 100)
    assert page.text_content("main .faint").startswith("Each cell is the mean of 1.2 × 1.2 weights")


def test_a_changed_cell_moves_the_prediction(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="#explanations .answer", run=5)
    before = page.text_content("#explanations .answer")
    assert page.locator("#explanations table").count() == 2
    page.fill("input[name=area]", "180")
    page.wait_for_selector("#explanations p.moved")
    assert page.text_content("#explanations p.moved") == f"before: {before}"
    row = json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('row')"))
    example = site[1].runs[5].describe()["example"]
    assert f"Row {example['row']} of the training data" in page.text_content("main section .faint")
    recording = site[1].runs[5].record(ViewInput(row=row, without=example["row"]))
    assert row["area"] == "180"
    assert page.text_content("#explanations .answer") == recording.summary
    assert page.text_content("#explanations tbody tr:first-child th") == recording.columns[0][0]
    assert page.locator("#explanations tbody").nth(1).locator("tr").count() == len(recording.rows)


def test_wide_evidence_scrolls_in_its_box(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="#explanations .answer", run=4)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].some((box) => box.scrollWidth > box.clientWidth)")


def test_training_is_drawn_and_goes_on(tmp_path: Path, watched: Watched) -> None:
    line = {"step": 1, "loss": 3.0, "lr_multiplier": 0.1, "speed": 100.0, "seconds": 1.0}
    folders = [RunFolder(tmp_path / name).open() for name in ("one", "two")]
    for folder in folders:
        folder.log(**line)
    folders[1].__exit__()
    with served(tmp_path / "one", tmp_path / "two") as (address, _):
        page = watched.open(address)
        assert page.locator("main figure canvas").count() == 3
        assert "one (running)" in page.text_content("main ul")
        folders[0].log(**{**line, "step": 2, "loss": 0.125, "lr": 0.01, "lr_adamw": 0.005, "sample": NASTY})
        page.wait_for_function("() => document.querySelector('main table').textContent.includes('0.125 at step 2')")
        page.locator("main figure canvas").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert "one training loss 0.125" in status(page, "step 2")
        assert page.text_content(".sample") == NASTY
        label = page.get_attribute("figure[data-picture=training-lr] canvas", "aria-label")
        assert label.startswith("learning rate (thin: AdamW) over steps; last values: ")
        assert label.endswith("one learning rate 0.01; one learning rate of AdamW 0.005")
    folders[0].__exit__()


def test_positions_are_drawn(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=2, view="positions")
    assert "Rotary" in page.text_content("main .faint")
    page.locator("main canvas").focus()
    page.keyboard.press("ArrowRight")
    assert status(page, "position 0") == "position 0, dimension 0: 1"


def test_what_is_typed_never_becomes_markup(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=3, view="overview", text=NASTY, attention=NASTY, token=NASTY, mode=NASTY)
    assert page.locator("img").count() == 0
    assert any(NASTY in one for one in page.locator("#answers li").all_text_contents())
    page = watched.open(site[0], wait="#explanations .answer", run=4, row=json.dumps({"city": NASTY}))
    assert page.locator("img").count() == 0
    assert page.locator("#explanations b").count() == 0


def test_broken_links_end_well(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="main p", run=99, view="nonsense", head="x", row="{", **{"with": 98})
    assert page.text_content("main p").startswith("Type a text above")


def test_mistakes_are_told_on_the_page(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], wait="#explanations .answer", run=4)
    page.fill("input[name=area]", "wide")
    page.wait_for_selector("#error:not([hidden])")
    assert "'wide' is not a number" in page.text_content("#error")
    watched.forgive("status of 400")


def test_pictures_are_saved(site: tuple[str, Session], watched: Watched, tmp_path: Path) -> None:
    views = [("alignment", 0, ""), ("overview", 0, ""), ("head", 2, "lines"), ("head", 2, "map"), ("positions", 2, "")]
    for view, run, mode in views:
        page = watched.open(site[0], run=run, view=view, text=NASTY, target="abc", mode=mode)
        for kind in ("png", "svg"):
            with page.expect_download() as coming:
                page.locator(f"[data-save={kind}]").first.click()
            file = tmp_path / f"{view}.{kind}"
            coming.value.save_as(file)
            assert coming.value.suggested_filename.endswith(f".{kind}")
        assert (tmp_path / f"{view}.png").read_bytes().startswith(b"\x89PNG")
        drawn = ElementTree.parse(tmp_path / f"{view}.svg").getroot()
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(drawn)) > 10


def test_tables_are_saved(site: tuple[str, Session], watched: Watched, tmp_path: Path) -> None:
    row = {"area": "120", "city": NASTY}
    page = watched.open(site[0], wait="#explanations .answer", run=4, row=json.dumps(row))
    recording = site[1].runs[4].record(ViewInput(row=row))
    columns, rows = (page.locator("[data-save=csv]").nth(place) for place in (0, 1))
    for button, name in ((columns, "columns"), (rows, "rows")):
        with page.expect_download() as coming:
            button.click()
        assert coming.value.suggested_filename == f"regard-{name}.csv"
        coming.value.save_as(tmp_path / f"{name}.csv")
    with (tmp_path / "columns.csv").open(newline="") as file:
        saved = list(csv.reader(file))
    assert [(name, float(effect)) for name, effect, _ in saved[1:]] == list(recording.columns)
    assert [float(error) for *_, error in saved[1:]] == list(recording.errors)
    with (tmp_path / "rows.csv").open(newline="") as file:
        head, *saved = csv.reader(file)
    assert head == ["row", "weight", recording.target, *recording.names]
    assert [(int(number), float(weight), target, tuple(cells)) for number, weight, target, *cells in saved] == list(
        recording.rows
    )


def test_a_link_leads_back(site: tuple[str, Session], watched: Watched) -> None:
    where = {"attention": "decoder.0.cross", "head": 1, "token": "query-2"}
    page = watched.open(site[0], run=0, view="head", text=TEXT, target="abc", **where)
    status(page, "“c” (2) attends to")
    page.select_option("select[name=as]", "map")
    page.wait_for_selector("figure[data-picture=head-map]")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("figure[data-picture=head-map]")
    assert page.url == address
    assert page.input_value("textarea[name=text]") == TEXT


def test_keyboard_and_labels(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=0, view="alignment", text=TEXT, target="abc")
    page.locator("[role=tab][aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("table.heads")
    assert page.evaluate("document.activeElement.textContent") == "Overview"
    for view in ("alignment", "overview", "head", "positions"):
        watched.open(site[0], run=0, view=view, text=TEXT, target="abc")
        assert page.evaluate(NAMELESS) == [], view
    watched.open(site[0], wait="input[name=groups]", run=0, view="training")
    assert page.evaluate(NAMELESS) == []
    watched.open(site[0], wait="#explanations .answer", run=4)
    assert page.evaluate(NAMELESS) == []
    page.evaluate("document.querySelector('.cells select').closest('label').querySelector('span').remove()")
    assert len(page.evaluate(NAMELESS)) == 1, "what can be chosen is no name"


def test_light_and_dark(site: tuple[str, Session], watched: Watched) -> None:
    page = watched.open(site[0], run=2, view="head", text=TEXT)
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == "rgb(20, 23, 26)"


@pytest.mark.parametrize("name", ["transformer", "gpt", "classes"])
def test_an_exported_file_opens_from_the_disk(
    runs: Runs, tables: tuple[Path, Path], watched: Watched, tmp_path: Path, name: str
) -> None:
    run = tables[0] if name == "classes" else runs[name]
    given = ViewInput(row={"area": "120"}) if name == "classes" else ViewInput(NASTY)
    file = tmp_path / "out.html"
    file.write_text(export_page(Session([OpenRun(run)]), given), encoding="utf-8")
    page = watched.open(file.as_uri(), wait="#explanations .answer" if name == "classes" else "main canvas")
    tabs = page.locator("[role=tab]").all_text_contents()
    for tab in tabs:
        page.click(f"[role=tab]:text-is('{tab}')")
        page.wait_for_selector("main :is(canvas, p)")
        assert page.text_content("#error") == "", tab
    assert page.locator("img").count() == 0
    if name == "gpt":
        page.click("[role=tab]:text-is('Head')")
        page.locator("figure[data-picture=head] canvas").focus()
        page.keyboard.press("ArrowDown")
        status(page, "“<” (0) attends to “<” (0) 1")


def test_a_page_of_another_site_cannot_read(site: tuple[str, Session], browser: Any) -> None:
    """A script elsewhere asks this server, as a malicious page would."""
    page = browser.new_page()
    page.route("http://evil.example/", lambda route: route.fulfill(body="<p>evil", content_type="text/html"))
    page.goto("http://evil.example/")
    got = page.evaluate(f"fetch('{site[0]}api/runs').then(r => r.text()).catch(() => 'refused')")
    page.close()
    assert got == "refused"


def test_patterns_on_the_page_are_those_of_the_model(site: tuple[str, Session], watched: Watched) -> None:
    """The numbers as the page itself unpacks them."""
    page = watched.open(site[0], run=2, view="head", text=TEXT)
    answer = page.evaluate(
        """async () => { const { getJSON, recordInput, unpack } = await import('/page/source.js');
        const { id } = await recordInput(2, { text: 'to be, or not' });
        const head = await getJSON(`api/recordings/${id}/head`, { attention: 'decoder.1.attend', head: 1 });
        return Array.from(unpack(head.weights).values); }"""
    )
    look = site[1].runs[2].record(ViewInput(TEXT)).map("decoder.1.attend")
    assert (torch.tensor(answer).view(len(TEXT), len(TEXT)) - look.pattern[1]).abs().max() <= 1e-6
