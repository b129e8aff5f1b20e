"""Verbs about the installation: the doctor, and completion in a shell."""

import shutil
import sys
from pathlib import Path
from typing import Literal

from regard.cli.app import app


@app.command
def doctor(*, json: bool = False) -> int:
    """Check the installation and what would make it faster.

    Each line is ok, a hint, or broken; the exit code is 1 only if something is broken.

    Parameters
    ----------
    json
        Print one JSON object.
    """
    from regard.doctor import as_dict, as_lines, examine

    findings = examine(Path())
    if json:
        import json as writer

        print(writer.dumps(as_dict(findings)))
    else:
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        for line in as_lines(findings, columns):
            print(line)
    return int(any(one.state == "broken" for one in findings))


@app.command
def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print a script that completes verbs, options and files in a shell.

    For bash: regard completion bash > ~/.local/share/bash-completion/completions/regard

    For zsh: regard completion zsh > a folder of $fpath, as _regard

    For fish: regard completion fish > ~/.config/fish/completions/regard.fish

    Parameters
    ----------
    shell
        The shell to write for.
    """
    print(app.generate_completion(shell=shell), end="")
