"""What regard says about itself: the doctor, and completion by a real shell."""

import json
import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from regard import doctor
from regard.core.errors import ConfigError
from regard.tables.network import pretrained
from regard.train import Training
from regard.train.precision import choose
from tests.command import regard


def test_the_doctor_finds_this_machine_well(capsys: pytest.CaptureFixture[str]):
    assert regard("doctor") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(doctor.CHECKS)
    assert all(line.split()[0] in ("ok", "hint") for line in lines), lines
    assert regard("doctor", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result) == list(doctor.CHECKS)
    assert re.search(r": \d,\d{3},\d{3} parameters, \d\.\d MB in", result["weights"]["message"])
    assert result["libraries"]["message"].startswith("torch ")


def test_what_is_broken_is_named_and_the_rest_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(pretrained, "FOLDER", tmp_path)
    assert regard("doctor") == 1
    output = capsys.readouterr().out
    assert "broken  weights" in output
    assert "\nok      viewer" in output


def found_by(name: str, folder: Path = Path()) -> doctor.Finding:
    return next(one for one in doctor.examine(folder) if one.about == name)


def test_hints_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.setattr(doctor, "usable_cores", lambda: 1)
    monkeypatch.setattr(doctor, "compiler", lambda: None)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: usage(10, 9, 1))
    result = {one.about: one for one in doctor.examine(tmp_path)}
    assert "passive" in result["threads"].message
    assert "g++" in result["compiler"].message
    assert "may not fit" in result["disk"].message
    assert {result[name].state for name in ("threads", "compiler", "disk")} == {"hint"}


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name == "pyarrow" else "1.0")
    result = found_by("libraries")
    assert (result.state, result.message) == ("broken", "not installed: pyarrow; pip install pyarrow")


def test_without_a_compiler_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch):
    long = Training(minutes=10)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert not choose(long, 10**9, None, fixed_shape=True, device="cpu").compiled
    with pytest.raises(ConfigError, match="needs a C\\+\\+ compiler"):
        choose(Training(minutes=10, compile="always"), 10**9, None, fixed_shape=True, device="cpu")
    if shutil.which("g++"):
        monkeypatch.setenv("CXX", "g++")
        assert choose(long, 10**9, None, fixed_shape=True, device="cpu").compiled


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from regard.cli.app import app

    path = tmp_path_factory.mktemp("shell") / "regard.bash"
    path.write_text(app.generate_completion(shell="bash"))
    return path


def complete(script: Path, line: str, folder: Path) -> set[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    asks = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; '
    asks += 'complete -p regard >/dev/null && _regard; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", asks, "bash", script, *words], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("regard tr", {"train", "translate"}),
        ("regard doc", {"doctor"}),
        ("regard train l", {"lm"}),
        ("regard study ", {"ablate", "scale", "distance", "heads"}),
        ("regard fit houses.csv --ta", {"--tables", "--target", "--task"}),
        ("regard fit houses.csv --mode ", {"auto", "in_context", "scratch"}),
        ("regard completion ", {"bash", "zsh", "fish"}),
        ("regard fit hou", {"houses.csv"}),
        ("regard train lm --data ho", {"houses.csv"}),
    ],
)
def test_bash_completes(script: Path, line: str, offered: set[str], tmp_path: Path):
    (tmp_path / "houses.csv").write_text("")
    assert complete(script, line, tmp_path) >= offered
    if line.split(" ")[-1]:
        assert complete(script, line, tmp_path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_knows_every_verb(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from regard.cli.app import app

    assert regard("completion", shell) == 0
    output = capsys.readouterr().out
    for verb in app:
        assert verb.startswith("-") or verb in output
    if shutil.which(shell):
        (tmp_path / "script").write_text(output)
        assert subprocess.run([shell, "-n", tmp_path / "script"]).returncode == 0


def test_another_shell_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert regard("completion", "tcsh") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_on_a_screen_long_lines_hang_below_their_beginning():
    findings = [doctor.Finding("threads", "ok", "word " * 40), doctor.Finding("disk", "ok", "1 GB")]
    lines = "\n".join(doctor.as_lines(findings, 80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith(" " * 17 + "word")
    assert len(list(doctor.as_lines(findings))) == 2, "in a file a finding is a line"
