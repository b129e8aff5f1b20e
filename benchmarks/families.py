"""Which Hugging Face families are read, and how far their answers are from those of transformers.

Tiny models with random weights, float32: the largest difference of logits and of attention patterns, and whether the
tokens written greedily and those read from a text are the same.

python benchmarks/families.py           measure, and write benchmarks/results/families.json
python benchmarks/readme.py             then write the table into docs/jobs/hugging-face.md
"""

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "families.json"
TEXT = "a cat and a dog; the mat is flat"


def measure() -> dict[str, dict[str, Any]]:
    sys.path.insert(0, str(ROOT))
    from tests.interop import families, zoo

    kinds = {"causal": families.CAUSAL, "encoder": families.ENCODERS, "pictures": families.PICTURES}
    kinds["pairs"] = families.PAIRS
    cases = {name: (kind, *settings) for kind, names in kinds.items() for name, settings in names.items()}
    results: dict[str, dict[str, Any]] = {}
    for name, (kind, architecture, settings) in (cases | zoo.ZOO).items():
        model = families.make_as(name, architecture, settings)
        with tempfile.TemporaryDirectory() as folder:
            one = compare(kind, model, Path(folder))
        row = results.setdefault(model.config.model_type, {"kind": kind, "architectures": []})
        row["architectures"] = sorted({*row["architectures"], architecture})
        for key in ("logits", "patterns"):
            row[key] = max(row.get(key, 0.0), one[key])
        for key in ("greedy", "tokenizer"):
            row[key] = one[key] if row.get(key) is None else row[key] and one[key]
    return dict(sorted(results.items()))


def compare(kind: str, model: Any, folder: Path) -> dict[str, Any]:
    from regard.interop import read_folder
    from tests.interop.comparing import differences, same_greedy_tokens

    model.save_pretrained(folder)
    tokenizer = tiny_tokenizer(folder) if kind != "pictures" else None
    loaded = read_folder(folder)
    logits, patterns = differences(kind, model, loaded.model)
    writes = kind in ("causal", "pairs") and getattr(model.config, "num_decoder_layers", 2) == 2
    same = None
    if tokenizer is not None and loaded.tokenizer is not None:
        same = loaded.tokenizer.encode([TEXT])[0] == tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    return {
        "logits": logits,
        "patterns": patterns,
        "greedy": same_greedy_tokens(kind, model, loaded.model) if writes else None,
        "tokenizer": same,
    }


def tiny_tokenizer(folder: Path) -> Any:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    engine = Tokenizer(models.BPE(unk_token="<unk>"))
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(vocab_size=50, special_tokens=special, show_progress=False)
    engine.train_from_iterator([TEXT], trainer)
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, **names)
    tokenizer.save_pretrained(folder)
    return tokenizer


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    RESULTS.write_text(json.dumps(measure(), indent=1) + "\n")
    print(f"wrote {RESULTS.relative_to(ROOT)}; now run benchmarks/readme.py")
