"""The curves of training in a real browser: groups of a study, what is chosen of them, and the link back."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

from regard.cli.view import runs_in
from regard.view.open_run import OpenRun
from tests.view.browser import Watched, served
from tests.view.conftest import Runs
from tests.view.studies import save_study
from tests.view.test_page import said

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
        told = said(page, "step 10")
        assert "base training loss 1.5 (1 to 2, 2 seeds)" in told
        assert "g training loss 12 (8 to 16, 2 seeds)" in told
        assert page.locator("figure[data-picture=training-lr]").count() == 1
        assert page.locator("figure[data-picture=training-lr_multiplier]").count() == 0


def test_where_there_is_less_room_a_chart_shrinks_and_keeps_its_shape(
    runs: Runs, tmp_path: Path, watched: Watched
) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], ("base",))
    with served(*runs_in(study)) as (address, _):
        page = watched.open(address)
        canvas = page.locator("figure[data-picture=training-loss] canvas")
        for room in (1400, 930, 400):
            page.set_viewport_size({"width": room, "height": 800})
            page.wait_for_timeout(100)
            box = canvas.bounding_box()
            assert abs(box["width"] / box["height"] - 640 / 300) < 0.02


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
    told = [OpenRun(run).describe() for run in runs_in(study)]
    assert [(one["study"], one["variant"]) for one in told] == [("study", "base")] * 2 + [("study", "no-norm")] * 2
    assert all(one["kind"] == "text" and "parameters" in one["model"] and not one["problem"] for one in told)
    assert told[0]["model"] == OpenRun(runs["gpt"]).describe()["model"]
    assert OpenRun(runs["gpt"]).describe()["study"] is None
