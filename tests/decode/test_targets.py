"""Targets: written by beam, scored by teacher forcing, aligned by attention; in Python and on the command line."""

import io
from dataclasses import replace
from inspect import unwrap
from pathlib import Path

import pytest
import torch

from regard.core.errors import ConfigError
from regard.decode import Beam
from regard.models import RNN, Transformer
from regard.parts import Additive
from regard.tasks import Classify, LanguageModel, MaskedLM, Run, Summarise, Task, Translate, save_run
from regard.tasks.seq2seq.alignment import align
from regard.tasks.seq2seq.loss import score_targets
from regard.tasks.seq2seq.writing import write_targets
from regard.text import BPE, Characters
from tests.command import regard

TEXTS = ["abc", "f", "", "fedcba", "aa", "bad", "cab", "dd", "e f"]


def a_run(config=None) -> Run:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    tokenizer = Characters().train(["abcdef "])
    config = config or Transformer(vocab=tokenizer.vocab, width=16, layers=2, heads=2, logit_bias=True)
    model = config.build().eval()
    if isinstance(config, Transformer):  # never a special token, which no text could show
        unheard = [token for token in range(5) if token != tokenizer.end]
        model.embedding.head_bias.data[unheard] = -1e9
    return Run(Path("nowhere"), config, model, tokenizer, task=Translate())


def test_a_text_scores_what_its_words_do_one_after_the_other():
    run = a_run()
    pairs = [("abc", "de"), ("f", ""), ("", "abcdef")]
    for (source, target), score in zip(pairs, run.score(pairs), strict=True):
        read, written = run.tokenizer.encode([source, target])
        answers = [*written, run.tokenizer.end]
        total = 0.0
        for place, answer in enumerate(answers):
            so_far = torch.tensor([[run.tokenizer.start, *written[:place]]])
            log_probabilities = run.model(torch.tensor([[*read, run.tokenizer.end]]), so_far)[0, -1].log_softmax(-1)
            total += log_probabilities[answer].item()
        assert score == pytest.approx(total / len(answers), abs=1e-5)
    assert score_targets(run.model, run.tokenizer, []) == []


def test_what_a_beam_scores_is_what_teacher_forcing_scores():
    run = a_run()
    result = run.translations(TEXTS, max_tokens=6, beam=Beam(4))
    for text, best in zip(TEXTS, result, strict=True):
        assert len(best) == 4
        scores = [one.score for one in best]
        assert scores == sorted(scores, reverse=True)
        ended = [one for one in best if len(run.tokenizer.encode([one.text])[0]) < 6]  # longer ones have no end
        for one, score in zip(ended, run.score([(text, one.text) for one in ended]), strict=True):
            assert one.score == pytest.approx(score, abs=1e-4)


def test_many_texts_are_written_as_one_is():
    run = a_run()
    for beam in (None, Beam(3)):
        together = write_targets(run.model, run.tokenizer, TEXTS, 6, beam=beam)
        alone = [write_targets(run.model, run.tokenizer, [text], 6, beam=beam)[0] for text in TEXTS]
        assert [[one.text for one in best] for best in together] == [[one.text for one in best] for best in alone]


def test_words_align_with_the_words_that_their_pieces_attend_to():
    """An attention made by hand: every row attends to the source token at its own position."""
    tokenizer = BPE(vocab=300).train(["ab cd ef gh"] * 5)

    class Diagonal(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cross = RNN(vocab=tokenizer.vocab, width=8, attention=Additive()).build().decoder.cross

        def forward(self, source, target, valid=None):  # type: ignore[no-untyped-def]
            if self.cross.pattern.watched:
                self.cross.pattern(torch.eye(target.shape[1], source.shape[1])[None, None])

    model = torch.nn.ModuleDict({"decoder": Diagonal()})
    model.forward = model["decoder"].forward  # type: ignore[method-assign]
    assert align(model, tokenizer, "ab cd ef", "ab cd ef") == [(0, 0), (1, 1), (2, 2)]
    assert align(model, tokenizer, "ab", "") == []
    assert align(model, tokenizer, " ", "ab") == align(model, tokenizer, "ab", " ") == []


@pytest.mark.parametrize("task", [Translate(), Summarise(), MaskedLM(), Classify(), LanguageModel()], ids=repr)
def test_a_text_by_itself_is_not_read_letter_by_letter(task: Task):
    run = replace(a_run(), task=task)
    lists = [run, *(getattr(run, name) for name in task.named if name not in ("score", "align", "generate", "chat"))]
    for method in lists:
        with pytest.raises(ConfigError, match=r"put \[ \] around a single one"):
            method("abc")


def test_a_pair_by_itself_is_not_read_text_by_text():
    with pytest.raises(ConfigError, match="a list of pairs"):
        unwrap(Translate.score)(Translate(), a_run(), ("ab", "cd"))  # tests check types before it can


def test_a_model_without_attention_aligns_nothing():
    tokenizer = Characters().train(["abcdef "])
    run = a_run(RNN(vocab=tokenizer.vocab, width=8, attention=None))
    assert align(run.model, run.tokenizer, "ab", "cd") is None


def test_the_command_line_prints_what_python_gives(tmp_path, monkeypatch, capsys):
    made = a_run()
    save_run(tmp_path / "run", made.config, made.model, made.task, made.tokenizer)

    def output(*words: object) -> list[list[str]]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"abc\nfed cba\n")))
        assert regard("translate", tmp_path / "run", "--max-tokens", 5, *words) == 0
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    texts = ["abc", "fed cba"]
    best = made.translations(texts, 5, beam=Beam(3))
    assert output("--beam", 3) == [[one[0].text] for one in best]
    nbest = output("--beam", 3, "--nbest", 2)
    assert [line[0] for line in nbest] == ["1", "1", "2", "2"]
    assert [line[2] for line in nbest] == [one.text for result in best for one in result[:2]]
    assert [float(line[1]) for line in nbest] == pytest.approx(
        [one.score for result in best for one in result[:2]], abs=1e-4
    )
    greedy = made.translate(texts, 5)
    scored = output("--scores", "--align")
    assert [line[1] for line in scored] == greedy
    assert [float(line[0]) for line in scored] == pytest.approx(
        made.score(list(zip(texts, greedy, strict=True))), abs=1e-4
    )
    for line, text, written in zip(scored, texts, greedy, strict=True):
        assert line[2] == " ".join(f"{read}-{word}" for read, word in made.align(text, written))


def test_more_translations_than_beams_are_refused(tmp_path, capsys):
    assert regard("translate", tmp_path, "--nbest", 3) == 2
    assert "--beam 3" in capsys.readouterr().err
