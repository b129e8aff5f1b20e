"""Who is let in, what happens when there is no room, when clients go away, and when the server stops."""

import asyncio
import json
import logging
import threading
from pathlib import Path

import pytest

from regard.core.errors import UserError
from regard.serve import worker as workers
from regard.serve.app import make_app
from regard.serve.completion import Completion
from regard.serve.logs import JsonLines
from regard.serve.served import in_thread
from regard.serve.server import make_serving
from regard.serve.settings import Settings, client_of, read_keys
from tests.helpers import wait_until
from tests.serve.conftest import LIMITS, Web, open_web

KEYS = ("secret-key-1", "secret-key-2")
ROUTES = [
    "/", "/docs", "/openapi.json", "/page/try.js", "/page/../server.py", "/health", "/ready", "/metrics", "/v1/models",
    "/v1/models/gpt", "/nowhere",
]  # fmt: skip


@pytest.fixture(scope="module")
def guarded(folders: dict[str, Path]):
    settings = Settings(limits=LIMITS, keys=KEYS, origins=("https://good.example",))
    yield from open_web([folders["gpt"]], settings)


def test_every_route_needs_a_key(guarded: Web) -> None:
    posts = [
        path
        for path, methods in guarded.client.get("/openapi.json", headers=bearer(KEYS[0])).json()["paths"].items()
        if "post" in methods
    ]
    assert len(posts) >= 10
    for wrong in ({}, bearer("secret-key-3"), bearer(""), {"Authorization": "Basic %%%"}, {"Authorization": KEYS[0]}):
        for path in ROUTES:
            assert guarded.client.get(path, headers=wrong).status_code == 401
        for path in posts:
            answer = guarded.client.post(path, json={}, headers=wrong)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert guarded.client.get("/health", headers=bearer(KEYS[1])).status_code == 200
    assert guarded.client.get("/health", auth=("anybody", KEYS[1])).status_code == 200


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_keys_come_from_a_file_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\nsecret-key-1\n\n")
    assert read_keys(file, {"REGARD_API_KEYS": "secret-key-2, secret-key-3"}) == (
        "secret-key-2",
        "secret-key-3",
        "secret-key-1",
    )
    for text in ("", "short"):
        file.write_text(text)
        with pytest.raises(UserError):
            read_keys(file, {})
    with pytest.raises(UserError, match="cannot be read"):
        read_keys(tmp_path / "none", {})
    assert client_of(KEYS, "Bearer secret-key-1") != client_of(KEYS, "Bearer secret-key-2")


def test_other_sites_and_names_are_refused(guarded: Web) -> None:
    key = bearer(KEYS[0])
    assert guarded.client.get("/health", headers={**key, "Host": "evil.example"}).status_code == 421
    assert guarded.client.get("/health", headers={**key, "Origin": "https://evil.example"}).status_code == 403
    good = guarded.client.get("/health", headers={**key, "Origin": "https://good.example"})
    assert good.headers["access-control-allow-origin"] == "https://good.example"
    plain = guarded.client.get("/health", headers=key)
    assert "access-control-allow-origin" not in plain.headers


