"""Tokenizers of other libraries' folders: the same tokens and the same texts as `transformers` gives."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer as Engine

import regard
from regard.core.errors import UserError
from regard.decode import Sampling, continuation
from tests.command import regard as command
from tests.interop.worded import PAIRS, PROMPTS, WRITERS, folder

GREEDY = Sampling(temperature=0.0)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    kept = tmp_path_factory.mktemp("worded")
    for name in (*WRITERS, *PAIRS):
        folder(name, kept / name)
    return kept


@pytest.fixture
def copy(shelf, tmp_path):
    def copied(name, *without):
        for file in (shelf / name).iterdir():
            if file.name not in without:
                (tmp_path / file.name).write_bytes(file.read_bytes())
        return tmp_path

    return copied


def theirs(path: Path, prompt: str, count: int, *, pair: bool = False) -> str:
    """The text after the prompt, or the target of a source, as `transformers` writes it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    auto = transformers.AutoModelForSeq2SeqLM if pair else transformers.AutoModelForCausalLM
    model = auto.from_pretrained(path).eval()
    given = tokenizer(prompt, return_tensors="pt").input_ids
    if not given.numel():
        given = torch.tensor([[model.config.bos_token_id]])
    limit = {"max_new_tokens": count, "do_sample": False, "num_beams": 1}
    [out] = model.generate(given.long(), **limit, attention_mask=torch.ones_like(given))
    if pair:
        return tokenizer.decode(out, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    whole = tokenizer.decode(out, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    begun = tokenizer.decode(given[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return whole.removeprefix(begun)


@pytest.mark.parametrize("name", WRITERS)
def test_writers_read_and_write_as_transformers(name, shelf):
    run, other = regard.load(shelf / name), transformers.AutoTokenizer.from_pretrained(shelf / name)
    assert run.tokenizer is not None
    for prompt in PROMPTS:
        assert run.tokenizer.prompt(prompt) == (other(prompt).input_ids or [other.bos_token_id])
        assert "".join(run.generate(prompt, 12, GREEDY)) == theirs(shelf / name, prompt, 12)


@pytest.mark.parametrize("name", PAIRS)
def test_translators_read_and_write_as_transformers(name, shelf):
    run, other = regard.load(shelf / name), transformers.AutoTokenizer.from_pretrained(shelf / name)
    assert run.tokenizer is not None
    for source in PROMPTS:
        assert [*run.tokenizer.encode([source])[0], run.tokenizer.end] == other(source).input_ids
    answers = run.translate(PROMPTS, 12)
    assert answers == [theirs(shelf / name, source, 12, pair=True) for source in PROMPTS]
    assert any(answers)


def test_what_comes_in_pieces_is_the_whole_text(shelf):
    """A tokenizer of the Llama kind drops the first space of what it decodes: it belongs between prompt and answer."""
    tokenizer = regard.load(shelf / "llama").tokenizer
    given, written = tokenizer.encode(["Two dogs", "sleep"])
    assert tokenizer.decode([written]) == ["sleep"]
    assert continuation(tokenizer, given, written) == " sleep"


def test_the_command_line_takes_such_folders(shelf, capsys):
    assert command("generate", shelf / "llama", "--prompt", "Two dogs", "--max-tokens", 8, "--temperature", 0) == 0
    assert capsys.readouterr().out == f"Two dogs{theirs(shelf / 'llama', 'Two dogs', 8)}\n"


def test_a_writer_stops_at_any_of_several_ends(copy):
    path = copy("gpt2")
    run = regard.load(path)
    whole = "".join(run.generate("Two dogs", 8, GREEDY))
    given = torch.tensor([run.tokenizer.prompt("Two dogs")])
    third = run.model(given)[0, -1].argmax()
    for _ in range(2):
        given = torch.cat([given, third[None, None]], 1)
        third = run.model(given)[0, -1].argmax()
    change(path / "generation_config.json", eos_token_id=[0, int(third)])
    short = "".join(regard.load(path).generate("Two dogs", 8, GREEDY))
    assert short == theirs(path, "Two dogs", 8).removesuffix(run.tokenizer.decode([[int(third)]])[0])
    assert len(short) < len(whole)


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def without(file: Path, *keys: str) -> None:
    file.write_text(json.dumps({key: value for key, value in json.loads(file.read_text()).items() if key not in keys}))


def test_names_serve_where_ids_are_not_told(copy):
    path = copy("neox", "generation_config.json")
    without(path / "config.json", "bos_token_id", "eos_token_id", "pad_token_id")
    tokenizer = regard.load(path).tokenizer
    assert (tokenizer.pad, tokenizer.start, tokenizer.end) == (1, 0, 0)
    change(path / "tokenizer_config.json", eos_token={"content": "<|padding|>", "lstrip": False})
    assert regard.load(path).tokenizer.end == 1


def test_ids_beyond_the_model_are_not_believed(copy):
    """What a config says by default, of a vocabulary that is not this one."""
    path = copy("gpt2")
    for file in ("config.json", "generation_config.json"):
        change(path / file, bos_token_id=50256, eos_token_id=50256)
    tokenizer = regard.load(path).tokenizer
    assert (tokenizer.pad, tokenizer.start, tokenizer.end) == (0, 0, 0)


def test_the_two_files_of_gpt2_serve_as_well(shelf, copy):
    path = copy("gpt2", "tokenizer.json")
    Engine.from_file(str(shelf / "gpt2" / "tokenizer.json")).model.save(str(path))
    run, other = regard.load(path), transformers.AutoTokenizer.from_pretrained(shelf / "gpt2")
    for prompt in PROMPTS:
        assert run.tokenizer.encode([prompt])[0] == other(prompt).input_ids
    assert "".join(run.generate("Two dogs", 12, GREEDY)) == theirs(shelf / "gpt2", "Two dogs", 12)


def test_the_word_list_of_bert_serves_as_well(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "two", "dog", "##s", "play", "cafe", ".", ","]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(words), **sizes)).save_pretrained(tmp_path)
    run, other = regard.load(tmp_path), transformers.BertTokenizer.from_pretrained(tmp_path)
    for text in ("Two dogs play.", "TWO cafés, dog", "[MASK"):
        own = [run.tokenizer.start, *run.tokenizer.encode([text])[0], run.tokenizer.end]
        assert own == other(text).input_ids
    assert run.tokenizer.mask == 4
    assert "[MASK]" not in run.fill(["two [MASK]."])[0]


def test_what_is_missing_is_told_with_how_to_get_it(copy, capsys):
    path = copy("t5", "tokenizer.json")
    (path / "spiece.model").write_bytes(b"\x0a\x0e")
    run = regard.load(path)
    with pytest.raises(UserError, match=r"spiece\.model: is not a SentencePiece model that can be read"):
        run.translate(["Two dogs"])
    (path / "spiece.model").unlink()
    with pytest.raises(UserError, match=r"has no tokenizer\.json; transformers writes one"):
        run = regard.load(path).translate(["Two dogs"])


@pytest.mark.parametrize("name", WRITERS)
def test_a_broken_tokenizer_leaves_the_model(name, copy):
    path = copy(name)
    (path / "tokenizer.json").write_text("{}")
    run = regard.load(path)
    assert run.model(torch.tensor([[1, 2]])).shape[:2] == (1, 2)
    with pytest.raises(UserError, match="its tokenizer cannot be read"):
        run.generate("Two dogs")
    assert command("generate", path, "--prompt", "Two dogs") != 0


def test_tokens_that_the_model_lacks_are_refused_unless_no_text_has_them(copy):
    path = copy("gpt2")
    engine = Engine.from_file(str(path / "tokenizer.json"))
    engine.add_special_tokens([f"<|{number}|>" for number in range(9)])
    engine.save(str(path / "tokenizer.json"))
    assert regard.load(path).tokenizer is not None
    engine.add_tokens(["Zwei Hunde"])
    engine.save(str(path / "tokenizer.json"))
    with pytest.raises(UserError, match=r"has tokens up to number 32\d, the model only 323"):
        regard.load(path).generate("Two dogs")


def test_a_tokenizer_that_names_no_end(copy):
    path = copy("gpt2", "generation_config.json", "tokenizer_config.json")
    without(path / "config.json", "eos_token_id")
    engine = Engine.from_str((path / "tokenizer.json").read_text().replace("<|endoftext|>", "<|odd|>"))
    engine.save(str(path / "tokenizer.json"))
    with pytest.raises(UserError, match="names no token that ends a text"):
        regard.load(path).generate("Two dogs")
