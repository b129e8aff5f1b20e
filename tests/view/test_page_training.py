"""The curves of training in a real browser: groups of a study, what is chosen of them, and the link back."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

from regard.cli.view import runs_in
from regard.view.numbers import format_number
from regard.view.open_run import OpenRun
from tests.view.browser import Watched, served
from tests.view.conftest import Runs
from tests.view.studies import save_study
from tests.view.test_page import status

NAMES = ("base", "a", "b", "c", "d", "e", "f", "g")  # more than there are colours
# The table below the curves has a column for each group that is drawn.
DRAWN = """names => { const drawn = [...document.querySelectorAll('main thead th')].map((one) => one.textContent);
    return drawn.slice(1).join() === names.join(); }"""


def chosen(page: Any) -> list[str]:
    return page.eval_on_selector_all("input[name=groups]:checked", "boxes => boxes.map(box => box.value)")


def test_seeds_of_a_study_are_one_group_and_groups_are_chosen(runs: Runs, tmp_path: Path, watched: Watched) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], NAMES)
    with served(*runs_in(study)) as (address, _):
        page = watched.open(address)
        assert page.text_content("[role=tab][aria-selected=true]") == "Training"
        assert chosen(page) == list(NAMES[:6])
        assert not any("/api/runs/14/" in request for request in watched.requests), "what is not drawn is not asked for"
        page.get_by_role("button", name="Show none").press("Enter")
        page.wait_for_function("() => !document.querySelector('main figure')")
        box = page.get_by_label("base, 2 seeds")
        box.focus()
        page.keyboard.press("Space")
        page.wait_for_selector("figure[data-picture=training-loss]")
        assert page.evaluate("document.activeElement.value") == "base", "the keyboard stays where it was"
        page.get_by_label("g, 2 seeds").check()
        page.wait_for_function(DRAWN, arg=["base", "g"])
        page.locator("figure[data-picture=training-loss] canvas").focus()
        page.keyboard.press("ArrowRight")
        line = status(page, "step 10")
        assert "base training loss 1.5 (1 to 2, 2 seeds)" in line
        assert "g training loss 12 (8 to 16, 2 seeds)" in line
        assert page.locator("figure[data-picture=training-lr]").count() == 1
        assert page.locator("figure[data-picture=training-lr_multiplier]").count() == 0


def test_where_there_is_less_room_a_chart_is_narrower_and_its_text_as_large(
    runs: Runs, tmp_path: Path, watched: Watched
) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], ("base",))
    with served(*runs_in(study)) as (address, _):
        page = watched.open(address)
        canvas = page.locator("figure[data-picture=training-loss] canvas")
        for room in (1400, 930, 400):
            page.set_viewport_size({"width": room, "height": 800})
            watched.settle()
            box = canvas.bounding_box()
            assert box["x"] + box["width"] <= room
            assert 300 <= box["width"] <= 640
            assert abs(box["height"] - 300) < 1
            assert abs(box["width"] - canvas.evaluate("canvas => canvas.width / devicePixelRatio")) < 1


def logged(folder: Path, name: str, last: int, every: int, loss: float = 4.0) -> Path:
    """A run whose loss at step s is `loss` + s / 1000."""
    run = folder / name
    run.mkdir(parents=True)
    steps = range(every, last + 1, every)
    lines = [
        {"step": step, "loss": loss + step / 1000, "lr": 2.8152e-6, "lr_multiplier": 1.0, "speed": 12345.678}
        for step in steps
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def test_the_read_out_is_inside_the_plot_and_gives_only_logged_values(tmp_path: Path, watched: Watched) -> None:
    runs = [logged(tmp_path, "long", 2000, 20), logged(tmp_path, "short", 300, 30, 5.0)]
    with served(*runs) as (address, _):
        page = watched.open(address)
        figure = page.locator("figure[data-picture=training-loss]")
        for width in (1200, 420):
            page.set_viewport_size({"width": width, "height": 700})
            watched.settle()
            box = figure.locator("canvas").bounding_box()
            for share, expected in ((0.9, ["long"]), (0.16, ["long", "short"]), (0.5, ["long"])):
                page.mouse.move(box["x"] + box["width"] * share, box["y"] + 100)
                page.wait_for_function("() => !document.querySelector('.readout').hidden")
                watched.settle()
                rows = figure.locator(".readout tr .name").all_text_contents()
                assert [row.split()[0] for row in rows] == expected, "a run has no value after its last step"
                inside = figure.locator(".readout").bounding_box()
                assert inside["x"] >= box["x"] - 1
                assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 1
                assert inside["y"] >= box["y"]
                assert inside["y"] + inside["height"] <= box["y"] + box["height"]
                step = int(figure.locator(".readout strong").text_content().removeprefix("step ").replace(",", ""))
                value = figure.locator(".readout tr .number").first.text_content()
                assert value.partition(" at ")[0] == format_number(4 + float(value.partition(" at ")[2] or step) / 1000)
        assert "short" not in status(page, "step")
        figure.locator("canvas").focus()
        page.mouse.move(2, 2)
        page.wait_for_function("() => document.querySelector('.readout').hidden")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")  # step 30, where only the short run was logged
        assert status(page, "step 30:") == "step 30: long training loss 4.04; short training loss 5.03"
        watched.settle()  # the read-out is drawn in the frame after
        assert figure.locator(".readout .number").all_text_contents() == ["4.04 at 40", "5.03"]


def test_tick_labels_of_a_chart_do_not_touch(tmp_path: Path, watched: Watched) -> None:
    """Whatever the range, and wherever a label ends."""
    for number, (loss, last) in enumerate(((1.1, 100), (0.0001, 90_000), (3.0, 20_000), (8.0, 40))):
        run = logged(tmp_path, f"run{number}", last, max(1, last // 20), loss)
        with served(run) as (address, _):
            page = watched.open(address)
            for width in (1200, 400):
                page.set_viewport_size({"width": width, "height": 700})
                watched.settle()
                with page.expect_download() as coming:
                    page.locator("figure[data-picture=training-loss] [data-save=svg]").click()
                coming.value.save_as(tmp_path / "chart.svg")
                left, below = tick_labels(tmp_path / "chart.svg")
                assert len(left) >= 2
                assert len(below) >= 2
                assert len({text for _, text in left}) == len(left)
                assert all(after - before >= 13 for (before, _), (after, _) in pairwise(sorted(left)))
                ends = [(x - 3.3 * len(text), x + 3.3 * len(text)) for x, text in sorted(below)]
                assert all(before[1] + 3 < after[0] for before, after in pairwise(ends))
                assert ends[0][0] >= 0
                size = float(ElementTree.parse(tmp_path / "chart.svg").getroot().attrib["width"])
                assert ends[-1][1] <= size


def tick_labels(file: Path) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """Place and text of the labels of the vertical and of the horizontal axis."""
    texts = [part for part in ElementTree.parse(file).getroot() if part.tag.endswith("text")]
    places = [
        (part.attrib["text-anchor"], re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", part.attrib["transform"]), part.text)
        for part in texts
    ]
    left = [(float(place[2]), text) for anchor, place, text in places if anchor == "end" and text != "steps"]
    below = [(float(place[1]), text) for anchor, place, text in places if anchor == "middle"]
    return left, below


def test_a_link_leads_back_to_the_groups_and_the_axis(runs: Runs, tmp_path: Path, watched: Watched) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], NAMES)
    with served(*runs_in(study)) as (address, _):
        page = watched.open(address, over="seconds", groups=json.dumps(["b", "g", "gone"]), view="training")
        assert chosen(page) == ["b", "g"]
        assert page.input_value("select[name=over]") == "seconds"
        page.get_by_label("b, 2 seeds").uncheck()
        page.wait_for_function(DRAWN, arg=["g"])
        page.select_option("select[name=over]", "steps")
        page.wait_for_function("() => !location.hash.includes('over')")
        assert parse_qs(page.url.partition("#")[2])["groups"] == ['["g"]']
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        page.wait_for_selector("main canvas")
        assert chosen(page) == ["g"]
        page = watched.open(address, groups="nonsense", over="nonsense", view="training")
        assert chosen(page) == list(NAMES[:6])


def test_curves_are_saved_with_what_their_colours_mean(runs: Runs, tmp_path: Path, watched: Watched) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], NAMES)
    with served(*runs_in(study)) as (address, _):
        page = watched.open(address, groups=json.dumps(["base", "f"]))
        for kind in ("png", "svg"):
            with page.expect_download() as coming:
                page.locator(f"figure[data-picture=training-loss] [data-save={kind}]").click()
            coming.value.save_as(tmp_path / f"curves.{kind}")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
        drawn = list(ElementTree.parse(tmp_path / "curves.svg").getroot())
        assert {"base", "f"} <= {part.text for part in drawn}
        lines = [part.attrib for part in drawn if part.get("stroke-width") == "1.6"]
        assert [line["stroke-dasharray"] for line in lines] == ["none", "7 3"], "the seventh has the first one's colour"
        assert lines[0]["stroke"] == lines[1]["stroke"]
        assert sum(part.get("fill-opacity") == "0.18" for part in drawn) == 2, "a band for each group"


def test_describing_a_study_loads_no_weights(runs: Runs, tmp_path: Path) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], ("base", "no-norm"))
    descriptions = [OpenRun(run).describe() for run in runs_in(study)]
    variants = [("study", name) for name in ("base", "base", "no-norm", "no-norm")]
    assert [(one["study"], one["variant"]) for one in descriptions] == variants
    assert all(one["kind"] == "text" and "parameters" in one["model"] and not one["problem"] for one in descriptions)
    assert descriptions[0]["model"] == OpenRun(runs["gpt"]).describe()["model"]
    assert OpenRun(runs["gpt"]).describe()["study"] is None
