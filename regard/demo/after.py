"""After the demo: what to type next, or the page itself where there is a screen to show it on."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from rich.console import Console

from regard.demo.dates import EXAMPLE
from regard.view.answers import Desk
from regard.view.server import bind, serve
from regard.view.shown import Shown

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
    if may_stay and has_screen():
        stay(runs, console)
    else:
        console.print("\nThe last one shows in a browser what each of them looks at.")
    return 0


def has_screen() -> bool:
    """A person at a terminal, on a machine that can show a page."""
    shows = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shows and sys.stdin.isatty() and sys.stdout.isatty()


def stay(runs: Sequence[Path], console: Console) -> None:
    """Serve the page until Ctrl-C."""
    import webbrowser

    place = bind(HOST, None)
    address = f"http://{HOST}:{place.getsockname()[1]}/#{urlencode({'text': EXAMPLE})}"
    console.print(f"\nThe last one is open at {address} (Ctrl-C ends it)")
    webbrowser.open(address)
    first = sorted(runs)  # as `regard view` has them: the translator, whose example the address holds, comes first
    serve(Desk([Shown(path) for path in first]), place, HOST)
