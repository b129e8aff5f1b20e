"""A language model from a file to a text, through the command line and in Python."""

import json
from pathlib import Path

import pytest
import torch

from regard.core.errors import ConfigError, UserError
from regard.decode import Sampling
from regard.models import GPT
from regard.parts import Learned, SameDocument
from regard.parts.positions import Positions
from regard.store import read_metrics
from regard.tasks import load_run, save_run
from regard.text import Bytes
from tests.command import regard
from tests.train.tiny import save_untrained

SMALL = [
    "--steps=6",
    "--training.batch_size=4",
    "--model.width=16",
    "--model.heads=2",
    "--model.layers=2",
    "--data.length=16",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text("to be, or not to be: that is the question.\n" * 60)
    return path


@pytest.fixture(scope="module")
def run(corpus: Path) -> Path:
    out = corpus.parent / "lm"
    assert regard("train", "lm", "--data", corpus, "--out", out, *SMALL) == 0
    return out


def test_the_folder_holds_scores_tokens_and_a_card(run: Path):
    last = read_metrics(run)[-1]
    assert last["perplexity"] == pytest.approx(2.718281828 ** last["loss"], rel=1e-4)
    assert last["bits_per_character"] == pytest.approx(last["loss"] / 0.6931472, rel=1e-4), (
        "a token is a character here"
    )
    assert (run / "tokens" / "train.tokens").exists()
    assert "perplexity" in (run / "card.md").read_text()
    assert not list(run.parent.glob(".*.part"))


def test_a_resumed_run_uses_the_tokens_it_has(run: Path, corpus: Path):
    assert regard("train", "lm", "--data", corpus, "--out", run, "--resume", "--steps", "8") == 0
    assert max(line["step"] for line in read_metrics(run)) == 8


def test_nothing_of_a_stop_text_is_shown_even_at_the_start(run: Path):
    model = load_run(run)
    text = "".join(model.generate("to be", 30, Sampling(seed=1)))
    for stop in (text[:6], text[:1], text[3:20]):
        assert "".join(model.generate("to be", 30, Sampling(seed=1), stop=(stop, "never"))) == text[: text.index(stop)]


def test_generating_streams_stops_and_repeats(run: Path):
    model = load_run(run)
    pieces = list(model.generate("to be", 30, Sampling(seed=1)))
    assert len(pieces) > 5, "it comes in pieces"
    text = "".join(pieces)
    assert text == "".join(model.generate("to be", 30, Sampling(seed=1)))
    stop = text[10:12]
    assert "".join(model.generate("to be", 30, Sampling(seed=1), stop=(stop,))) == text[: text.index(stop)]
    assert "".join(model.generate("", 5, Sampling(seed=1)))


def test_the_command_writes_the_prompt_and_what_follows(run: Path, capsys: pytest.CaptureFixture):
    assert regard("generate", run, "--prompt", "to be", "--max-tokens", "20", "--temperature", "0") == 0
    output = capsys.readouterr().out
    assert output.startswith("to be")
    assert output.endswith("\n")
    assert regard("generate", run, "--prompt", "to be", "--max-tokens", "0") == 2
    assert regard("generate", run, "--prompt", "to be", "--stop", "") == 2
    assert capsys.readouterr().out == "", "a mistake is found before anything is written"
    assert regard("generate", run, "--top-p", "2") == 2


def test_tokens_that_never_occurred_in_training_are_noted(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert regard("generate", run, "--prompt", "to Ж", "--max-tokens", "3") == 0
    assert "note: 1 of 4 tokens of the prompt never occur" in capsys.readouterr().err
    (tmp_path / "x.txt").write_text("ЖЖЖЖ" * 20)
    assert regard("evaluate", run, tmp_path / "x.txt", "--json") == 0
    output = capsys.readouterr()
    assert "note: 80 of 80 tokens" in output.err
    scores = json.loads(output.out)
    assert scores["bits_per_character"] == pytest.approx(scores["loss"] / 0.6931472, rel=1e-4)


def test_what_has_no_meaning_for_a_language_model_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "x.txt").write_text("a")
    assert regard("evaluate", run, tmp_path / "x.txt") == 1
    assert f"{tmp_path / 'x.txt'}: 1 tokens are too few" in capsys.readouterr().err
    for option in ("--beam", "--max-tokens"):
        assert regard("evaluate", run, tmp_path / "x.txt", option, "5") == 2
        assert f"{option}: has no effect on {run}, whose task is LanguageModel" in capsys.readouterr().err


def test_show_distinguishes_the_losses(run: Path, capsys: pytest.CaptureFixture):
    assert regard("show", run) == 0
    output = capsys.readouterr().out
    last = [line["loss"] for line in read_metrics(run) if "lr_multiplier" in line][-1]
    assert f"training loss: {last:.4f} at" in output
    best = min(line["valid"] for line in read_metrics(run) if "valid" in line)
    assert f"best validation loss: {best:.4f} at" in output
    assert "made by: regard" in output


def test_a_folder_that_is_taken_is_refused_before_the_text_is_read(run: Path, capsys: pytest.CaptureFixture):
    assert regard("train", "lm", "--data", "nowhere.txt", "--out", run, *SMALL) == 1
    assert "already holds a run; continue it with --resume, replace it with --overwrite" in capsys.readouterr().err


def test_evaluating_the_validation_text_gives_the_score_of_training(
    run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    text = corpus.read_text()
    (tmp_path / "valid.txt").write_text(text[int(len(text) * 0.9) :])
    assert regard("evaluate", run, tmp_path / "valid.txt", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    last = [line for line in read_metrics(run) if "perplexity" in line][-1]
    assert output["loss"] == pytest.approx(last["loss"], abs=1e-5)
    assert output["protocol"] == "windows of 16 tokens that do not overlap"
    assert regard("evaluate", run, tmp_path / "valid.txt") == 0
    assert "perplexity: " in capsys.readouterr().out
    assert regard("evaluate", run) == 2


def test_half_a_character_is_held_back(tmp_path: Path):
    """A model of bytes that always writes the two bytes of ü: never a replacement character on the way."""
    tokenizer = Bytes().train([])
    [first, second] = tokenizer.encode(["ü"])[0]
    config = GPT(vocab=tokenizer.vocab, width=16, layers=1, heads=2, tied=False)
    model = config.build().eval()
    with torch.no_grad():
        model.embedding.table.weight.zero_()
        model.embedding.table.weight[first, 0] = model.embedding.table.weight[second, 1] = 100.0
        for p in (p for block in model.decoder.blocks for p in block.parameters()):
            p.zero_()
        model.embedding.head.zero_()
        model.embedding.head[second, 0] = model.embedding.head[first, 1] = 10.0
    save_run(tmp_path / "run", config, model, tokenizer=tokenizer)
    pieces = list(load_run(tmp_path / "run").generate("ü", 6, Sampling(temperature=0)))
    assert "".join(pieces) == "üüü"
    assert all("\ufffd" not in piece for piece in pieces)


def test_writing_ends_where_the_table_of_positions_does(tmp_path: Path, capsys: pytest.CaptureFixture):
    tokenizer = Bytes().train([])
    config = GPT(vocab=tokenizer.vocab, width=16, layers=1, heads=2, position=Learned(length=8), tied=False)
    model = config.build()
    with torch.no_grad():  # it always writes x
        model.decoder.norm.weight.zero_()
        model.decoder.norm.bias.fill_(1.0)
        model.embedding.head[tokenizer.encode(["x"])[0]] = 1.0
    save_run(tmp_path / "run", config, model, tokenizer=tokenizer)
    assert regard("generate", tmp_path / "run", "--prompt", "abc", "--max-tokens", 10**9, "--temperature", 0) == 0
    output = capsys.readouterr()
    assert output.out == "abcxxxxxx\n"
    assert "has positions for at most 6 tokens after this prompt" in output.err
    with pytest.raises(ConfigError, match="has 9 tokens, and the model has 8 positions"):
        load_run(tmp_path / "run").generate("abcdefghi")


def test_a_model_that_does_not_write_says_so(tmp_path: Path):
    save_untrained(tmp_path / "run")
    with pytest.raises(UserError, match="has no 'generate': its task is Translate"):
        load_run(tmp_path / "run").generate("x")


def test_the_text_of_records_is_called_as_the_user_says(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.csv").write_text("who,body\n" + "Ada,to be or not to be\n" * 50)
    data = ["train", "lm", "--data", tmp_path / "a.csv", "--out", tmp_path / "x", *SMALL]
    assert regard(*data) == 1
    assert (
        "has no column 'text'; known: body, who; set the name of the text column with --columns"
        in capsys.readouterr().err
    )
    assert regard(*data, "--columns", "body") == 0
    capsys.readouterr()
    assert regard("evaluate", tmp_path / "x", tmp_path / "a.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 50 * len("to be or not to be.") - 1


@pytest.mark.parametrize("more", [["--data.tokenizer=BPE", "--data.tokenizer.vocab=300"], ["--model.attention=Window"],
                                  ["--model.position=ALiBi"], ["--model.feed=Experts"],
                                  ["--model.attention=Compressed", "--model.bigram=null"]])  # fmt: skip
def test_every_part_can_be_chosen(more: list[str], corpus: Path, tmp_path: Path):
    assert regard("train", "lm", "--data", corpus, "--out", tmp_path / "x", *SMALL, *more) == 0


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [(b"", [], "too few"), (b"abc\xff" * 50, [], "is not UTF-8"),
     (b"abc " * 50, ["--model=BERT"], "BERT generates no text; choose GPT or RNNLM"),
     (b"abc " * 50, ["--model.attention=Linformer"], "cannot hide the future"),
     (b"abc " * 50, ["--columns", "body"], "plain text has no columns"),
     (b"abc " * 500, ["--data.tokenizer=BPE", "--data.tokenizer.vocab=3"], "must be at least")],
)  # fmt: skip
def test_what_cannot_be_learned_from_is_one_line(
    text: bytes, more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture
):
    (tmp_path / "a.txt").write_bytes(text)
    assert regard("train", "lm", "--data", tmp_path / "a.txt", "--out", tmp_path / "x", *SMALL, *more) in (1, 2)
    error = capsys.readouterr().err
    [line] = [line for line in error.splitlines() if line.startswith("regard: ")]  # why the settings are stands before
    assert message in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"], "nothing is left behind"


@pytest.mark.parametrize("position", ["Rotary", "Learned", "ALiBi", "T5Bias", "Sinusoid"])
@pytest.mark.parametrize("attention", ["Full", "Window", "BigBird", "Compressed"])
def test_documents_in_a_window_do_not_see_each_other(position: str, attention: str):
    """The loss of packed documents is that of each document alone behind an end token."""
    from regard.core.config import from_dict
    from regard.data.text.windows import WindowBatch, Windows
    from regard.tasks.lm.task import LanguageModel

    if position in ("ALiBi", "T5Bias") and attention == "Compressed":
        pytest.skip("slots take no bias")
    torch.manual_seed(0)
    parts = {"position": {"kind": position}, "attention": {"kind": attention}}
    config = from_dict(GPT, {"vocab": 20, "width": 16, "heads": 2, "layers": 2, "dropout": 0.0, **parts})
    model, task, end = config.build().eval(), LanguageModel(), 2
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    texts = [[5, 6, 7, 8, 9, 10], [11, 12, 13], [14, 5, 14, 6, 7, 7, 7]]
    stream = [end, *(token for text in texts for token in (*text, end))]
    packed = next(Windows(torch.tensor(stream).numpy(), len(stream) - 1, 1, end=end).once())
    alone = [torch.tensor([[end, *text, end]]) for text in texts]
    single = [
        WindowBatch(row[:, :-1], row[:, 1:], torch.ones_like(row[:, 1:], dtype=torch.bool), None) for row in alone
    ]
    if attention == "Compressed":  # slots are counted from the start of the row
        touched = packed.tokens.clone()
        touched[0, 1:6] = 15
        logits = [
            model(tokens, SameDocument(packed.packing.document), Positions(packed.packing.index))[0, 8:]
            for tokens in (packed.tokens, touched)
        ]
        torch.testing.assert_close(*logits)
    elif attention != "BigBird":  # its global block is that of the row
        each = torch.stack([task.loss(model, batch).total for batch in single])
        torch.testing.assert_close(task.loss(model, packed).total, each.sum(), rtol=1e-4, atol=1e-4)
    assert packed.size == len(stream) - 1


def test_a_folder_of_files_is_trained_on_with_documents_apart_or_joined(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "texts").mkdir()
    for number in range(30):
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{number}: to be, or not to be. é" * 3)
    out = tmp_path / "run"
    assert regard("train", "lm", "--data", tmp_path / "texts", "--out", out, *SMALL) == 0
    assert "documents are kept apart" in capsys.readouterr().err
    assert regard("evaluate", out, tmp_path / "texts", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    size = sum(len(path.read_bytes()) for path in (tmp_path / "texts").iterdir())
    assert size - 1 == scores["bytes"], "all but the first character, which nothing predicts"
    assert scores["bits_per_byte"] == pytest.approx(scores["loss"] * scores["tokens"] / scores["bytes"] / 0.6931472)
    assert "documents apart" in scores["protocol"]
    joined = [*SMALL, "--task.join_documents", "true"]
    assert regard("train", "lm", "--data", tmp_path / "texts", "--out", tmp_path / "joined", *joined) == 0
    assert regard("evaluate", tmp_path / "joined", tmp_path / "texts", "--json") == 0
    assert "apart" not in json.loads(capsys.readouterr().out)["protocol"]


def test_a_separator_may_be_typed_with_escapes(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.txt").write_text("one two three\n\n" * 40)
    out = tmp_path / "run"
    assert regard("train", "lm", "--data", tmp_path / "a.txt", "--separator", r"\n\n", "--out", out, *SMALL) == 0
    assert (out / "tokens" / "valid.tokens").exists(), "whole documents are held out"
    capsys.readouterr()
    assert regard("evaluate", out, tmp_path / "a.txt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 40 * 14 - 1
