"""Families in a real browser: chosen, pasted or dropped, hovered, compared, linked to, exported."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.tasks.contacts.family_input import read_family_input
from regard.tasks.recording import ViewedFamily, ViewInput
from regard.view.export import export_page
from regard.view.numbers import format_number, format_percent
from regard.view.open_run import OpenRun
from regard.view.session import Session
from tests.proteins.make import write_family, write_structure
from tests.view.browser import NAMELESS, Watched, served
from tests.view.conftest import Runs
from tests.view.runs import NASTY
from tests.view.test_page import pixels, status

CONTACTS = "figure[data-picture=contacts] canvas"


@pytest.fixture(scope="module")
def alignment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families")
    path = write_family(folder, "one")
    write_structure(folder / "x.pdb", path)
    return path


@pytest.fixture(scope="module")
def site(runs: Runs) -> Iterator[tuple[str, Session]]:
    with served(runs["family"], runs["family-rows"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def tall(watched: Watched) -> None:
    """Whole maps are on the screen, so that the pointer can reach every cell."""
    watched.page.set_viewport_size({"width": 1200, "height": 1600})


@pytest.fixture
def link(site: tuple[str, Session], alignment: Path) -> dict[str, Any]:
    """The state of a page that shows the family with its structure."""
    family = read_family_input(alignment, None)
    site[1].keep_input(ViewInput(family=family))
    assert family.structure is not None
    return {"alignment": family.alignment.digest, "structure": family.structure.digest}


def family_of(session: Session, run: int, alignment: Path) -> ViewedFamily:
    family = session.runs[run].record(ViewInput(family=read_family_input(alignment, None))).family
    assert family is not None
    return family


def pair_text(family: ViewedFamily, i: int, j: int) -> str:
    assert family.distance is not None
    apart = float(family.distance[i, j])
    return (
        f"{family.residues[i]} and {family.residues[j]}: probability of a contact "
        f"{format_percent(float(family.contact[i, j]))}; distance {format_number(apart, 3)} Å, "
        f"{'a contact' if apart < 8 else 'no contact'}"
    )


def point(page: Any, row: float, column: float, canvas: str = CONTACTS, number: int = 0) -> None:
    """Move to a cell of a map of 34 residues: it lies between labels on the left and the margin on the right."""
    box = page.locator(canvas).nth(number).bounding_box()
    left, right, bottom = 26 + 3 * 6.8, 30, 46
    cell = (box["width"] - left - right) / 34
    top = box["height"] - bottom - 34 * cell
    page.mouse.move(box["x"] + left + (column + 0.5) * cell, box["y"] + top + (row + 0.5) * cell)


def test_a_chosen_file_a_structure_and_the_marked_pair(
    site: tuple[str, Session], watched: Watched, alignment: Path
) -> None:
    address, session = site
    family = family_of(session, 0, alignment)
    page = watched.open(address, wait="input[name=alignment]", run=0)
    assert page.text_content("main p").startswith("Choose or paste an alignment above")
    page.set_input_files("input[name=alignment]", alignment)
    page.wait_for_selector(CONTACTS)
    assert page.locator("select[name='above the diagonal'] option").all_text_contents() == [
        "mean-field couplings",
        "mutual information",
    ]
    page.set_input_files("input[name=structure]", alignment.with_name("x.pdb"))
    page.wait_for_selector("select[name='above the diagonal'] option:text-is('structure')", state="attached")
    watched.settle()
    bare = pixels(page, CONTACTS)
    point(page, 25, 8)
    status(page, pair_text(family, 8, 25))
    watched.settle()
    assert pixels(page, CONTACTS) != bare, "the pair is marked"
    point(page, 8, 25)
    status(page, pair_text(family, 8, 25))
    point(page, 4, 2)
    status(page, "nearer than 6 residues in the chain, not predicted")
    page.locator(CONTACTS).focus()
    point(page, 30, 3)
    page.mouse.down()
    page.mouse.up()
    page.keyboard.press("ArrowUp")
    status(page, pair_text(family, 3, 29))
    assert "token=pair-29-3" in page.url
    page.mouse.move(0, 0)
    watched.settle()
    state = page.url
    page.goto("about:blank")
    page.goto(state)
    page.wait_for_selector(CONTACTS)
    status(page, pair_text(family, 3, 29))
    page.click("text='Without the structure'")
    page.wait_for_selector("select[name='above the diagonal'] option:text-is('structure')", state="detached")
    assert "structure" not in page.url
    assert page.evaluate(NAMELESS) == []


def test_attention_between_residues_beside_the_contacts(
    site: tuple[str, Session], watched: Watched, alignment: Path, link: dict[str, Any]
) -> None:
    family = family_of(site[1], 0, alignment)
    page = watched.open(site[0], run=0, view="residues", **link)
    beside = "figure[data-picture=residues] canvas"
    clean = [pixels(page, canvas) for canvas in (CONTACTS, beside)]

    def weights(name: str, head: int | None, sequence: int | None, i: int, j: int) -> str:
        pattern = family.rows[name] if head is None else family.rows[name][head : head + 1]
        pattern = (pattern.mean(1) if sequence is None else pattern[:, sequence]).mean(0)
        one, other = (format_number(float(weight), 2) for weight in (pattern[i, j], pattern[j, i]))
        left, right = family.residues[i], family.residues[j]
        return f"attention {left} → {right} {one}, {right} → {left} {other} (uniform {format_number(1 / 34, 2)})"

    point(page, 20, 5)
    status(page, weights("blocks.1.rows", None, None, 20, 5))
    watched.settle()
    marked = [pixels(page, canvas) for canvas in (CONTACTS, beside)]
    assert all(one != other for one, other in zip(clean, marked, strict=True)), "in both maps"
    page.select_option("select[name=attention]", "blocks.0.rows")
    page.select_option("select[name=head]", "1")
    page.select_option("select[name=sequence]", "3")
    page.wait_for_function("() => location.hash.includes('sequence=3')")
    watched.settle()
    point(page, 20, 5, beside)
    status(page, weights("blocks.0.rows", 1, 3, 20, 5))
    page.click("section table button >> nth=2")
    page.wait_for_function(
        "() => location.hash.includes('attention=blocks.1.rows') && location.hash.includes('head=0')"
    )
    watched.settle()
    assert page.locator("section table button[aria-pressed=true]").count() == 1
    assert page.evaluate(NAMELESS) == []


def test_attention_between_sequences_beside_their_identity(
    site: tuple[str, Session], watched: Watched, alignment: Path, link: dict[str, Any]
) -> None:
    family = family_of(site[1], 0, alignment)
    page = watched.open(site[0], run=0, view="sequences", **link)

    def text(name: str, head: int | None, residue: int | None, query: int, key: int) -> str:
        pattern = family.columns[name] if head is None else family.columns[name][head : head + 1]
        pattern = (pattern.mean(1) if residue is None else pattern[:, residue]).mean(0)
        names = [family.sequences[one] for one in (query, key)]
        alike = format_percent(float(family.identity[query, key]))
        weight = f"{format_number(float(pattern[query, key]), 3)} (uniform 0.2)"
        return f"“{names[0]}” attends to “{names[1]}” with {weight}; identity {alike}"

    page.locator("figure[data-picture=identity] canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    status(page, text("blocks.1.columns", None, None, 1, 0))
    page.select_option("select[name=residue]", "7")
    page.select_option("select[name=head]", "0")
    page.wait_for_function("() => location.hash.includes('head=0')")
    watched.settle()
    page.locator("figure[data-picture=sequences] canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    status(page, text("blocks.1.columns", 0, 7, 1, 2))
    assert page.locator("section table button").count() == 4
    assert page.evaluate(NAMELESS) == []


def test_two_runs_mark_the_same_pair(
    site: tuple[str, Session], watched: Watched, alignment: Path, link: dict[str, Any]
) -> None:
    page = watched.open(site[0], run=0, view="contacts", **link, **{"with": 1})
    page.wait_for_function("() => document.querySelectorAll('main canvas').length == 2")
    watched.settle()
    clean = [page.locator(CONTACTS).nth(number).evaluate("one => one.toDataURL()") for number in (0, 1)]
    point(page, 28, 4, number=1)
    first, second = (format_percent(float(family_of(site[1], run, alignment).contact[4, 28])) for run in (0, 1))
    shown = status(page, f"family: probability of a contact {first}")
    assert f"family-rows: probability of a contact {second}" in shown
    watched.settle()
    for number in (0, 1):
        assert page.locator(CONTACTS).nth(number).evaluate("one => one.toDataURL()") != clean[number]
    page.click("[role=tab]:text-is('Sequences')")
    page.wait_for_selector("text='No blocks.1.columns in this model.'")
    page.click("[role=tab]:text-is('Overview')")
    page.wait_for_selector("table.heads")
    watched.settle()


def test_pasted_and_dropped_alignments(site: tuple[str, Session], watched: Watched, alignment: Path) -> None:
    page = watched.open(site[0], wait="textarea[name=pasted]", run=0)
    text = "".join(f">{NASTY if row == 0 else row}\nMKVLAWRRRKKLDDE{'MK'[row % 2]}\n" for row in range(3))
    page.fill("textarea[name=pasted]", text)
    page.click("button:text-is('Show')")
    page.wait_for_selector(CONTACTS)
    assert "pasted alignment" in page.text_content("#answers")
    assert "it has 3 sequences; with fewer than 64" in page.text_content("#answers")
    assert page.input_value("textarea[name=pasted]") == text
    page.click("[role=tab]:text-is('Sequences')")
    page.wait_for_selector("figure[data-picture=identity] canvas")
    page.locator("figure[data-picture=identity] canvas").focus()
    page.keyboard.press("ArrowDown")
    status(page, "“<img” attends to “<img”")
    assert page.locator("img").count() == 0
    drop = """([data, name]) => { const files = new DataTransfer();
        const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
        files.items.add(new File([bytes], name));
        document.querySelector('main').dispatchEvent(
            new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })); }"""
    page.click("[role=tab]:text-is('Contacts')")
    for name in ("one.a3m", "x.pdb"):
        file = alignment.with_name(name)
        page.evaluate(drop, [base64.b64encode(file.read_bytes()).decode(), name])
        kind = "structure" if name == "x.pdb" else "alignment"
        page.wait_for_function("kind => new URLSearchParams(location.hash.slice(1)).has(kind)", arg=kind)
        watched.settle()
    assert "one.a3m" in page.text_content("#answers")
    page.wait_for_selector("select[name='above the diagonal'] option:text-is('structure')", state="attached")


def test_bad_files_are_told_and_change_nothing(
    site: tuple[str, Session], watched: Watched, link: dict[str, Any]
) -> None:
    page = watched.open(site[0], run=0, **link)
    for data, message in (
        (b">a\nMKV\n>b\nM\n", "bad.a3m: sequence 'b' has 1 columns, the first 3"),
        (b"", "bad.a3m: is empty"),
    ):
        page.set_input_files("input[name=alignment]", {"name": "bad.a3m", "mimeType": "text/plain", "buffer": data})
        page.wait_for_function("words => document.getElementById('error').textContent.startsWith(words)", arg=message)
        assert link["alignment"] in page.url
        assert page.locator(CONTACTS).count() == 1
    page.set_input_files(
        "input[name=structure]", {"name": "bad.pdb", "mimeType": "text/plain", "buffer": b"no structure"}
    )
    page.wait_for_function("() => document.getElementById('error').textContent.startsWith('bad.pdb: ')")
    page.click("text='Without the structure'")
    page.wait_for_function("() => document.getElementById('error').textContent === ''")
    watched.forgive("status of 400")


def test_a_long_chain_is_shown_in_stretches(
    site: tuple[str, Session], watched: Watched, link: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.tasks.contacts.predict.MAX_LENGTH", 20)
    page = watched.open(site[0], run=0, **link)
    options = page.locator("select[name=residues] option").all_text_contents()
    assert options == ["1 to 20 of 34", "11 to 30 of 34", "15 to 34 of 34"]
    assert "residues 1 to 20 of 34 are shown" in page.text_content("#answers")
    page.select_option("select[name=residues]", "15")
    page.wait_for_function("() => document.getElementById('answers').textContent.includes('residues 15 to 34')")
    watched.settle()
    page.locator(CONTACTS).focus()
    page.keyboard.press("ArrowDown")
    assert "15 and " in status(page, "nearer than 6")


def test_an_exported_family_opens_from_the_disk(runs: Runs, watched: Watched, alignment: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    session = Session([OpenRun(runs["family"])])
    family = read_family_input(alignment, None)
    file.write_text(export_page(session, ViewInput(family=family)), encoding="utf-8")
    page = watched.open(file.as_uri(), wait=CONTACTS)
    for tab in page.locator("[role=tab]").all_text_contents():
        page.click(f"[role=tab]:text-is('{tab}')")
        page.wait_for_selector("main :is(canvas, p)")
        watched.settle()
        assert page.text_content("#error") == "", tab
    for view, heads in (("Residues", "blocks.0.rows"), ("Sequences", "blocks.0.columns")):
        page.click(f"[role=tab]:text-is('{view}')")
        page.select_option("select[name=attention]", heads)
        page.select_option("select[name=head]", "1")
        watched.settle()
        assert page.text_content("#error") == ""
    assert page.locator("select[name=sequence]").count() == 0
    assert page.locator("input[type=file]").count() == 0
