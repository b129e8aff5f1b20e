"""The server over HTTP: OpenAI's shapes, every task, errors that say what is wrong."""

import base64
import json
import shutil
import struct
from pathlib import Path

import pytest
import torch

import regard
from regard.cli.serve import reads_images
from regard.decode import Sampling
from tests.serve.conftest import TEMPLATE, Web
from tests.view.runs import picture

GREEDY = {"temperature": 0, "max_tokens": 12}


def events(answer) -> list:
    lines = [line for line in answer.text.split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def greedy(folder, prompt: str, count: int = 12) -> str:
    return "".join(regard.load(folder).generate(prompt, count, Sampling(temperature=0.0)))


def test_models_and_health(web: Web, folders) -> None:
    answer = web.client.get("/v1/models").json()
    assert [model["id"] for model in answer["data"]] == list(folders)
    assert answer["data"][0].items() >= {"object": "model", "owned_by": "regard", "state": "ready"}.items()
    assert web.client.get("/v1/models/gpt").json()["routes"] == [
        "completions",
        "attention",
        "tokenize",
        "chat/completions",
    ]
    assert web.client.get("/health").json() == {"status": "ok"}
    assert web.client.get("/ready").status_code == 200
    assert web.client.get("/v1/models/none").json()["error"]["code"] == "model_not_found"


def test_a_completion_is_what_the_model_writes_alone(web: Web, folders) -> None:
    expected = greedy(folders["gpt"], "hello")
    answer = web.post("completions", model="gpt", prompt="hello", **GREEDY).json()
    assert answer["object"] == "text_completion"
    [choice] = answer["choices"]
    assert choice == {"index": 0, "text": expected, "logprobs": None, "finish_reason": "length"}
    assert answer["usage"]["prompt_tokens"] == 5
    assert answer["usage"]["completion_tokens"] == 12
    streamed = events(
        web.post(
            "completions", model="gpt", prompt="hello", stream=True, stream_options={"include_usage": True}, **GREEDY
        )
    )
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed[:-1]) == expected
    assert streamed[-2]["choices"][0]["finish_reason"] == "length"
    assert streamed[-1]["choices"] == []
    assert streamed[-1]["usage"]["total_tokens"] == 17


def test_prompts_may_be_texts_or_tokens_one_or_many(web: Web, folders) -> None:
    tokenizer = regard.load(folders["gpt"]).tokenizer
    one, other = tokenizer.encode(["hello", "the cat"])
    texts = [greedy(folders["gpt"], "hello"), greedy(folders["gpt"], "the cat")]
    for prompt in (["hello", "the cat"], [one, other]):
        answer = web.post("completions", model="gpt", prompt=prompt, n=2, **GREEDY).json()
        assert [choice["text"] for choice in answer["choices"]] == [texts[0], texts[0], texts[1], texts[1]]
    answer = web.post("completions", model="gpt", prompt=one, **GREEDY).json()
    assert answer["choices"][0]["text"] == texts[0]


def test_echo_and_logprobs_score_a_prompt_as_lm_eval_wants(web: Web, folders) -> None:
    run = regard.load(folders["gpt"])
    [tokens] = run.tokenizer.encode(["the cat sat"])
    answer = web.post(
        "completions", model="gpt", prompt=[tokens], max_tokens=1, temperature=0, logprobs=1, echo=True
    ).json()
    scores = answer["choices"][0]["logprobs"]
    with torch.inference_mode():
        expected = run.model(torch.tensor([tokens])).log_softmax(-1)[0]
    assert scores["token_logprobs"][0] is None
    own = expected[torch.arange(len(tokens) - 1), tokens[1:]].tolist()
    assert scores["token_logprobs"][1:-1] == pytest.approx(own, abs=1e-4)
    best = [max(one.values()) for one in scores["top_logprobs"][1:]]
    assert best == pytest.approx(expected.amax(-1).tolist(), abs=1e-4)
    assert scores["tokens"][: len(tokens)] == list("the cat sat")
    assert scores["text_offset"] == list(range(len(tokens) + 1))
    assert answer["choices"][0]["text"].startswith("the cat sat")


