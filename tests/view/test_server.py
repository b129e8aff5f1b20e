"""The server gives what was recorded, to the page alone: no other site, no other name, no other file."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as some

from regard.core.errors import UserError
from regard.view import page
from regard.view.guard import is_server_name, refusal
from regard.view.open_run import OpenRun
from regard.view.routes import make_app
from regard.view.server import bind
from regard.view.session import Session
from tests.view.conftest import Runs
from tests.view.runs import NASTY
from tests.view.test_pictures import unpacked

HERE = "http://127.0.0.1:7417"


def client(*paths: Path, host: str = "127.0.0.1") -> TestClient:
    return TestClient(make_app(Session([OpenRun(path) for path in paths]), host), base_url=HERE)


def test_from_an_input_to_a_head(runs: Runs) -> None:
    session = Session([OpenRun(runs["transformer"])])
    web = TestClient(make_app(session), base_url=HERE)
    assert web.get("/api/runs").json()["runs"][0]["kind"] == "pair"
    answer = web.post("/api/runs/0/record", json={"text": "abc", "target": "xy"}).json()
    assert answer["answer"] == "xy"
    [last] = [look for look in answer["maps"] if look["name"] == "decoder.1.cross"]
    assert last == {"name": "decoder.1.cross", "part": "cross", "heads": 2, "queries": 3, "keys": 4, "cross": True}
    head = web.get(f"/api/recordings/{answer['id']}/head", params={"attention": "decoder.1.cross", "head": 1}).json()
    look = session.recording(answer["id"]).map("decoder.1.cross")
    assert look is not None
    assert (unpacked(head["weights"]) - look.pattern[1]).abs().max() <= 1e-6
    assert len(web.get(f"/api/recordings/{answer['id']}/overview").json()["maps"]) == 6
    assert web.get(f"/api/recordings/{answer['id']}/alignment").json()["labels"]["queries"] == ["x", "y", "⟨end⟩"]
    assert web.get("/api/runs/0/positions").json()["pictures"][0]["stack"] == "encoder"
    assert web.get("/api/runs/0/training").json() == {"curves": {}, "samples": [], "running": False}


def test_a_row_rests_on_rows(tables: tuple[Path, Path]) -> None:
    web = client(*tables)
    runs = web.get("/api/runs").json()["runs"]
    assert [run["kind"] for run in runs] == ["row", "row"]
    assert [column["name"] for column in runs[0]["columns"]] == ["area", "rooms", "city", "sold"]
    row = {column["name"]: column["value"] for column in runs[0]["columns"]}
    answer = web.post("/api/runs/0/record", json={"row": row}).json()
    assert answer["kind"] == "explanation"
    assert answer["target"] == "size"
    assert sum(probability for _, probability in answer["probabilities"]) == pytest.approx(1, abs=1e-5)
    largest = max(probability for _, probability in answer["probabilities"])
    assert answer["base"] + sum(effect for _, effect in answer["columns"]) == pytest.approx(largest, abs=1e-5)
    assert [weight for _, weight, *_ in answer["rows"]] == sorted((row[1] for row in answer["rows"]), reverse=True)
    number = web.post("/api/runs/1/record", json={"row": {**row, "area": "150"}}).json()
    assert isinstance(number["prediction"], float)
    for cells, words in (({"area": "wide"}, "'wide' is not a number"), ({"aera": "1"}, "no column 'aera'")):
        wrong = web.post("/api/runs/0/record", json={"row": cells})
        assert wrong.status_code == 400
        assert words in wrong.json()["error"]


def test_evidence_is_that_of_the_estimator(tables: tuple[Path, Path]) -> None:
    import regard
    from regard.tasks.recording import ViewInput
    from regard.view.row_explanation import as_row, explain_row, form_fields

    estimator = regard.load(tables[0])
    row = {field["name"]: field["value"] for field in form_fields(estimator)}
    frame = as_row(estimator, row)
    [evidence] = estimator.evidence(frame, 12)
    explanation = explain_row(estimator, ViewInput(row=row))
    assert [number for number, *_ in explanation.rows] == evidence.rows.index.tolist()
    assert [weight for _, weight, *_ in explanation.rows] == pytest.approx(evidence.rows["weight"].tolist(), abs=1e-6)
    assert dict(explanation.columns) == pytest.approx(evidence.columns["effect"].to_dict(), abs=1e-6)
    assert explanation.prediction == estimator.predict(frame)[0]


def test_the_page_begins_with_a_row_that_is_left_out(tables: tuple[Path, Path]) -> None:
    web = client(tables[0])
    [described] = web.get("/api/runs").json()["runs"]
    example = described["example"]
    row = {field["name"]: field["value"] for field in described["columns"]}
    answer = web.post("/api/runs/0/record", json={"row": row, "without": example["row"]}).json()
    known = web.post("/api/runs/0/record", json={"row": row}).json()
    assert answer["input"]["without"] == example["row"]
    assert answer["context_rows"] <= known["context_rows"]
    assert answer["prediction"] is not None
    for edited in (row, {**row, "area": str(float(row["area"]) + 1)}):  # also when it is edited
        left_out = web.post("/api/runs/0/record", json={"row": edited, "without": example["row"]}).json()
        assert example["row"] not in [number for number, *_ in left_out["rows"]]
        assert not any("this row itself" in note for note in left_out["notes"])
    order = [name for name, _ in answer["columns"]]
    assert answer["names"][answer["keys"] :] == [name for name in order if name in answer["names"][answer["keys"] :]]
    assert len(answer["errors"]) == len(order)


def test_of_several_targets_the_first_is_shown_and_told() -> None:
    import numpy as np

    from regard.tables import NPTClassifier
    from regard.tasks.recording import ViewInput
    from regard.view.row_explanation import as_row, explain_row, form_fields

    table = np.random.default_rng(0).normal(size=(30, 2))
    estimator = NPTClassifier(mode="scratch", time_limit=1, random_state=0).fit(table, (table > 0).astype(str))
    row = {field["name"]: field["value"] for field in form_fields(estimator)}
    explanation = explain_row(estimator, ViewInput(row=row))
    frame = as_row(estimator, row)
    [evidence] = estimator.evidence(frame, 12)[0]
    assert explanation.prediction == estimator.predict(frame)[0, 0]
    assert sum(probability for _, probability in explanation.probabilities) == pytest.approx(1, abs=1e-5)
    assert [number for number, *_ in explanation.rows] == evidence.rows.index.tolist()
    assert "the first of 2 targets; `regard explain` shows all" in explanation.notes


def test_mistakes_are_one_line(runs: Runs) -> None:
    web = client(runs["gpt"])
    for path, words in (
        ("/api/runs/7/training", "run 7: there are 1 runs"),
        ("/api/recordings/5/overview", "recording 5: no longer in memory"),
    ):
        answer = web.get(path)
        assert answer.status_code == 400
        assert words in answer.json()["error"]
    assert web.post("/api/runs/0/record", json={"text": 5}).status_code == 422
    assert web.post("/api/runs/0/record", content=b"{", headers={"content-type": "application/json"}).status_code == 422


def test_a_run_without_weights_shows_its_curves(tmp_path: Path, runs: Runs) -> None:
    run = tmp_path / "young"
    run.mkdir()
    (run / "config.yaml").write_bytes((runs["gpt"] / "config.yaml").read_bytes())
    (run / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0, "lr_multiplier": 1.0, "seconds": 1.0}\n')
    web = client(run)
    description = web.get("/api/runs").json()["runs"][0]
    assert "has no model.safetensors yet" in description["problem"]
    assert web.get("/api/runs/0/training").json()["curves"]["loss"]["values"] == [2.0]


def test_better_weights_are_loaded_again(tmp_path: Path, runs: Runs) -> None:
    import os
    import shutil

    run = tmp_path / "run"
    shutil.copytree(runs["gpt"], run)
    shown = OpenRun(run)
    first = shown.loaded()
    assert shown.loaded() is first
    os.utime(run / "model.safetensors", ns=(1, 1))
    assert shown.loaded() is not first


@pytest.mark.parametrize(
    "path",
    [
        "/page/../server.py", "/page/..%2fserver.py", "/page/%2e%2e/server.py", "/page/..%5cserver.py",
        "/page/__init__.py",
        "/page//etc/passwd", "/page/%2fetc%2fpasswd", "/page/", "/page/index.html%00", "/../regard/view/server.py",
        "/api/runs/../../config.yaml", "/docs", "/openapi.json", "/page/main.js/..", "/api/recordings/..%2f0/overview",
    ],
)  # fmt: skip
def test_there_are_no_other_files(runs: Runs, path: str) -> None:
    answer = client(runs["gpt"]).get(path)
    assert answer.status_code in (404, 422)
    assert "def " not in answer.text
    assert "root:" not in answer.text


def test_a_link_among_the_pages_is_not_followed(tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.html").write_text("secret")
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("index")
    (folder / "leak.html").symlink_to(tmp_path / "secret.html")
    monkeypatch.setattr(page, "FOLDER", folder)
    web = client(runs["gpt"])
    assert web.get("/").text == "index"
    assert web.get("/page/leak.html").status_code == 404


def test_every_answer_has_the_strict_policy(runs: Runs) -> None:
    web = client(runs["gpt"])
    for path in ("/", "/page/main.js", "/api/runs", "/nothing"):
        headers = web.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in headers["content-security-policy"]


def test_other_names_and_other_sites_are_refused(runs: Runs) -> None:
    web = client(runs["gpt"])
    foreign = (
        "evil.example",
        "evil.example:7417",
        "127.0.0.1.evil.example",
        "10.0.0.1:7417",
        "",
        "[::1",
        "localhost.evil",
    )
    for host in foreign:
        assert web.get("/api/runs", headers={"host": host}).status_code == 421, host
    for host in ("localhost:7417", "127.0.0.1", "[::1]:7417", "127.0.0.2:80"):
        assert web.get("/api/runs", headers={"host": host}).status_code == 200, host
    assert web.get("/api/runs", headers={"origin": "http://evil.example"}).status_code == 403
    assert web.get("/api/runs", headers={"origin": "null"}).status_code == 403
    assert web.get("/api/runs", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert web.get("/api/runs", headers={"origin": HERE}).status_code == 200


def test_only_bounded_json_is_taken(runs: Runs) -> None:
    web = client(runs["gpt"])
    body = json.dumps({"text": "a"})
    assert web.post("/api/runs/0/record", content=body, headers={"content-type": "text/plain"}).status_code == 415
    large = {"content-type": "application/json", "content-length": str(10**9)}
    expected = 413, "the request has 1,000,000,000 bytes, more than 4,194,304"
    assert refusal("POST", {"host": "localhost", **large}, "127.0.0.1") == expected
    assert refusal("POST", {"host": "localhost", "content-type": "application/json"}, "127.0.0.1") is not None
    assert web.post("/api/runs/0/record", content=body, headers={"content-type": "application/json"}).status_code == 200


@given(host=some.text(max_size=30))
def test_no_name_but_our_own_is_our_own(host: str) -> None:
    if is_server_name(host, "127.0.0.1"):
        assert "localhost" in host.lower() or "127." in host or "::" in host or "0:0" in host


def test_served_to_others_it_answers_to_addresses() -> None:
    assert is_server_name("192.168.0.4:7417", "0.0.0.0")
    assert is_server_name("box.lan:7417", "box.lan")
    assert not is_server_name("evil.example", "0.0.0.0")


def test_ports_are_taken_or_told() -> None:
    with bind("127.0.0.1", 0) as place:
        place.listen()
        port = place.getsockname()[1]
        assert place.getsockname()[0] == "127.0.0.1"
        with pytest.raises(UserError, match=f"127.0.0.1:{port}: cannot listen"):
            bind("127.0.0.1", port)
    with pytest.raises(UserError, match="cannot listen"):
        bind("127.0.0.1", 99999)


def test_old_recordings_leave_when_memory_is_short(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.tasks.recording import ViewInput
    from regard.view import session as session_module

    session = Session([OpenRun(runs["gpt"])])
    size = 2 * 2 * 5 * 5 * 4
    monkeypatch.setattr(session_module, "RECORDING_BYTES", 2 * size)
    numbers = [session.record(0, ViewInput("abcde"))["id"] for _ in range(2)]
    session.recording(numbers[0])  # asked for again, so the other is older
    session.record(0, ViewInput("abcde"))
    session.recording(numbers[0])
    with pytest.raises(UserError, match="no longer in memory"):
        session.recording(numbers[1])


def test_what_is_typed_comes_back_as_data(runs: Runs) -> None:
    web = client(runs["label"])
    answer = web.post("/api/runs/0/record", json={"text": NASTY})
    assert answer.headers["content-type"] == "application/json"
    assert NASTY in [name for name, _ in answer.json()["probabilities"]]