class Slow:
    """Holds up the writing of texts, after so many free ticks, until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.go, self.free = threading.Event(), 0
        tick = workers.Worker.tick

        def wait(worker):
            if worker.engine is not None and worker.engine.batch.texts:
                self.free -= 1
                if self.free < 0:
                    self.go.wait(30)
            return tick(worker)

        monkeypatch.setattr(workers.Worker, "tick", wait)


def test_a_full_queue_is_429_and_everybody_else_is_answered(folders, monkeypatch) -> None:
    """Four times as many clients as there is room for; the rest is refused at once, and health stays."""
    slow = Slow(monkeypatch)
    room = LIMITS.rows + LIMITS.queue
    for web in open_web([folders["gpt"]], Settings(limits=LIMITS)):
        answers = []

        def ask(number: int, web: Web = web, answers: list = answers) -> None:
            answers.append(web.post("completions", prompt="hello", max_tokens=3, temperature=0))

        clients = [threading.Thread(target=ask, args=(number,)) for number in range(4 * room)]
        for client in clients:
            client.start()
        wait_until(lambda answers=answers: len(answers) == 3 * room)
        assert {answer.status_code for answer in answers} == {429}
        assert all(answer.headers["Retry-After"] == "1" for answer in answers)
        assert web.client.get("/health").status_code == 200
        slow.go.set()
        for client in clients:
            client.join(60)
        assert sorted(answer.status_code for answer in answers) == [200] * room + [429] * 3 * room
        assert len({answer.json()["choices"][0]["text"] for answer in answers if answer.status_code == 200}) == 1
        assert web.serving.open == 0


async def talk(app, body: dict, *, leave_after: int | None, path: str = "/v1/completions") -> list:
    """One request as ASGI; the client leaves after this many messages of the answer."""
    sent, gone, asked = [], asyncio.Event(), False
    data = json.dumps(body).encode()
    headers = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
    ]

    async def receive():
        nonlocal asked
        if not asked:
            asked = True
            if leave_after == 0:
                asyncio.get_running_loop().call_later(0.1, gone.set)
            return {"type": "http.request", "body": data, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        if leave_after and len(sent) >= leave_after:
            gone.set()

    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), "scheme": "http", "http_version": "1.1"}
    scope |= {"headers": headers, "asgi": {"version": "3.0"}}
    await app(scope, receive, send)
    return sent


def test_a_client_that_goes_away_frees_its_place(folders, monkeypatch) -> None:
    slow = Slow(monkeypatch)  # so that no answer is complete before its client has left

    async def check() -> None:
        serving = make_serving([folders["gpt"]], Settings(limits=LIMITS), in_thread)
        app, [model] = make_app(serving), serving.models.values()
        model.start()
        await asyncio.wait_for(model.changed.wait(), 60)
        long = {"prompt": "hello", "max_tokens": 150, "temperature": 1.0}
        for number in range(20):
            stream = number % 2 == 0
            slow.go.clear()
            slow.free = 20 if stream else 0
            sent = await talk(app, {**long, "stream": stream, "n": 2}, leave_after=3 if stream else 0)
            assert sum(len(one.get("body", b"")) for one in sent) < 20_000
            assert model.open == 0
            slow.go.set()
        sent = await talk(app, {**long, "max_tokens": 2}, leave_after=None)
        assert sent[0]["status"] == 200
        async with asyncio.timeout(30):
            while (model.load.running, model.load.waiting) != (0, 0):
                await asyncio.sleep(0.01)
        assert b"regard_request_cancelled_total" in serving.metrics.text()
        assert 'regard_request_cancelled_total{model_name="gpt"} 20.0' in serving.metrics.text().decode()
        await model.stop()

    asyncio.run(check())


def test_a_worker_that_dies_costs_its_own_requests_only(folders, monkeypatch) -> None:
    add = Completion.add

    def dies(completion, token):
        if completion.prompt == completion.tokenizer.prompt("die"):
            raise SystemExit  # as a process that is killed: no answer, the pipe closes
        return add(completion, token)

    run_worker = workers.run_worker

    def run(path, limits, pipe):
        try:
            run_worker(path, limits, pipe)
        except SystemExit:
            pipe.close()

    monkeypatch.setattr(Completion, "add", dies)
    monkeypatch.setattr("regard.serve.served.run_worker", run)
    for web in open_web([folders["gpt"], folders["transformer"]], Settings(limits=LIMITS)):
        assert web.post("completions", prompt="die").status_code == 500
        assert web.post("translate", input="abc", max_tokens=3).status_code == 200
        model = web.serving.models["gpt"]
        wait_until(lambda model=model: model.state == "ready")
        assert web.post("completions", prompt="live", max_tokens=2).status_code == 200
        assert model.restarts == 1
        assert 'regard_worker_restarts_total{model_name="gpt"} 1.0' in web.client.get("/metrics").text


def test_a_stopping_server_takes_no_more(folders) -> None:
    for web in open_web([folders["gpt"]], Settings(limits=LIMITS)):
        web.serving.draining = True
        answer = web.post("completions", prompt="hello")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "stopping")
        assert "Retry-After" in answer.headers
        assert web.client.get("/ready").status_code == 503
        assert web.client.get("/health").status_code == 200


def test_a_folder_that_cannot_be_served_says_why(tmp_path, folders) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.yaml").write_text("model: {kind: GPT, vocab: 5}\n")
    for web in open_web([broken, folders["gpt"]], Settings(limits=LIMITS)):
        answer = web.post("completions", model="broken", prompt="x")
        assert answer.status_code == 503
        assert "model.safetensors" in answer.json()["error"]["message"]
        assert web.post("completions", model="gpt", prompt="x", max_tokens=1).status_code == 200


def test_time_is_limited(folders, monkeypatch) -> None:
    slow = Slow(monkeypatch)
    limits = type(LIMITS)(**{**vars(LIMITS), "seconds": 0.2})
    for web in open_web([folders["gpt"]], Settings(limits=limits)):
        answer = web.post("completions", prompt="hello", max_tokens=3)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "timeout")
        slow.go.set()
        wait_until(lambda web=web: web.serving.models["gpt"].load.running == 0)


def test_the_log_is_json_without_contents(web: Web, caplog) -> None:
    logger = logging.getLogger("regard.serve")
    lines: list[str] = []
    handler = logging.Handler()
    handler.setFormatter(JsonLines())
    handler.emit = lambda record: lines.append(handler.format(record))  # type: ignore[method-assign]
    logger.addHandler(handler)
    level, logger.level = logger.level, logging.INFO
    try:
        web.post("completions", model="gpt", prompt="a secret", max_tokens=2)
        wait_until(lambda: bool(lines))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    line = json.loads(lines[-1])
    assert line.items() >= {"event": "request", "status": 200, "model": "gpt", "completion_tokens": 2}.items()
    assert "secret" not in lines[-1]


def test_a_slow_body_is_given_up(folders) -> None:
    async def check() -> None:
        limits = type(LIMITS)(**{**vars(LIMITS), "body_seconds": 0.1})
        app = make_app(make_serving([folders["gpt"]], Settings(limits=limits), in_thread))
        sent = []

        async def receive():
            await asyncio.sleep(0.03)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": [(b"host", b"127.0.0.1")]}
        await app(scope, receive, send)
        assert sent[0]["status"] == 408

    asyncio.run(check())
