"""How fast texts are written: with the cache and without, and beside Hugging Face's `generate` on the same weights.

    python benchmarks/text/decoding.py --translator RUN --sources test2016.en --lm RUN     cache against no cache
    python benchmarks/text/decoding.py --marian                                            beside `generate`
    … --json benchmarks/text/results/decoding.json                                         and keep the document

Without a cache a model reads everything again for each word; the encoder's memory is kept in both. Both ways must write
the same texts, or the run ends with an error. `--marian` makes random weights in the shape of an OPUS-MT model (6 + 6
layers, width 512, 32,000 words), saves them as Hugging Face does and loads them with `regard.load`; sources have the
lengths of real sentences, and no text ends before its 40th word, so that both do the same work. We write as many texts
at once as `regard translate` does; `generate` is given each of several sizes and compared by the fastest. Peers take
turns within a round; the figure is the median of the rounds.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import torch  # noqa: E402  (the policy must be chosen before)
from torch import Tensor, nn  # noqa: E402

import regard  # noqa: E402
from regard.core.files import write_text  # noqa: E402
from regard.data.text.lines import read_lines  # noqa: E402
from regard.data.text.pairs import pad  # noqa: E402
from regard.decode import Beam, greedy, write  # noqa: E402
from regard.parts.linear import packing  # noqa: E402
from regard.tasks import Run  # noqa: E402
from regard.tasks.seq2seq.writing import ROWS, write_targets  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from learning import machine  # noqa: E402

BEAM = Beam(5)


@dataclass(frozen=True)
class Rereading:
    """A state that holds nothing but the texts."""

    written: Tensor
    memory: Tensor | None = None
    valid: Tensor | None = None

    def select(self, rows: Tensor, beams: int = 1) -> "Rereading":
        memory, valid = (None if part is None else part[rows] for part in (self.memory, self.valid))
        return Rereading(self.written[rows], memory, valid)


class WithoutCache(nn.Module):
    """A model that reads all that is written again at every step."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def begin(self, source: Tensor, valid: Tensor | None = None) -> Rereading:
        memory = self.model.encode(source, valid)  # type: ignore[operator]
        return Rereading(source.new_empty(len(source), 0), memory, valid)

    def step(self, tokens: Tensor, state: Rereading) -> tuple[Tensor, Rereading]:
        state = replace(state, written=torch.cat([state.written, tokens], 1))
        if state.memory is None:
            return self.model(state.written), state
        return self.model.decode(state.written, state.memory, state.valid), state  # type: ignore[operator]


def translating(run: Run, texts: list[str], rounds: int) -> dict[str, Any]:
    """Beam 5 on real sentences."""
    assert run.tokenizer is not None
    tokenizer, bare = run.tokenizer, WithoutCache(run.model).eval()
    ways = {
        "cache": lambda: write_targets(run.model, tokenizer, texts, beam=BEAM),
        "no_cache": lambda: write_targets(bare, tokenizer, texts, beam=BEAM),
    }
    seconds, written = compare(ways, rounds)
    _same([best[0].text for best in written["cache"]], [best[0].text for best in written["no_cache"]])
    return {"sentences": len(texts), "beam": BEAM.width, **seconds}


def going_on(run: Run, characters: int, rounds: int) -> dict[str, Any]:
    """One text, token after token."""
    prompt = torch.tensor([[run.tokenizer.start]]) if run.tokenizer else torch.tensor([[0]])
    bare = WithoutCache(run.model).eval()
    empty = Rereading(prompt.new_empty(1, 0))
    ways = {
        "cache": lambda: write(run.model, run.model.init_state(), prompt, None, characters),  # type: ignore[arg-type, operator]
        "no_cache": lambda: write(bare, empty, prompt, None, characters),
    }
    seconds, written = compare(ways, rounds)
    _same(written["cache"], written["no_cache"])
    return {"tokens": characters, **seconds}


def beside_generate(rounds: int, sentences: int, batches: list[int]) -> dict[str, Any]:
    from transformers import MarianMTModel

    with tempfile.TemporaryDirectory() as folder:
        random_marian(Path(folder))
        theirs, ours = MarianMTModel.from_pretrained(folder).eval(), regard.load(folder).model
        pad_token, end = theirs.config.pad_token_id, theirs.config.eos_token_id
        sources = random_sources(sentences, pad_token, end)
        document: dict[str, Any] = {"sentences": sentences}
        for name, width in (("greedy", 1), ("beam_5", 5)):
            ways: dict[str, Callable[[], Any]] = {
                "regard": lambda width=width: translated(ours, sources, width, pad_token, end),
                **{
                    f"generate_{batch}": lambda batch=batch, width=width: _theirs(
                        theirs, sources, batch, width, pad_token, end
                    )
                    for batch in batches
                },
            }
            seconds, written = compare(ways, rounds)
            first = written[f"generate_{batches[0]}"]
            same = sum(a == b for a, b in zip(written["regard"], first, strict=True))
            mean = statistics.mean(map(len, written["regard"]))
            document[name] = {**seconds, "same": same, "mean_length": mean}
            print(name, json.dumps(document[name]), flush=True)
        return document


