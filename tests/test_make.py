"""`make test` finds a browser, installs one where it can, or says in one line that it will do without."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="there is no make on this machine")

INSTALLS = """case "$*" in
*install*chromium) printf '#!/bin/sh\\n' > {folder}/chromium; chmod +x {folder}/chromium ;;
esac"""


def asked_for_a_browser(folder: Path, user: int, installer: str | None) -> tuple[str, str]:
    """What is said on a machine that has so little, and what its installer was asked for."""
    folder.mkdir(exist_ok=True)
    write(folder / "id", f"echo {user}")
    if installer is not None:
        write(folder / "apt-get", f'echo "$@" >> {folder}/asked; ' + installer.format(folder=folder))
    for name in ("sh", "timeout", "chmod"):
        if not (folder / name).exists():
            (folder / name).symlink_to(shutil.which(name) or "")
    words = [str(MAKE), "--no-print-directory", "--silent", "--file", ROOT / "Makefile", "browser"]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, "PATH": str(folder)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    asked = folder / "asked"
    return done.stdout, asked.read_text() if asked.exists() else ""


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_who_may_install_gets_a_browser_once(tmp_path: Path):
    output, asked = asked_for_a_browser(tmp_path, 0, INSTALLS)
    assert output == ""
    assert asked.count("\n") == 1
    assert asked_for_a_browser(tmp_path, 0, INSTALLS) == ("", asked), "what is there is not asked for again"


@pytest.mark.parametrize(("user", "installer"), [(1000, INSTALLS), (0, None), (0, "echo no network >&2; exit 100")])
def test_elsewhere_one_line_says_what_is_missing_and_nothing_fails(user: int, installer: str | None, tmp_path: Path):
    output, asked = asked_for_a_browser(tmp_path, user, installer)
    assert output.count("\n") == 1
    assert "will be skipped (apt install chromium)" in output
    assert not asked or user == 0
