"""The compiled step of a block gives what the block gives, for one token at a time; nothing else changes."""

import os
import subprocess
import warnings
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard.core.errors import ConfigError
from regard.core.machine import compiler
from regard.decode import accelerate, write
from regard.decode.accelerate import usual_precision
from regard.decode.one_token import attach, compile, compile_steps, library
from regard.decode.one_token.multiplied import Multiplied
from regard.decode.one_token.step import BlockStep, both, kind_of, position_of
from regard.decode.one_token.streamed import KINDS
from regard.decode.one_token.weights import convert, tensors_of
from regard.models import GPT
from regard.models.gpt import GPTModel
from regard.parts import Experts, GeGLU, LayerNorm, LoRA, RMSNorm, Rotary, SquaredReLU, SwiGLU, listen
from regard.parts.linear import Linear
from regard.parts.packed import BFloat16, Int8
from tests.models.samples import VOCAB, every_variation, name_of_model, needs_tree

SMALL = GPT(vocab=VOCAB, width=32, layers=3, heads=4, kv_heads=2, norm=RMSNorm(), feed=SwiGLU(64), bias=False)
PROMPT = torch.tensor([[1, 5, 3, 7]])


def trained(config: GPT) -> GPTModel:
    """A model whose norms and biases are no longer where they start."""
    model = config.build().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.1)
    return model


