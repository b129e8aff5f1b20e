"""The command line as a person meets it: fast help, one line for each mistake, nothing lost."""

import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.cli import main
from regard.core.errors import UserError
from regard.models import GPT
from regard.parts import RMSNorm, SwiGLU
from regard.tasks import load_run, save_run
from regard.text import Characters
from tests.command import regard
from tests.train.tiny import train_tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "tiny"
    train_tiny(out)
    return out


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_help_answers_at_once():
    """In 0.3 s or, on a slow machine, in thrice what the libraries of the command line take by themselves."""
    libraries = [sys.executable, "-c", "import cyclopts, rich.console, rich.table, rich.panel"]
    times = {"help": [], "libraries": []}
    for _ in range(3):
        times["help"].append(processor_seconds([sys.executable, "-m", "regard", "--help"]))
        times["libraries"].append(processor_seconds(libraries))
    assert min(times["help"]) < max(0.3, 3 * min(times["libraries"])), times


def processor_seconds(command: list[str]) -> float:
    """Of processor time, so that a busy machine does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert subprocess.run(command, capture_output=True).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_imports_nothing_heavy():
    code = "import sys, regard.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "numpy", "pandas", "sklearn", "matplotlib", "PIL", "fastapi", "tokenizers", "pyarrow"}
    assert not heavy & set(done.stdout.split())


def test_every_verb_stands_in_one_panel_of_the_help(capsys: pytest.CaptureFixture):
    from regard.cli.app import app
    from regard.cli.panels import PANELS

    placed = [verb for verbs in PANELS.values() for verb in verbs]
    assert sorted(placed) == sorted(set(app) - {"-h"})
    with pytest.raises(SystemExit):
        main(["--help"])
    page = capsys.readouterr().out
    assert [page.index(title) for title in PANELS] == sorted(page.index(title) for title in PANELS)
    assert "False" not in page
    verbs = [verb for title, own in PANELS.items() if title != "Options" for verb in own]
    places = [page.index(f"│ {verb} ") for verb in verbs]
    assert places == sorted(places), "in the order of a day, not of the alphabet"


def test_help_breaks_lines_where_the_screen_ends_and_speaks_of_settings_only_where_there_are(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "300")
    for words, message in (
        ("evaluate", "or for a translator two parallel files or one of pairs; a summariser"),
        ("doctor", ""),
    ):
        with pytest.raises(SystemExit):
            main([words, "--help"])
        page = capsys.readouterr().out
        assert message in page
        assert "dotted options" not in page


@pytest.mark.usefixtures("in_empty_folder")
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["trian"], 2, 'Did you mean "train"?'),
        (
            ["train", "dates"],
            2,
            "train dates: --out is missing; add the folder or file to write",
        ),
        (["train", "dates", "--out"], 2, "--out requires an argument"),
        (["train", "dates", "--ot", "x"], 2, "Did you mean --out instead of --ot?"),
        (["show"], 2, "show: RUN is missing; `regard show --help` tells what it is"),
        (["train", "dates", "--out", "x", "--ressume"], 2, "Did you mean --resume?"),
        (["train", "dates", "--out", "x", "--model.layerz", "3"], 2, "'model.layerz'; did you mean 'model.layers'?"),
        (["train", "dates", "--out", "x", "--modl.layers", "3"], 2, "'modl'; did you mean 'model'?"),
        (
            ["train", "dates", "--out", "x", "--model.layers", "many"],
            2,
            "model.layers: expects a whole number",
        ),
        (["train", "dates", "--out", "x", "--model.layers"], 2, "--model.layers: needs a value"),
        (["train", "dates", "--out", "x", "--model.attention", "bigbird"], 2, "did you mean 'BigBird'?"),
        (["train", "dates", "--out", "x", "--model.heads", "3"], 2, "width 128 is not divisible by heads 3"),
        (["train", "dates", "--out", "x", "--model", "Tranformer"], 2, "did you mean 'Transformer'?"),
        (["train", "dates", "--out", "x", "--steps", "-1"], 2, "regard: --steps: must be at least 1, not -1"),
        (["train", "dates", "--out", "x", "--data.train", "-1"], 2, "regard: data.train: must be at least"),
        (["train", "dates", "--out", "x", "--processes", "0"], 2, "regard: --processes: must be at least 1, not 0"),
        (["train", "image", "--train", "y", "--out", "x", "--tokenizer", "z"], 2, "Unknown option: --tokenizer"),
        (["train", "dates", "--out", "x", "--training.schedule.floor", "[1,"], 2, "is not a value"),
        (["train", "dates", "--out", "x", "--training.compile", "off"], 2, "one of auto, always, never, not False"),
        (["train", "dates", "--out", "x", "--training.optimiser.lr", "nan"], 2, "lr: must be at least 0"),
        (["train", "dates", "--out", "x", "--training.seed", "-1"], 2, "seed: must be at least 0"),
        (["train", "dates", "--out", "x", "--epochs", "inf"], 2, "--epochs: must be more than 0 and finite, not inf"),
        (["train", "dates", "--out", "x", "--model.width", "2020-13-45"], 2, "is not a value"),
        (["train", "dates", "--out", "x", "--model.layers", "100000000"], 2, "layers: at most 4096"),
        (["translate", "nowhere"], 1, "nowhere: there is no such folder"),
        (["show", "."], 1, "is neither a run folder"),
        (["show", "x", "--model.layers", "3"], 2, "this verb has no such settings"),
        (["translate", "x", "--beam", "0"], 2, "--beam: must be at least 1, not 0"),
        (["translate", "x", "--nbest", "-1", "--beam", "3"], 2, "--nbest: must be at least 1, not -1"),
        (["summarise", "x", "--beam", "0"], 2, "--beam: must be at least 1, not 0"),
        (["evaluate", "x", "y", "--beam", "-3"], 2, "--beam: must be at least 1, not -3"),
        (["generate", "x", "--top-k", "0"], 2, "--top-k: must be at least 1, not 0"),
        (["generate", "x", "--seed", str(10**30)], 2, "--seed: must be at least 0 and below 2**63"),
        (["study", "distance", "--out", "x", "--processes", "0"], 2, "--processes: must be at least 1, not 0"),
        (["view", "nowhere"], 1, "nowhere: no such run folder"),
        (["view", "x", "--export", "."], 1, ".: is a folder; --export needs a file such as view.html"),
        (["view", "x", "--export", "y/z.html"], 1, "y: no such folder"),
        (["export", "x", "--to", "onx", "--out", "y"], 2, 'Did you mean "onnx"?'),
    ],
)
def test_a_mistake_is_one_line_that_names_it(
    words: list[str], code: int, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture
):
    with pytest.raises(SystemExit) as ended:
        main(words)
    output = capsys.readouterr().err
    assert ended.value.code == code
    assert output.startswith("regard: ")
    assert output.count("\n") == 1
    assert expected in output
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture):
    with pytest.raises(UserError):
        main(["show", "nowhere", "--debug"])
    with pytest.raises(SystemExit):
        main(["show", "nowhere"])
    assert "Traceback" not in capsys.readouterr().err


def test_translate_reads_lines_and_writes_as_many(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("3 mai 2020\n\nam 1. März 1999".encode())))
    assert regard("translate", run) == 0
    assert capsys.readouterr().out.count("\n") == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert regard("translate", run) == 0
    assert capsys.readouterr().out == ""


def test_a_byte_order_mark_is_no_part_of_the_first_line(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    output = []
    for mark in (b"", b"\xef\xbb\xbf"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(mark + b"3 mai 2020\n")))
        assert regard("translate", run) == 0
        output.append(capsys.readouterr().out)
    assert output[0] == output[1]


def test_bytes_that_are_not_text_are_named_by_line(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"3 mai 2020\n\xff\xfe\n")))
    assert regard("translate", run) == 1
    out, err = capsys.readouterr()
    assert err == "regard: standard input, line 2: is not UTF-8\n"
    assert out == "", "nothing is written when not everything can be"


def test_a_reader_who_leaves_early_is_no_error(run: Path):
    """With buffered output, as everywhere but under test: the pipe breaks only when it is flushed."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    python = f"{sys.executable} -m regard"
    words = f"yes '3 mai 2020' | head -50 | {python} translate {run} --max-tokens 12 | true; echo ${{PIPESTATUS[2]}}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, env=buffered)
    assert (done.stdout, done.stderr) == ("0\n", "")
    full = subprocess.run(["bash", "-c", f"{python} completion bash > /dev/full"], capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (1, "regard: standard output: No space left on device\n")


def test_names_with_brackets_are_only_names(tmp_path: Path):
    small = ["--steps", "1", "--data.train", "20", "--data.valid", "4", "--data.test", "4", "--model.width", "16"]
    with pytest.raises(SystemExit) as ended:
        main(["train", "dates", "--out", str(tmp_path / "d[/x] [bold]"), *small])
    assert ended.value.code == 0


def test_show_describes_a_run(run: Path, capsys: pytest.CaptureFixture):
    assert regard("show", run) == 0
    output = capsys.readouterr().out
    assert "Transformer" in output
    assert "parameters" in output
    assert "validation loss" in output
    assert not [line for line in output.splitlines() if line.startswith("lr")], "settings are no scores"


def test_show_settings_prints_a_config_that_can_be_read_back(tmp_path: Path, capsys: pytest.CaptureFixture):
    from regard.core.config import from_yaml
    from regard.tasks.plan import Plan

    words = [
        "--model.attention",
        "Window",
        "--model.attention.reach=8",
        "--minutes",
        "2",
        "--training.optimiser",
        "Muon",
    ]
    assert regard("train", "dates", "--out", tmp_path / "x", "--show-settings", *words) == 0
    (tmp_path / "plan.yaml").write_text(capsys.readouterr().out)
    plan = from_yaml(Plan, tmp_path / "plan.yaml")
    assert plan.model.attention.reach == 8  # type: ignore[union-attr]
    assert (plan.training.steps, plan.training.minutes) == (None, 2.0)
    assert type(plan.training.optimiser).__name__ == "Muon"


@pytest.mark.parametrize("model", ["RNN", "Transformer"])
@pytest.mark.parametrize("attention", ["Full", "Additive"])
def test_every_translating_model_trains_from_the_command_line(model: str, attention: str, tmp_path: Path):
    words = ["--model", model, "--model.width", "16", "--model.attention", attention]
    small = ["--steps", "2", "--data.train", "20", "--data.valid", "4", "--data.test", "4"]
    with pytest.raises(SystemExit) as ended:
        main(["train", "dates", "--out", str(tmp_path / "x"), *words, *small])
    assert ended.value.code == 0
    assert type(load_run(tmp_path / "x").config).__name__ == model
    assert len(load_run(tmp_path / "x").translate(["3 mai 2020"])) == 1


def test_export_writes_what_transformers_loads(tmp_path: Path, capsys: pytest.CaptureFixture):
    transformers = pytest.importorskip("transformers")
    tokenizer = Characters().train(["to be or not to be"])
    config = GPT(vocab=tokenizer.vocab, width=16, layers=2, heads=2, norm=RMSNorm(), feed=SwiGLU(), bias=False)
    model = config.build().eval()
    save_run(tmp_path / "run", config, model, tokenizer=tokenizer)
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "run"), "--to", "huggingface", "--out", str(tmp_path / "hf")])
    assert ended.value.code == 0
    assert f"LlamaForCausalLM.from_pretrained({str(tmp_path / 'hf')!r})" in capsys.readouterr().out
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    tokens = torch.tensor(tokenizer.encode(["not to be"]))
    with torch.no_grad():
        assert torch.allclose(theirs(tokens).logits, model(tokens), atol=1e-5)
        assert torch.allclose(load_run(tmp_path / "hf").model(tokens), model(tokens), atol=1e-6)
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "run"), "--to", "huggingface", "--out", str(tmp_path / "hf")])