LONGEST = 40
MEAN_LENGTH = 15


def random_sources(sentences: int, words: int, end: int) -> list[list[int]]:
    """Sentences as long as real ones."""
    dice = torch.Generator().manual_seed(1)
    lengths = (torch.randn(sentences, generator=dice) * 5 + MEAN_LENGTH).round().clamp(4, 40).int().tolist()
    return [[*torch.randint(1, words, (length,), generator=dice).tolist(), end] for length in lengths]


def translated(model: nn.Module, sources: list[list[int]], width: int, start: int, end: int) -> list[list[int]]:
    """As `write_targets` does: sorted by length, packed."""
    batch = ROWS // width
    order = sorted(range(len(sources)), key=lambda row: len(sources[row]))
    answers: list[list[int]] = [[] for _ in sources]
    with torch.inference_mode(), packing(model, ROWS):
        for first in range(0, len(order), batch):
            rows = order[first : first + batch]
            source, valid = pad([sources[row] for row in rows], start)
            state = model.init_state(source, valid)  # type: ignore[operator]
            if width == 1:
                written = greedy(model, state, len(rows), start, end, LONGEST)  # type: ignore[arg-type]
            else:
                best = Beam(width).search(model, state, len(rows), start, end, LONGEST)  # type: ignore[arg-type]
                written = [each[0].tokens for each in best]
            for row, tokens in zip(rows, written, strict=True):
                answers[row] = tokens
    return answers


def _theirs(model: Any, sources: list[list[int]], batch: int, width: int, padding: int, end: int) -> list[list[int]]:
    """In the order of the file, as its pipeline does."""
    answers = []
    for first in range(0, len(sources), batch):
        source, valid = pad(sources[first : first + batch], padding)
        with torch.inference_mode():
            rows = model.generate(
                source, attention_mask=valid.long(), num_beams=width, do_sample=False, max_new_tokens=LONGEST
            )
        answers += [[token for token in row[1:] if token not in (padding, end)] for row in rows.tolist()]
    return answers


def random_marian(folder: Path) -> None:
    """A folder of random weights that never write their end."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=32000,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=31999,
        eos_token_id=0,
        decoder_start_token_id=31999,
        forced_eos_token_id=None,
        init_std=0.05,
    )
    model = MarianMTModel(config).eval()
    model.final_logits_bias[0, [0, 31999]] = -1e9  # neither the end nor padding is ever written
    model.save_pretrained(folder)


def compare(ways: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Median seconds of each way, how many times faster the first is than the best other, and what they gave."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    given: dict[str, Any] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            given[name] = way()
            seconds[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    first, *others = medians.values()
    return {
        **{f"{name}_seconds": round(each, 3) for name, each in medians.items()},
        "times": round(min(others) / first, 2),
    }, given


def _same(ours: list[Any], theirs: list[Any]) -> None:
    differ = sum(a != b for a, b in zip(ours, theirs, strict=True))
    if differ > len(ours) / 200:  # ties between words are broken by the last bit of a sum
        sys.exit(f"{differ} of {len(ours)} texts differ with and without a cache")


def main() -> None:
    options = _options()
    document: dict[str, Any] = {"machine": machine(), "rounds": options.rounds}
    if options.translator:
        texts = [text for _, text in read_lines(options.sources)]
        document["translating"] = translating(regard.load(options.translator), texts, options.rounds)
        print(json.dumps(document["translating"]), flush=True)
    if options.lm:
        document["going_on"] = going_on(regard.load(options.lm), 512, options.rounds)
        print(json.dumps(document["going_on"]), flush=True)
    if options.marian:
        document["beside_generate"] = beside_generate(options.rounds, options.sentences, options.batches)
    if options.json:
        before = json.loads(options.json.read_text()) if options.json.exists() else {}
        write_text(options.json, json.dumps({**before, **document}, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--translator", type=Path, help="run folder of a translator (a Transformer)")
    parser.add_argument("--sources", type=Path, help="what it translates, one sentence a line")
    parser.add_argument("--lm", type=Path, help="run folder of a language model")
    parser.add_argument("--marian", action="store_true", help="measure beside Hugging Face's generate")
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32, 128], help="sentences at once for generate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