@pytest.mark.parametrize("precision", KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_streamed_product_is_that_of_the_rounded_weights(precision: str, bias: bool):
    layer = Linear(64, 24, bias=bias)
    x = torch.randn(1, 1, 64)
    rounded = {
        "float32": layer.weight,
        "bfloat16": layer.weight.bfloat16().float(),
        "int8": Int8(layer.weight.detach()).matrix.float() * Int8(layer.weight.detach()).scales.float()[:, None],
    }[precision]
    expected = torch.nn.functional.linear(x, rounded, layer.bias)
    torch.testing.assert_close(KINDS[precision](layer)(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_product_for_several_texts_is_that_of_the_layer(precision: str):
    layer = Linear(64, 24)
    x = torch.randn(3, 1, 64)
    tolerance = 1e-5 if precision == "float32" else 0.05
    torch.testing.assert_close(Multiplied(layer, precision)(x), layer(x), rtol=tolerance, atol=tolerance)


def test_tensors_have_the_same_names_before_and_after_streaming():
    model = trained(SMALL)
    whole = both(model.decoder.blocks[0], position_of(model, 0))
    before = tensors_of(whole, "int8", "one")
    convert(whole, "int8", "one")
    after = tensors_of(whole, "int8", "one")
    assert list(before) == list(after)
    assert all(torch.equal(before[name], after[name]) for name in before)


DECODERS = [
    config
    for config in every_variation(lambda kind: kind is GPT)
    if not needs_tree(config) and not isinstance(config.feed, Experts)
]


@pytest.mark.parametrize("config", DECODERS, ids=name_of_model)
@torch.no_grad()
def test_the_step_of_a_block_is_the_block(config: GPT):
    """Every attention, position, norm, feed-forward and wiring, uncompiled."""
    model = trained(config)
    tokens = torch.randint(VOCAB, (1, 9))
    state = model.init_state()
    model.step(tokens[:, :8], state)
    read: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    hooks = [
        block.register_forward_hook(lambda _, inputs, output, layer=layer: read.update({layer: (inputs[0], output)}))
        for layer, block in enumerate(model.decoder.blocks)
    ]
    rooms = [tuple(each.clone() for each in deepcopy(layer).extend()) for layer in state.layers]
    model.step(tokens[:, 8:], state)
    for hook in hooks:
        hook.remove()
    for layer, block in enumerate(model.decoder.blocks):
        step = BlockStep(deepcopy(block), position_of(model, layer), "float32", "one")
        weights = list(tensors_of(step.both, "float32", "one").values())
        x, expected = read[layer]
        output = step(x, torch.tensor([[8]]), *rooms[layer], weights)
        torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)


def test_layers_of_one_kind_share_a_compilation():
    plain = replace(SMALL, layers=4)
    assert [kind_of(plain, layer) for layer in range(4)] == [0, 0, 0, 0]
    assert [kind_of(replace(plain, alternate_position=Rotary(500.0)), layer) for layer in range(4)] == [0, 1, 0, 1]
    assert [kind_of(replace(plain, normed_input=True), layer) for layer in range(4)] == [0, 1, 1, 1]


needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(library.VARIABLE, str(tmp_path))
    monkeypatch.setattr(attach, "WORTH_COMPILING", 1)
    return tmp_path / "steps"


@pytest.fixture
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """By this process: another one would first import the compiler."""

    def work(words: list[str], **_: Any) -> subprocess.Popen[bytes]:
        monkeypatch.setattr("sys.argv", words[2:])
        with suppress(Exception), warnings.catch_warnings():  # it is recorded
            compile.main()
        return subprocess.Popen(["true"])

    monkeypatch.setattr(library, "subprocess", SimpleNamespace(Popen=work, DEVNULL=subprocess.DEVNULL))


@needs_compiler
def test_compiled_by_other_processes_it_writes_the_same(steps: Path):
    check_it_writes_the_same(SMALL, "int8", steps)


@needs_compiler
@pytest.mark.usefixtures("compiled_here")
def test_compiled_it_writes_the_same_with_the_parts_of_the_recipe(steps: Path):
    config = replace(SMALL, norm=LayerNorm(), feed=SquaredReLU(), kv_heads=None, query_norm=RMSNorm(), bias=True)
    check_it_writes_the_same(config, "bfloat16", steps)


def check_it_writes_the_same(config: GPT, precision: str, steps: Path) -> None:
    model = trained(config)
    plain = deepcopy(model)
    with torch.no_grad():  # weights that lose nothing by fewer bits
        for part in [*model.modules(), *plain.modules()]:
            if isinstance(part, Linear):
                if precision == "int8":
                    packed = Int8(part.weight)
                    part.weight.copy_(packed.matrix.float() * packed.scales.float()[:, None])
                part.weight.copy_(part.weight.bfloat16().float())
    expected = write(plain, plain.init_state(), PROMPT, None, 40)
    begun, written = model.init_state(), torch.tensor(expected)
    with torch.inference_mode():
        model.step(PROMPT, begun)
        model.step(written[:, :1], begun)
    assert compile_steps(model, precision, wait=True), [f.read_text() for f in steps.glob("*.failed")]
    with torch.inference_mode():  # a text that began before goes on by the compiled steps
        for place in range(1, 9):
            scores, _ = model.step(written[:, place : place + 1], begun)
            assert int(scores.argmax()) == int(written[0, place + 1])
    assert write(model, model.init_state(), PROMPT, None, 40) == expected
    assert write(model, model.init_state(2), PROMPT, None, 40) == expected  # the cache grows
    both_rows = write(model, model.init_state(2), PROMPT.expand(2, -1), None, 40)
    assert both_rows == [*expected, *expected]
    with listen(model) as heard:
        assert write(model, model.init_state(), PROMPT, None, 3) == [expected[0][:3]]
    assert heard.whole("decoder.0.attend.pattern").shape[-1] == 6
    other = trained(config)
    assert compile_steps(other, precision)  # the same file, at once
    assert [file.suffix for file in steps.iterdir()] == [".pt2", ".pt2"]  # for one text, and for several
    for file in steps.iterdir():
        os.chmod(file, 0o666)
    assert not compile_steps(trained(config), precision)  # somebody else may have written it


@needs_compiler
def test_a_step_that_cannot_be_compiled_changes_nothing(steps: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "false")
    model = trained(SMALL)
    expected = write(model, model.init_state(), PROMPT, None, 5)
    assert not compile_steps(model, "float32", wait=True)
    for failed in steps.iterdir():
        assert failed.suffix == library.FAILED
        assert "Traceback" in failed.read_text()
        again = library.start_compiling(model.config, 0, "float32", "one", failed)
        assert again is library.NotStarted.FAILED  # not tried again
    assert len(list(steps.iterdir())) == 2
    assert write(model, model.init_state(), PROMPT, None, 5) == expected


@pytest.fixture
def started(steps: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would compile; the processes do nothing."""
    commands: list[list[str]] = []
    steps.mkdir()
    idle = subprocess.Popen(["true"])
    idle.wait()
    monkeypatch.setattr(library, "compiler", lambda: "g++")
    monkeypatch.setattr(library.subprocess, "Popen", lambda words, **_: commands.append(words) or idle)
    return commands


def test_a_model_gets_the_steps_that_another_process_compiles(started: list[list[str]], steps: Path) -> None:
    model = trained(SMALL)
    path = library.path_of(model.config, 0, "float32", "one", steps)
    path.with_suffix(library.OUTPUT).touch()
    assert not compile_steps(model, "float32")
    assert not started
    waiting = model.decoder.compiled
    assert isinstance(waiting, attach.Steps)
    path.touch()
    attached: list[bool] = []
    waiting.attach = lambda: attached.append(True)
    with torch.inference_mode():
        model.step(PROMPT, model.init_state())
    assert attached


def test_a_process_that_was_killed_has_not_failed(started: list[list[str]], steps: Path) -> None:
    path = steps / "x.pt2"
    output = path.with_suffix(library.OUTPUT)
    output.write_text("a warning\n")
    assert library.start_compiling(SMALL, 0, "float32", "one", path) is library.NotStarted.ELSEWHERE
    os.utime(output, (0, 0))
    library.start_compiling(SMALL, 0, "float32", "one", path)
    assert len(started) == 1


def test_what_went_wrong_is_recorded_by_the_process_itself(steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.mkdir()
    settings, path = steps / "x.json", steps / "x.pt2"
    settings.write_text("{")
    path.with_suffix(library.OUTPUT).touch()
    monkeypatch.setattr("sys.argv", ["compile", str(settings), "0", "float32", "one", str(path)])
    with pytest.raises(ValueError, match="Expecting"):
        compile.main()
    assert [file.name for file in steps.iterdir()] == ["x.failed"]


def test_a_text_that_has_begun_is_written_as_it_began(steps: Path, monkeypatch: pytest.MonkeyPatch):
    """The file appears in the middle of a text: the next one is written by it."""
    calls: list[bool] = []
    monkeypatch.setattr(library, "start_compiling", lambda *_: type("Process", (), {"wait": lambda _: None})())
    monkeypatch.setattr(attach.CompiledLayers, "__init__", lambda *_: calls.append(True))
    monkeypatch.setattr(library, "load", lambda _: "package")
    model = trained(SMALL)
    compile_steps(model, "float32")
    state = model.init_state()
    with torch.inference_mode():
        model.step(PROMPT, state)
        path = library.path_of(model.config, 0, "float32", "one", steps)
        steps.mkdir()
        path.touch()
        model.step(PROMPT[:, :1], state)
        assert not calls
        model.step(PROMPT, model.init_state())
    assert calls


@needs_compiler
@pytest.mark.usefixtures("compiled_here")
def test_texts_of_different_lengths_are_written_together(steps: Path):
    """They begin at different places of the cache, some leave, and others join; the last one is written by itself."""
    model = trained(SMALL)
    plain = deepcopy(model)
    assert compile_steps(model, "float32", wait=True), [f.read_text() for f in steps.glob("*.failed")]
    texts = [torch.randint(VOCAB, (1, length)) for length in (9, 4, 70)]
    compiled = model.decoder.compiled
    assert isinstance(compiled, attach.Steps)
    calls: list[int] = []
    for form in compiled.forms.values():
        layers = form.layers
        assert layers is not None
        form.layers = lambda x, *more, layers=layers: calls.append(len(x)) or layers(x, *more)  # type: ignore[assignment]
    with torch.inference_mode():
        states = []
        for each in (model, plain):
            scores = []
            state = each.init_state()
            each.step(texts[0], state)
            for text in texts[1:]:
                other = each.init_state(text.shape[1])
                each.step(text, other)
                state = state.join(other)
                for _ in range(3):
                    step, state = each.step(torch.full((state.layers[0].rows, 1), 7), state)
                    scores.append(step)
            for left in ([2, 0], [1]):
                state = state.select(torch.tensor(left))
                step, state = each.step(torch.full((len(left), 1), 3), state)
                scores.append(step)
            states.append(scores)
        for ours, expected in zip(*states, strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-3)
    assert calls == [2, 2, 2, 3, 3, 3, 2, 1]


def test_small_models_and_other_models_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(library.VARIABLE, str(tmp_path))
    assert not compile_steps(trained(SMALL), "float32", wait=True)
    assert not compile_steps(Linear(512, 512), "float32", wait=True)
    assert not any(tmp_path.iterdir())


def test_an_adapter_is_not_compiled_away():
    layer = Linear(8, 8)
    layer.adapter = LoRA(rank=2).build(8, 8)
    with pytest.raises(ConfigError, match="merge the adapter"):
        tensors_of(torch.nn.ModuleDict({"block": layer}), "float32", "one")


def test_the_usual_precision_is_that_of_the_weights():
    model = trained(replace(SMALL, feed=GeGLU(64)))
    assert usual_precision(model) == "float32"
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.bfloat16())
    fast = BFloat16(torch.zeros(8, 8)).fast
    assert accelerate(model) == ("bfloat16" if fast else "float32")
    with pytest.raises(ConfigError, match="did you mean 'int8'"):
        accelerate(model, "int9")
