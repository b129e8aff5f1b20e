"""The Dockerfile, read but not built: what it copies, installs and runs exists."""

import re
import shlex
import tomllib

import pytest

from regard.cli.app import app
from regard.core.extras import GROUPS
from tests.documents.pages import ROOT
from tests.surface import CLI

TEXT = (ROOT / "Dockerfile").read_text()
LINES = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def arguments(instruction: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{instruction} ")]


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for line in arguments("COPY") if "--from" not in line for name in line.split()[:-1]}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_what_is_installed_is_what_is_tested() -> None:
    [torch] = re.findall(r"torch==[\d.]+", "\n".join(arguments("RUN")))
    assert torch in (ROOT / "constraints.txt").read_text().split()
    [groups] = re.findall(r"'\.\[([\w,]+)\]'", "\n".join(arguments("RUN")))
    assert {*groups.split(",")} <= {*GROUPS}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r"python:([\d.]+)-slim", "\n".join(arguments("FROM")))
    assert set(versions) == {project["requires-python"].removeprefix(">=")}
    assert project["scripts"].keys() == {"regard"}


def test_it_runs_without_root_and_at_the_port_of_the_server() -> None:
    assert arguments("USER") == ["regard"]
    assert LINES.index("USER regard") < LINES.index('ENTRYPOINT ["regard"]')
    assert f"regard serve --port = {arguments('EXPOSE')[0]}" in CLI.read_text().splitlines()


@pytest.mark.parametrize("line", re.findall(r"docker run .* regard (\w.*)$", TEXT, re.M))
def test_its_examples_are_commands(line: str) -> None:
    command, _, ignored = app.parse_args(shlex.split(line), exit_on_error=False, print_error=False)[:3]
    assert command is not None
    assert not ignored or isinstance(ignored, dict)
