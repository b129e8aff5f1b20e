"""Pages that run a model: opened from disk in chromium, without a network, they answer as Python does."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.core.errors import UserError
from regard.decode import Sampling
from regard.export import HTML, export
from regard.export.html import RUNTIME, _tokenizer
from regard.tables import NPTRegressor
from regard.text import BPE, Characters
from tests.export.runs import train
from tests.export.test_table import houses
from tests.helpers import patience
from tests.tables.conftest import write_tiny_reader
from tests.view.browser import CHROMIUM

PACKAGE = Path(os.environ.get("REGARD_ONNXRUNTIME_WEB", "node_modules/onnxruntime-web"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: no browser to drive")
    if not (PACKAGE / "dist" / RUNTIME).is_file():
        pytest.skip("there is no onnxruntime-web: npm install onnxruntime-web, or name it in REGARD_ONNXRUNTIME_WEB")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def open_page(browser: Any, file: Path) -> Any:
    """The page from disk; any request but for itself fails the test."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(1000 * patience(30))
    page.on("request", lambda one: one.url.startswith(("file:", "blob:", "data:")) or pytest.fail(one.url))
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


def send(page: Any) -> str:
    page.click("button")
    page.wait_for_selector("body[data-answered]")
    return str(page.inner_text("#answer"))


def test_a_row_of_a_table(browser, tmp_path):
    table = houses()
    price = (2 * table["size"].fillna(90)).rename("price")
    reader = write_tiny_reader(tmp_path)
    estimator = NPTRegressor(mode="in_context", members=1, random_state=0, weights=reader).fit(table, price)
    export(estimator, HTML(runtime=str(PACKAGE)), tmp_path / "price.html")
    page = open_page(browser, tmp_path / "price.html")
    page.fill("[name=size]", "120.5")
    page.select_option("[name=town]", label="Oslo")
    page.fill("[name=sold]", "2024-03-01T07:00")
    row = table.iloc[:1].assign(size=120.5, town="Oslo", sold=np.datetime64("2024-03-01T07:00"), garden=None)
    [expected] = estimator.predict(row.astype({"garden": "object"}))
    assert float(send(page).split("price")[1].split()[0]) == pytest.approx(expected, rel=1e-3)


def test_a_language_model_writes(browser, tmp_path):
    run = regard.load(train("lm", tmp_path))
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    export(run, HTML(runtime=str(PACKAGE)), tmp_path / "lm.html")
    page = open_page(browser, tmp_path / "lm.html")
    page.fill("[name=prompt]", "the cat")
    page.fill("[name=temperature]", "0")
    page.fill("[name=tokens]", "12")
    send(page)
    [expected] = run(["the cat"], max_tokens=12, sampling=Sampling(temperature=0))
    assert page.text_content(".written") == expected


def test_an_image_is_classified(browser, tmp_path):
    run = regard.load(train("image", tmp_path))
    export(run, HTML(runtime=str(PACKAGE)), tmp_path / "image.html")
    file = next((tmp_path / "photos").rglob("*.png"))
    page = open_page(browser, tmp_path / "image.html")
    page.set_input_files("[name=file]", file)
    page.wait_for_selector("body[data-answered]")
    shown = json.loads(page.get_attribute("body", "data-probabilities"))
    assert np.abs(np.array(shown) - run.label_probabilities([file])[1][0].numpy()).max() < 1e-3


def test_without_the_runtime_nothing_is_written(tmp_path):
    run = regard.load(train("image", tmp_path))
    with pytest.raises(UserError, match="npm install onnxruntime-web"):
        export(run, HTML(runtime=str(tmp_path)), tmp_path / "image.html")
    assert not (tmp_path / "image.html").exists()


def test_tokenizers_of_pages():
    assert _tokenizer(Characters().train(["abc"]))["kind"] == "characters"
    assert _tokenizer(BPE(vocab=300).train(["abc abc"]))["kind"] == "bytes"
