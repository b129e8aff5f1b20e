"""How soon the viewer shows a long text, and how smoothly: python benchmarks/view.py runs/lm --text corpus.txt

A language model's run is served by `regard view`, a real browser (Debian's chromium, headless) gives it the first
characters of a text, and the seconds until its first picture of a head are measured; then the frames of a second while
the mouse moves over the picture and scrolls it. The model's size and all rounds are kept in results/view.json.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from text.learning import machine

RESULT = Path(__file__).parent / "results" / "view.json"
FRAMES = """new Promise(done => { let frames = 0; const began = performance.now();
    const tick = () => { frames++; performance.now() - began < 1000 ? requestAnimationFrame(tick) : done(frames); };
    requestAnimationFrame(tick) })"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    options = _options()
    text = options.text.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "regard", "view", str(options.run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[2]
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            rounds = [
                measure(browser.new_page(), address, text[number : number + options.tokens])
                for number in range(options.rounds + 1)
            ][1:]  # in the first one the server imports and loads
            model = browser.new_page().request.get(f"{address}api/runs").json()["runs"][0]["model"]
        finally:
            server.terminate()
    middle = {name: round(statistics.median(one[name] for one in rounds), 2) for name in rounds[0]}
    results = {"machine": machine(), "model": model, "characters": options.tokens, **middle, "rounds": rounds}
    RESULT.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps({"model": model, **middle}))


def measure(page: Any, address: str, text: str) -> dict[str, float]:
    page.goto(f"{address}#view=head")
    page.wait_for_selector("textarea")
    page.fill("textarea[name=text]", text)
    began = time.monotonic()
    page.click("text=Look")
    page.wait_for_selector("figure[data-picture=head] canvas")
    page.wait_for_function("() => document.querySelector('figure canvas').width > 300")
    seconds = time.monotonic() - began
    box = page.locator("figure[data-picture=head] canvas").bounding_box()
    page.evaluate(f"window.counted = {FRAMES}; 0")  # counts while the mouse moves
    ends = time.monotonic() + 1
    step = 0
    while time.monotonic() < ends:
        step += 1
        page.mouse.move(box["x"] + box["width"] * 0.28, box["y"] + 30 + (step * 7) % 480)
        if step % 10 == 0:
            page.mouse.wheel(0, 120)
    frames = page.evaluate("window.counted")
    page.close()
    return {"first_picture_seconds": round(seconds, 3), "frames_a_second": frames}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the run folder of a language model of characters")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
