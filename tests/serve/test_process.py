"""The real server, with real processes and clients that others wrote."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

import regard
from regard.decode import Sampling
from tests.documents.pages import ROOT
from tests.helpers import patience, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
ASK = {"model": "gpt", "prompt": "hello", "max_tokens": 12, "temperature": 0}


class Server:
    def __init__(self, folders: list[Path], log: Path):
        self.log = log
        command = [sys.executable, "-m", "regard", "serve", *map(str, folders), "--port", "0", "--grace", "20"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with log.open("w") as file:
            self.process = subprocess.Popen(command, stderr=file, env=environment)
        wait_until(lambda: "serving" in log.read_text(), self.process)
        self.url = re.search(r"at (http://\S+)/ ", log.read_text()).group(1)
        wait_until(lambda: self.status("/ready") == 200, self.process)

    def status(self, path: str) -> int:
        try:
            return urllib.request.urlopen(self.url + path, timeout=60).status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def client(self, kind=openai.OpenAI):
        return kind(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=patience(60))

    def children(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        commands = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in text.split()}
        return [child for child, command in commands.items() if "spawn_main" in command]


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory) -> Iterator[Server]:
    server = Server([folders["gpt"], folders["fill"]], tmp_path_factory.mktemp("log") / "log")
    yield server
    server.process.kill()


@pytest.fixture(scope="module")
def expected(folders) -> str:
    return "".join(regard.load(folders["gpt"]).generate("hello", 12, Sampling(temperature=0.0)))


def test_openai_s_client_sync_and_streaming(server: Server, expected: str) -> None:
    client = server.client()
    assert [model.id for model in client.models.list()] == ["gpt", "fill"]
    answer = client.completions.create(**ASK, n=2)
    assert [choice.text for choice in answer.choices] == [expected, expected]
    assert answer.usage.completion_tokens == 24
    assert "".join(chunk.choices[0].text for chunk in client.completions.create(**ASK, stream=True)) == expected
    messages = [{"role": "user", "content": "hi"}]
    chat = client.chat.completions.create(model="gpt", messages=messages, max_completion_tokens=5, temperature=0)
    streamed = client.chat.completions.create(model="gpt", messages=messages, max_tokens=5, temperature=0, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == chat.choices[0].message.content
    vectors = client.embeddings.create(model="fill", input=["abc", "xyz"])  # asks for base64 by itself
    assert len(vectors.data[0].embedding) == 16
    with pytest.raises(openai.BadRequestError, match="at most 16"):
        client.completions.create(**{**ASK, "n": 100})
    with pytest.raises(openai.NotFoundError):
        client.completions.create(**{**ASK, "model": "none"})


def test_the_examples_of_the_page_run(server: Server, capsys) -> None:
    page = (ROOT / "docs" / "jobs" / "serve.md").read_text().replace("http://127.0.0.1:8000", server.url)
    page = page.replace('"lm"', '"gpt"')
    [program] = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    exec(program, {})
    assert capsys.readouterr().out
    [command] = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    if shutil.which("curl"):
        done = subprocess.run(command, shell=True, capture_output=True, check=True)
        assert json.loads(done.stdout)["usage"]["completion_tokens"] == 16


def test_openai_s_client_many_at_once(server: Server, expected: str) -> None:
    async def ask() -> list[str]:
        async with server.client(openai.AsyncOpenAI) as client:

            async def one() -> str:
                stream = await client.completions.create(**ASK, stream=True)
                return "".join([chunk.choices[0].text async for chunk in stream])

            return await asyncio.gather(*(one() for _ in range(20)))

    assert asyncio.run(ask()) == [expected] * 20


def test_a_worker_that_is_killed_is_replaced(server: Server, expected: str) -> None:
    """Requests of the other model go on; that of the killed one is answered 500."""
    gpt = server.children()[0]
    long, client = {**ASK, "max_tokens": 4000, "temperature": 1.0}, server.client()
    stream = client.completions.create(**long, stream=True)
    next(iter(stream))
    os.kill(gpt, signal.SIGKILL)
    with pytest.raises(openai.APIError, match="ended unexpectedly"):
        list(stream)
    assert client.embeddings.create(model="fill", input="abc").data
    wait_until(lambda: server.status("/ready") == 200, server.process)
    assert client.completions.create(**ASK).choices[0].text == expected


def test_a_client_that_says_nothing_is_hung_up_on_and_hinders_nobody(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(20)]
    for connection in silent:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127")
    assert server.status("/health") == 200
    for connection in silent:
        connection.close()


def test_sigterm_lets_a_stream_finish_and_ends_with_0(folders, server: Server, expected: str) -> None:
    """The last test of this server. New requests are refused meanwhile."""
    client = server.client()
    endless = client.completions.create(**{**ASK, "max_tokens": 4000, "temperature": 1.0, "n": 7}, stream=True)
    next(iter(endless))  # keeps the server from ending before we have looked
    stream = client.completions.create(**{**ASK, "max_tokens": 100}, stream=True)
    first = next(iter(stream))
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.status("/ready") == 503)
    with pytest.raises(openai.InternalServerError, match="stopping"):
        client.completions.create(**ASK)
    text = first.choices[0].text + "".join(chunk.choices[0].text for chunk in stream)
    assert text.startswith(expected)
    endless.close()
    assert server.process.wait(patience(30)) == 0
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    assert any(line["event"] == "draining" for line in lines)
    assert "hello" not in server.log.read_text()
