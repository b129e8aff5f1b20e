"""A real browser on a real server, which notes whatever goes wrong on the page."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from regard.view.open_run import OpenRun
from regard.view.routes import make_app
from regard.view.server import bind
from regard.view.session import Session
from tests.helpers import patience

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
# Controls that nobody has named: what stands in a field, or can be chosen in it, is no name.
NAMELESS = """(() => { const named = (e) => { const label = e.labels?.[0]?.cloneNode(true);
    label?.querySelectorAll('select, textarea').forEach((own) => own.remove());
    return e.getAttribute('aria-label') || (e.tagName === 'BUTTON' ? e : label)?.textContent.trim(); };
    const all = [...document.querySelectorAll('button, select, textarea, input, canvas[role=img]')];
    return all.filter((e) => !named(e)).map((e) => e.outerHTML); })()"""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def served(*runs: Path) -> Iterator[tuple[str, Session]]:
    """The address of a server for these runs, and the session behind it."""
    import uvicorn

    session = Session([OpenRun(run) for run in runs])
    place = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(session), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}/", session
    finally:
        server.should_exit = True
        thread.join(timeout=patience(24))


class Watched:
    """A page, with all that it complained of and all that it asked for."""

    def __init__(self, page: Any):
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.opened: set[str] = set()
        page.on("console", lambda message: self.note(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def note(self, kind: str, words: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(words)

    def forgive(self, words: str) -> None:
        """Drop the browser's own line about a request that was meant to fail."""
        self.complaints = [complaint for complaint in self.complaints if words not in complaint]

    def open(self, address: str, wait: str = "main canvas", **state: object) -> Any:
        self.opened.add(address)
        self.page.goto("about:blank")  # else a change of the hash alone would keep the page
        self.page.goto(f"{address}#{urlencode(state)}")
        self.page.wait_for_selector(wait)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the view is complete and its pictures are drawn, which happens in the frame after."""
        self.page.wait_for_selector("main[aria-busy=false]", state="attached")
        self.page.evaluate(TWO_FRAMES)

    def went_out(self) -> list[str]:
        """Requests to anybody but those whose pages were opened."""
        allowed = (*self.opened, "data:", "blob:", "about:")
        return [request for request in self.requests if not request.startswith(allowed)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser to drive")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: no browser to drive")
    with api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    """A page that must have asked nobody else and complained of nothing when the test is over."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    context.set_default_timeout(1000 * patience(60))  # milliseconds: only a page that hangs takes so long
    watched = Watched(context.new_page())
    yield watched
    context.close()
    assert watched.went_out() == []
    assert watched.complaints == []
