"""After the demo: what to type next and, for a person at a terminal, the page itself, which a browser is pointed to."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from rich.console import Console

from regard.core.extras import available
from regard.demo.dates import EXAMPLE
from regard.view.open_run import OpenRun
from regard.view.server import bind, serve
from regard.view.session import Session

HOST = "127.0.0.1"


def what_next(runs: Sequence[Path], seconds: float, console: Console, *, may_stay: bool) -> int:
    wine, dates, python = (shlex.quote(str(path)) for path in runs)
    new = shlex.quote(str(runs[0].parent / "new_wines.csv"))
    console.rule(f"[bold]Three models in {seconds:.0f} seconds[/]", align="left")
    for line in (
        f"regard predict {wine} {new}",
        f'echo "le 14 juillet 1989" | regard translate {dates}',
        f'regard generate {python} --prompt "class "',
        f"regard show {dates}",
        f'regard view {shlex.quote(str(runs[0].parent))} --input "{EXAMPLE}"',
    ):
        console.print(f"    {line}", markup=False)
    if may_stay and is_attended() and available("view"):
        stay(runs, console)
    else:
        console.print("\nThe last one shows in a browser what each of them looks at.")
    return 0


def is_attended() -> bool:
    """A person at a terminal, who can read an address and end what waits there."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def has_screen() -> bool:
    """A machine that can show a page; elsewhere an address may be opened from another, through a tunnel."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def stay(runs: Sequence[Path], console: Console) -> None:
    """Serve the page until Ctrl-C, which is how it is meant to end."""
    place = bind(HOST, None)
    address = f"http://{HOST}:{place.getsockname()[1]}/#{urlencode({'text': EXAMPLE})}"
    shown = has_screen()
    console.print(f"\nThe last one is {'open' if shown else 'served'} at {address} (Ctrl-C ends it)", markup=False)
    if shown:
        import webbrowser

        webbrowser.open(address)
    first = sorted(runs)  # as `regard view` has them: the translator, whose example the address holds, comes first
    with suppress(KeyboardInterrupt):
        serve(Session([OpenRun(path) for path in first]), place, HOST)
