"""Optional dependencies: what is missing is named in one line, with the extra that brings it."""

import sys

import pytest

from regard.core.errors import UserError
from regard.core.extras import available, require
from tests.command import regard


def test_what_is_installed_is_silent() -> None:
    require("json", "importlib.util", group="view")
    assert available("json")


def test_what_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not available("json", "no_such_module", "no_such_module.part")
    with pytest.raises(UserError) as caught:
        require("no_such_one", "json", "no_such_other", group="view")
    assert str(caught.value) == "regard view needs no_such_one and no_such_other: pip install 'regard[view]'"
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UserError, match=r"reading images needs pillow: pip install 'regard\[images\]'"):
        require("PIL", group="images", feature="reading images")


def test_view_without_fastapi_says_what_to_install(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("regard.view.routes", "regard.view.server"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert regard("view", tmp_path) == 1
    assert capsys.readouterr().err.endswith("regard view needs fastapi and uvicorn: pip install 'regard[view]'\n")
    assert regard("view", tmp_path, "--export", tmp_path / "a.html") == 0
    assert (tmp_path / "a.html").exists()
