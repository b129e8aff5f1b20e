"""The field's words are ours: names that the package once had, with what it says instead, must not come back.

Each room lists its own. A word that is ordinary English elsewhere is refused only as the name of a module, class,
function, field, setting or option of its room (NAMES); one that is never right is refused in every identifier of the
package (ANYWHERE).
CLASSES and PHRASES are refused in help texts and pages too.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from regard.cli.known_settings import FILE as SETTINGS
from tests.documents.pages import ROOT
from tests.house import trees
from tests.surface import CLI

# In every identifier of the package: part of a snake_case name.
ANYWHERE = {
    # closed forms of tables
    "resemblance": "kernel_ridge", "centres": "nystrom", "guesses": "closed_forms",
    # tables
    "sharpness": "temperature", "neighbourhoods": "local_context", "remarks": "data_checks", "chances": "probabilities",
    "dice": "rng or generator",
    # data and training
    "fewest": "min_", "foretell": "predict", "begun": "pretrained, start", "album": "image_cache",
    # catch-all names: say what it is
    "told": "message", "tell": "log", "say": "log", "says": "log", "speaks": "log_notes", "found": "result",
    "given": "values, view_input", "asked": "query", "kept": "selected",
}  # fmt: skip

# As the whole name of a module, class, function, method, parameter, field, setting or option of the room.
NAMES: dict[tuple[str, ...], dict[str, str]] = {
    ("closed_form", "tables", "models/in_context.py", "models/npt.py"): {
        "straight": "ridge", "mean_labels": "target_statistics", "vote": "label_attention", "trust": "gate",
        "views": "members", "looks": "members", "tune": "finetune", "keep": "save", "words": "rendering",
        "row_counts": "sample_weight", "peers": "baselines", "beside": "baselines", "own_network": "scratch",
        "trained": "scratch", "way": "settings", "asked": "query", "causes": "scm", "answers": "target_functions",
        "chance": "generator", "whole": "randint", "often": "bernoulli",
    },
    ("parts", "models"): {
        "quiet": "init", "recall": "embedding_skip", "pairs": "bigram", "grows": "scale", "bend": "activation",
        "words": "TokenEmbedding", "places": "positions", "begin": "init_weights, init_state", "lean": "router_bias",
        "nudge": "bias_rate", "key_heads": "kv_heads", "own": "layers", "straight": "ridge", "look": "attend",
        "looks_across": "cross_attention", "looked": "memory_cache",
    },
    ("data", "train", "store", "tasks"): {
        "ahead": "prefetch", "counted": "progress", "held_out": "split", "blind": "token_dropout",
        "average": "ema", "longest": "max_length, max_tokens",
        "smoothing": "label_smoothing", "check_every": "eval_every", "save_minutes": "checkpoint_minutes",
        "rate_share": "lr_multiplier", "rate_rest": "lr_adamw", "clip": "grad_clip", "accumulate": "accumulation",
        "begin": "start", "order": "sampler", "encoded": "token_cache", "hold": "stable", "chance": "generator",
    },
    ("train/optimisers.py", "train/settings.py"): {"rate": "lr", "decay": "weight_decay", "rest": "adamw"},
    ("studies", "view", "cli"): {
        "descent": "levenberg_marquardt", "pace": "timing", "desk": "session", "rest": "row_explanation",
        "wish": "request", "look": "view, attention", "looks": "maps", "shown": "view_form", "chance": "guessing",
    },
}  # fmt: skip

# Classes of earlier days, in code, help and pages.
CLASSES = {
    "StraightLine": "Ridge", "Resemblance": "KernelRidge", "ResemblanceByCentres": "NystromKernelRidge",
    "Guesses": "ClosedForms", "Vote": "LabelAttention", "Looks": "Members", "Way": "FitSettings",
    "Known": "TableContext", "Asked": "query rows", "Answers": "Predictor", "Beside": "baselines",
    "PairTable": "BigramTable", "KeyValues": "KVCache", "Shelf": "KVBuffer", "Words": "TokenEmbedding",
    "Places": "Positions",
    "PositionCode": "PositionEncoding", "Buckets": "T5Bias", "Relative": "Shaw", "Stretch": "LinearScaling",
    "StretchSlow": "Llama3Scaling", "GoingOn": "DecoderOnlyState", "Recalling": "RNNState", "Carrying": "RNNLMState",
    "Reading": "<Model>State", "NameLabel": "ClassifierHead", "FillWords": "MaskedLMHead", "GiveStates": "NoHead",
    "RNNReader": "RNNClassifier", "RNNWriter": "RNNLM", "Joint": "residual branch", "Sublayers": "BlockParts",
    "Given": "MaskTensor, TokenizerFile", "Packed": "SameDocument", "CoolDown": "WSD", "Ahead": "Prefetch",
    "Desk": "Session", "Wish": "PlotRequest", "Rest": "RowExplanation", "FillMasked": "MaskedLM",
    "FillCells": "MaskedCells", "ReadTable": "InContextTables", "Found": "Output", "Kept": "Selected",
}  # fmt: skip

# Sentences and words of text, in help and pages; `re` patterns, case ignored.
PHRASES = {
    r"\bforet(ell|old)": "predict",
    r"\botherwise than\b": "not named",
    r"\bwho gives it away\b": "sharing it shares",
    r"\bthis is a fault of regard\b": "internal error",
    r"\bin rows that say nothing\b": "in pseudo-observations",
    r"\bweighed alike\b": "uniform weight",
    r"\btold by\b": "decided by",
    r"\bfault of regard\b": "internal error",
    r"\bthe chances? of (each|a|every) (label|class|word|token)": "probability",
    r"\bleave-one-out (straight|line)": "leave-one-out ridge",
    r"--(longest|look|rate|fewest)\b": "--max-tokens, --attention, --lr, --min-steps",
    r"--mode\s+trained\b": "--mode scratch",
    r"\bregard look\b": "regard view",
    r"\bregard measure\b": "regard evaluate",
    r"\b(key_heads|mean_labels|own_network|row_counts|rate_share|rate_rest|held_out)\b": "see the lists above",
    r"\bregard\.(recipes|run|study)\b": "regard.tasks, regard.store, regard.studies",
}

ORDINARY = {"keep", "words"}  # as options: columns to keep beside a prediction, input that is cut into words
EXEMPT = ("report.md", "CHANGELOG.md")  # reports of studies are as they were made; the changelog names what was renamed


class Use(NamedTuple):
    file: Path
    line: int
    name: str
    declared: bool  # a module, class, function, parameter or field; else a variable or an attribute


@cache
def uses() -> list[Use]:
    """Every identifier that the package declares or assigns."""
    return [use for file, tree in trees() for use in uses_in(file, tree)]


def uses_in(file: Path, tree: ast.Module) -> Iterator[Use]:
    yield Use(file, 1, file.stem, True)
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Use(file, node.lineno, node.name, True)
        elif isinstance(node, ast.arg):
            yield Use(file, node.lineno, node.arg, True)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Use(file, node.lineno, node.id, id(node) in fields)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield Use(file, node.lineno, node.attr, True)


def in_room(file: Path, rooms: tuple[str, ...]) -> bool:
    path = file.relative_to("regard").as_posix()
    return any(path == room or path.startswith(f"{room}/") for room in rooms)


def test_no_identifier_has_a_word_that_is_never_right() -> None:
    wrong = [
        f"{use.file}:{use.line} {use.name}: {ANYWHERE[word]}"
        for use in uses()
        for word in use.name.strip("_").lower().split("_")
        if word in ANYWHERE
    ]
    assert wrong == []


@pytest.mark.parametrize("rooms", NAMES, ids=lambda rooms: rooms[0])
def test_no_name_of_a_room_is_one_of_earlier_days(rooms: tuple[str, ...]) -> None:
    words = NAMES[rooms]
    wrong = [
        f"{use.file}:{use.line} {use.name}: {words[use.name.strip('_').lower()]}"
        for use in uses()
        if use.declared and use.name.strip("_").lower() in words and in_room(use.file, rooms)
    ]
    assert wrong == []


def test_no_class_of_earlier_days() -> None:
    wrong = [
        f"{use.file}:{use.line} {use.name}: {CLASSES[use.name.strip('_')]}"
        for use in uses()
        if use.name.strip("_") in CLASSES
    ]
    assert wrong == []


def settings(tree: dict[str, dict], path: str = "") -> Iterator[str]:
    for name, below in tree.items():
        yield f"{path}{name}"
        yield from settings(below, f"{path}{name}.")


def test_no_setting_or_option_of_earlier_days() -> None:
    words = {**ANYWHERE, **{old: new for room in NAMES.values() for old, new in room.items()}}
    words = {old: new for old, new in words.items() if old not in ORDINARY}
    keys = list(settings(json.loads(SETTINGS.read_text(encoding="utf-8"))))
    options = [line.split("--")[1].split()[0] for line in CLI.read_text(encoding="utf-8").splitlines() if "--" in line]
    wrong = {name: words[last] for name in keys + options if (last := name.split(".")[-1].replace("-", "_")) in words}
    assert wrong == {}


def help_texts() -> Iterator[tuple[str, str]]:
    """What the verbs print as help: the docstrings of the command line and of the verbs of tasks."""
    for file, tree in trees():
        if file.parts[1] == "cli" or file.name in ("verb.py", "options.py"):
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
                    yield f"{file}: {getattr(node, 'name', 'module')}", text


def pages() -> Iterator[tuple[str, str]]:
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        if page.name not in EXEMPT:
            yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")


@pytest.mark.parametrize("texts", [help_texts, pages], ids=["help", "pages"])
def test_no_phrase_or_class_of_earlier_days_in_what_people_read(texts) -> None:
    spoken = {rf"`{name}\b": new for name, new in CLASSES.items()}
    wrong = [
        f"{where}: {match[0]!r}: {new}"
        for where, text in texts()
        for pattern, new in [*((one, new) for one, new in PHRASES.items()), *spoken.items()]
        for match in [re.search(pattern, text, re.IGNORECASE if pattern in PHRASES else 0)]
        if match
    ]
    assert wrong == []
