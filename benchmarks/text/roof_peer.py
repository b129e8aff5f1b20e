"""One program that decodes, asked for jobs on standard input: a process of `benchmarks/text/roof.py`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from peers import Job, answer

LONG_PROMPT, PROMPT, NEW, ROWS = 1024, 32, 96, 8
SENTENCES, BEAM, LONGEST = 64, 5, 40
MARIAN_PAD, MARIAN_END = 31999, 0


def make(folder: Path) -> None:
    """Random weights as a run, as GGUF files and as a Hugging Face folder."""
    import torch
    from decoding import random_marian

    import regard
    from regard.export import GGUF, export
    from regard.models import GPT
    from regard.parts import RMSNorm, Rotary, SwiGLU
    from regard.tasks import LanguageModel, save_run
    from regard.text import BPE

    torch.manual_seed(0)
    config = GPT(
        vocab=8192, width=768, layers=12, heads=12, position=Rotary(), norm=RMSNorm(1e-5), feed=SwiGLU(2048),
        bias=False, tied=False,
    )  # fmt: skip
    model = config.build()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float("norm" in name), std=0.02)
    tokenizer = BPE(vocab=300).train(["the cat sat on the mat"])
    save_run(folder / "run", config, model, LanguageModel(length=2048), tokenizer)
    run = regard.load(folder / "run")
    for dtype in ("float32", "bfloat16", "q8_0"):
        export(run, GGUF(dtype=dtype), folder / f"{dtype}.gguf")  # type: ignore[arg-type]
    command = ["export", str(folder / "run"), "--to", "huggingface", "--out", str(folder / "huggingface")]
    subprocess.run([sys.executable, "-m", "regard", *command], check=True)
    random_marian(folder / "marian")


def regard_jobs(precision: str, folder: Path) -> dict[str, Job]:
    import torch
    from decoding import random_sources, translated

    import regard
    from regard.decode import accelerate, write

    run = regard.load(folder / "run")
    model: Any = run.model
    accelerate(model, precision, wait=True)
    big = torch.zeros(2**28 // 4)

    def writing(rows: int) -> None:
        prompt = torch.randint(300, 8000, (1, PROMPT), generator=torch.Generator().manual_seed(0)).expand(rows, -1)
        write(model, model.init_state(PROMPT + NEW), prompt.contiguous(), None, NEW)

    def reading() -> None:
        with torch.inference_mode():
            prompt = torch.randint(300, 8000, (1, LONG_PROMPT), generator=torch.Generator().manual_seed(0))
            model.step(prompt, model.init_state(LONG_PROMPT))

    translator: Any = regard.load(folder / "marian").model
    accelerate(translator, precision, wait=True)
    sources = random_sources(SENTENCES, MARIAN_PAD, MARIAN_END)
    return {
        "one": lambda: writing(1),
        "eight": lambda: writing(ROWS),
        "beam": lambda: translated(translator, sources, BEAM, MARIAN_PAD, MARIAN_END),
        "prompt": reading,
        "stream": lambda: big.sum(),
    }


def llama_cpp_jobs(precision: str, folder: Path) -> dict[str, Job]:
    import random

    from llama_cpp import Llama

    name = {"int8": "q8_0"}.get(precision, precision)
    llama = Llama(
        str(folder / f"{name}.gguf"), n_ctx=2048, n_threads=2, n_threads_batch=2, n_batch=LONG_PROMPT, verbose=False
    )
    prompt = random.Random(0).choices(range(300, 8000), k=LONG_PROMPT)

    def one() -> None:
        written = llama.generate(prompt[:PROMPT], top_k=1, temp=0.0, repeat_penalty=1.0)
        for _, _ in zip(range(NEW), written, strict=False):
            pass

    def reading() -> None:
        llama.reset()
        llama.eval(prompt)

    return {"one": one, "prompt": reading}


def ctranslate2_jobs(precision: str, folder: Path) -> dict[str, Job]:
    import ctranslate2

    converted = folder / f"ctranslate2_{precision}"
    converter = ctranslate2.converters.TransformersConverter(str(folder / "huggingface"))
    converter.convert(str(converted), quantization=precision)
    generator = ctranslate2.Generator(str(converted), compute_type=precision, intra_threads=2)
    words = [f"<{number}>" for number in range(PROMPT)]
    vocabulary = (converted / "vocabulary.json").read_text()
    import json

    words = json.loads(vocabulary)[100 : 100 + PROMPT]

    def writing(rows: int) -> None:
        generator.generate_batch(
            [words] * rows, max_length=NEW, min_length=NEW, sampling_topk=1, include_prompt_in_result=False
        )

    translator = ctranslate2_marian(precision, folder)
    return {"one": lambda: writing(1), "eight": lambda: writing(ROWS), "beam": translator}


def ctranslate2_marian(precision: str, folder: Path) -> Job:
    import ctranslate2
    from decoding import random_sources

    class Names:
        """A vocabulary of numbers: all that the converter asks of a tokenizer."""

        unk_token, bos_token, eos_token, pad_token = "1", None, str(MARIAN_END), "<pad>"

        def get_vocab(self) -> dict[str, int]:
            return {**{str(number): number for number in range(MARIAN_PAD)}, "<pad>": MARIAN_PAD}

    class Converter(ctranslate2.converters.TransformersConverter):
        def load_tokenizer(self, *_: object, **__: object) -> Names:
            return Names()

    converted = folder / f"ctranslate2_marian_{precision}"
    Converter(str(folder / "marian")).convert(str(converted), quantization=precision)
    translator = ctranslate2.Translator(str(converted), compute_type=precision, intra_threads=2)
    sources = [[*map(str, each)] for each in random_sources(SENTENCES, MARIAN_PAD, MARIAN_END)]

    def translate() -> None:
        written = translator.translate_batch(
            sources, beam_size=BEAM, max_decoding_length=LONGEST, min_decoding_length=LONGEST
        )
        assert all(len(one.hypotheses[0]) == LONGEST for one in written)

    return translate


KINDS = {"regard": regard_jobs, "llama.cpp": llama_cpp_jobs, "ctranslate2": ctranslate2_jobs}


def main() -> None:
    kind, precision, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if kind == "make":
        make(folder)
        return
    answer(f"{kind} {precision}", lambda: KINDS[kind](precision, folder))


if __name__ == "__main__":
    main()