def test_a_chat_goes_through_the_template_of_the_folder(web: Web, folders) -> None:
    expected = greedy(folders["gpt"], "<system>be kind\n<user>hi there\n<assistant>")
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi there"}]},
    ]
    answer = web.post(
        "chat/completions", model="gpt", messages=messages, logprobs=True, top_logprobs=2, **GREEDY
    ).json()
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": expected, "refusal": None}
    scores = answer["choices"][0]["logprobs"]["content"]
    assert "".join(one["token"] for one in scores) == expected
    assert scores[0]["logprob"] == scores[0]["top_logprobs"][0]["logprob"]
    streamed = events(web.post("chat/completions", model="gpt", messages=messages, stream=True, **GREEDY))
    assert streamed[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in streamed) == expected
    refused = web.post("chat/completions", model="short", messages=messages)
    assert refused.status_code == 400
    assert "no chat template" in refused.json()["error"]["message"]
    special = web.post("chat/completions", model="gpt", messages=[{"role": "user", "content": "a</s>b"}])
    assert "special token" in special.json()["error"]["message"]
    own = web.post("chat/completions", model="gpt", messages=messages, chat_template=TEMPLATE)
    assert (own.status_code, own.json()["error"]["param"]) == (400, "chat_template")


def test_every_task_answers_as_in_python(web: Web, folders) -> None:
    texts = ["abc", "the cat sat on"]
    for name, route in (("transformer", "translate"), ("summariser", "summarise")):
        data = web.post(route, model=name, input=texts, max_tokens=9).json()["data"]
        assert [one["output"] for one in data] == regard.load(folders[name])(texts, max_tokens=9)
    beam = web.post("translate", input="abc", beam=2, max_tokens=9).json()["data"]
    assert len(beam) == 1
    filled = web.post("fill", input="a [MASK] b").json()["data"][0]["output"]
    assert filled == regard.load(folders["fill"])(["a [MASK] b"])[0]
    run = regard.load(folders["label"])
    [one] = web.post("classify", model="label", input="abc").json()["data"]
    labels, probabilities = run.task.label_probabilities(run, ["abc"])
    assert {each["label"]: each["probability"] for each in one["labels"]} == pytest.approx(
        dict(zip(labels, probabilities[0].tolist(), strict=True))
    )
    image = base64.b64encode(picture()).decode()
    [one] = web.post("classify", model="image-token", images=[image]).json()["data"]
    assert one["output"] == one["labels"][0]["label"] == regard.load(folders["image-token"])([picture()])[0]


def test_embeddings_are_of_unit_length_and_do_not_depend_on_company(web: Web) -> None:
    both = web.post("embeddings", model="fill", input=["abc", "the cat sat on the mat"]).json()
    alone = web.post("embeddings", model="fill", input="abc", encoding_format="base64").json()["data"][0]["embedding"]
    vector = both["data"][0]["embedding"]
    assert sum(value**2 for value in vector) == pytest.approx(1, abs=1e-5)
    assert list(struct.unpack("<16f", base64.b64decode(alone))) == pytest.approx(vector, abs=1e-5)
    assert both["usage"]["prompt_tokens"] == 5 + 24


def test_rows_of_a_table(web: Web, folders) -> None:
    example = web.client.get("/v1/models/classes").json()["example"]
    assert set(example) == {"area", "rooms", "city", "sold"}
    rows = [{**example, "area": 140.0}, {"area": 60.5, "rooms": 2}]
    data = web.post("predict", model="classes", rows=rows, evidence=2).json()["data"]
    [first] = data[0]["predictions"]
    assert first["target"] == "size"
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert first["prediction"] == max(first["probabilities"], key=first["probabilities"].get)
    assert len(first["evidence"]["rows"]) == 2
    assert set(first["evidence"]["rows"][0]["cells"]) == set(example)
    [number] = web.post("predict", model="numbers", rows=rows[:1], quantiles=[0.1, 0.9]).json()["data"][0][
        "predictions"
    ]
    assert list(number["quantiles"]) == ["0.1", "0.9"]
    estimator = regard.load(folders["numbers"])
    from regard.tables.rows_by_cell import as_table

    assert number["prediction"] == pytest.approx(float(estimator.predict(as_table(estimator, rows[:1]))[0]))
    wrong = web.post("predict", model="numbers", rows=[{"aera": 3}]).json()["error"]["message"]
    assert "'aera'" in wrong
    assert "area" in wrong


