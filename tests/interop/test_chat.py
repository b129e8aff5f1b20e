"""Chat models: templates as transformers renders them, special tokens, and the sampling that a folder asks for."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import transformers

import regard
from regard.core.errors import ConfigError, UserError
from regard.decode import Sampling
from regard.interop.chat import ChatTemplate
from tests.command import regard as command
from tests.interop import worded

TEMPLATE = """{%- for message in messages %}
    {%- if message.role == 'system' and not loop.first %}{{ raise_exception('system comes first') }}{% endif %}
    {{- '<s>' + message['role'] + ': ' + message['content'] | trim + eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<s>assistant: ' }}{% endif %}
"""
MESSAGES = [
    {"role": "system", "content": "Two dogs "},
    {"role": "user", "content": "A cat sleeps"},
    {"role": "assistant", "content": "the child"},
    {"role": "user", "content": "in the snow"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chat")
    worded.folder("llama", path)
    settings = json.loads((path / "tokenizer_config.json").read_text())
    (path / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": TEMPLATE}))
    return path


def test_templates_and_tokens_are_those_of_transformers(folder: Path) -> None:
    theirs, run = transformers.AutoTokenizer.from_pretrained(folder), regard.load(folder)
    for answer in (True, False):
        text = theirs.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=answer)
        assert run.extra["chat"].render(MESSAGES, answer=answer) == text
    tokens = theirs(text, add_special_tokens=False)["input_ids"]
    assert run.tokenizer.encode([text])[0] == tokens, "special tokens are special"
    assert 1 in tokens
    assert 1 not in run.tokenizer.plain().encode([text])[0], "but not in texts of strangers"


def test_answers_to_messages(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    run = regard.load(folder)
    prompt = run.extra["chat"].render(MESSAGES[1:2])
    [tokens] = run.tokenizer.encode([prompt])
    from regard.tasks.lm.generate import generate

    greedy = Sampling(temperature=0.0)
    wanted = "".join(generate(run.model, run.tokenizer, tokens, 6, greedy))
    assert "".join(run.chat(MESSAGES[1:2], 6, greedy)) == wanted
    options = ("--max-tokens", 6, "--temperature", 0)
    assert command("generate", folder, "--chat", "--prompt", "A cat sleeps", *options) == 0
    assert capsys.readouterr().out == f"{wanted}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"A cat sleeps\n\nagain\n")))
    assert command("chat", folder, *options) == 0
    assert capsys.readouterr().out.startswith(f"{wanted}\n")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ raise_exception('no') }}", r"refuses them \(no\)"),
        ("{{ messages[0].__class__.__mro__ }}", "refuses them"),
        ("{{ ''.__class__ }}{{ cycler.__init__.__globals__.os.popen('x') }}", "refuses them"),
        ("{% for %}", "here: is no chat template"),
        ("{{ messages.append(1) }}", "refuses them"),
        ("{{ 1 / 0 }}", "refuses them"),
        ("{% for i in range(99999) %}{{ 'x' * 99 }}{% endfor %}", "writes more than"),
        (3 * "{% for i in range(9999) %}" + 3 * "{% endfor %}", "takes more than"),
    ],
)
def test_templates_that_reach_out(source: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        ChatTemplate("here", source).render(MESSAGES)
    assert "\n" not in str(caught.value)


def test_special_tokens_are_those_of_the_template_alone(folder: Path) -> None:
    run = regard.load(folder)
    template = run.extra["chat"]
    for tokenizer, reads_special in ((run.tokenizer, True), (run.tokenizer.plain(), False)):
        before = tokenizer.encode(["<s>the"])
        assert template.tokens(MESSAGES, tokenizer).count(1) == len(MESSAGES) + 1
        assert tokenizer.encode(["<s>the"]) == before, "texts that are no chats are read as before"
        assert (1 in before[0]) == reads_special
    with pytest.raises(UserError, match=r"messages\[0\].content: contains the special token '<s>'"):
        run.chat([{"role": "user", "content": "a <s> b"}])


def test_what_a_template_sees_is_what_transformers_shows() -> None:
    source = "{{ {'a': '<ü>'} | tojson }}{% if bos_token is defined %}{{ bos_token }}{% endif %}"
    assert ChatTemplate("here", source).render(MESSAGES) == '{"a": "<ü>"}'
    assert ChatTemplate("here", source, {"bos_token": "<s>"}).render(MESSAGES) == '{"a": "<ü>"}<s>'


def test_what_is_no_chat(folder: Path, tmp_path: Path) -> None:
    worded.folder("gpt2", tmp_path)
    with pytest.raises(UserError, match="no chat template"):
        regard.load(tmp_path).chat(MESSAGES)
    with pytest.raises(ConfigError, match="role"):
        regard.load(folder).chat([{"role": "user"}])


@pytest.mark.parametrize(
    ("data", "sampling"),
    [
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": 20}, Sampling(0.6, 20, 0.9)),
        ({"do_sample": False, "temperature": 0.6}, Sampling(0.0)),
        ({"top_p": 1.0, "top_k": 0, "eos_token_id": [2]}, Sampling()),
    ],
)
def test_sampling_of_the_folder(data: dict[str, Any], sampling: Sampling, folder: Path) -> None:
    from regard.tasks.lm.task import usual_sampling

    file = folder / "generation_config.json"
    before = file.read_text()
    file.write_text(json.dumps(data))
    try:
        assert usual_sampling(regard.load(folder)) == sampling
        file.write_text(json.dumps(data | {"temperature": "hot", "do_sample": True}))
        with pytest.raises(ConfigError, match="temperature"):
            regard.load(folder)
    finally:
        file.write_text(before)