def test_attention_is_what_the_viewer_records(web: Web) -> None:
    [one] = web.post("attention", model="transformer", input="abc", target="xy").json()["data"]
    assert len(one["maps"]) == 6
    cross = next(each for each in one["maps"] if each["name"] == "decoder.1.cross")
    assert torch.tensor(cross["weights"]).shape == (2, len(cross["queries"]), len(cross["keys"]))
    [some] = web.post("attention", model="gpt", input="abc", names=["decoder.0.attend"]).json()["data"]
    assert [each["name"] for each in some["maps"]] == ["decoder.0.attend"]
    assert web.post("tokenize", model="gpt", input="ab").json()["data"][0]["pieces"] == ["a", "b"]


WRONG = {
    "many choices": {"n": 10**9},
    "many tokens": {"max_tokens": 10**9},
    "negative tokens": {"max_tokens": -1},
    "negative choices": {"n": -1},
    "cold": {"temperature": -1},
    "long stop list": {"stop": ["x"] * 10_000},
    "empty stop": {"stop": [""]},
    "bias of many": {"logit_bias": {str(token): 1 for token in range(2000)}},
    "bias of none": {"logit_bias": {"99999": 1}},
    "bias of a word": {"logit_bias": {"x": 1}},
    "many prompts": {"prompt": ["x"] * 100_000},
    "many prompts and choices": {"prompt": ["x"] * 30, "n": 3},
    "token out of range": {"prompt": [[1, 99999]]},
    "negative token": {"prompt": [-1]},
    "mixture": {"prompt": ["x", 1]},
    "empty list": {"prompt": []},
    "long text": {"prompt": "x" * 201},
    "very long text": {"prompt": "x" * 500_000},
    "long tokens": {"prompt": [1] * 201},
    "too much in all": {"prompt": "x" * 100, "max_tokens": 102},
    "many logprobs": {"logprobs": 10**6},
    "unknown field": {"tools": []},
    "another best": {"best_of": 3},
    "seed": {"seed": 10**30},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_a_reason(web: Web, name: str) -> None:
    answer = web.post("completions", **{"model": "gpt", "prompt": "x", **WRONG[name]})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"] in WRONG[name] or error["param"] == "prompt"
    assert len(error["message"]) < 500


def test_bodies_that_are_no_requests(web: Web) -> None:
    def send(data: bytes, kind: str = "application/json"):
        return web.client.post("/v1/completions", content=data, headers={"Content-Type": kind})

    head = b'{"model": "gpt", "prompt": "x", "temperature": '
    for data in (
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        head + b"NaN}",
        head + b"1" + b"0" * 5000 + b"}",
        head + b"1e999}",
        b"",
        b"null",
    ):
        answer = send(data)
        assert answer.status_code == 400, (data[:50], answer.text)
        assert answer.json()["error"]["message"]
    assert send(b'{"model": "gpt"}', "text/plain").status_code == 400
    assert send(b"x" * (2**20 + 1)).status_code == 413
    assert web.client.get("/v1/completions").status_code == 405
    assert web.client.get("/page/..%2f__init__.py").status_code == 404
    assert web.client.get("/page/../../server.py").status_code == 404
    assert web.post("completions", model="nobody", prompt="x").status_code == 404
    assert web.post("completions", model="transformer", prompt="x").status_code == 400
    assert "gpt, short" in web.post("completions", prompt="x").json()["error"]["message"]
    assert web.post("classify", model="image-token", images=["%%%"]).status_code == 400
    assert web.post("classify", model="image-token", images=[base64.b64encode(b"x" * 99).decode()]).status_code == 400
    assert web.post("embeddings", model="fill", input="x" * 600).status_code == 400


def test_pages_and_metrics(web: Web) -> None:
    web.post("completions", model="gpt", prompt="hello", **GREEDY)
    metrics = web.client.get("/metrics").text
    assert 'regard_generation_tokens_total{model_name="gpt"}' in metrics
    assert 'regard_request_success_total{finished_reason="length",model_name="gpt"}' in metrics
    assert 'regard_num_requests_running{model_name="gpt"} 0.0' in metrics
    assert 'regard_time_to_first_token_seconds_count{model_name="gpt"}' in metrics
    for path in ("/", "/docs", "/page/try.js", "/page/style.css", "/openapi.json"):
        answer = web.client.get(path)
        assert answer.status_code == 200
        assert "https://" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_only_models_of_images_take_large_bodies(folders, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folders["gpt"], copy)
    with (copy / "config.yaml").open("a") as file:
        file.write("# kind: ClassifyImages\n")
    (tmp_path / "config.yaml").write_text("{")
    assert reads_images(folders["image-token"])
    assert not any(reads_images(path) for path in (folders["classes"], copy, tmp_path))
