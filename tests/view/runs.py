"""Small runs with random weights, one for every kind of model that can be looked at."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from regard.models import BERT, GPT, RNN, ClassifierHead, DecoderOnly, Evoformer, MaskedLMHead, Transformer, ViT
from regard.parts import ClassToken, Mean, Query
from regard.parts.attention import Additive, Compressed, Linformer, Window
from regard.parts.positions import Learned
from regard.tables import NPTClassifier, NPTRegressor
from regard.tasks import Classify, ClassifyImages, LanguageModel, MaskedLM, Summarise, Translate, save_run
from regard.tasks.contacts.task import Contacts
from regard.text import Characters

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789.,:;!?<>&\"'/=()\n"
NASTY = "<img src=x onerror=alert(1)> & \"'"
SMALL = {"width": 16, "layers": 2, "heads": 2, "dropout": 0.0}
EVOFORMER = {"width": 8, "pair_width": 8, "layers": 2, "heads": 2, "window": 3, "outer": 3}
VIT = {**SMALL, "image": 12, "patch": 4, "labels": 2}


def save_small(folder: Path, name: str, **more: object) -> Path:
    """A run of this name with weights that depend on nothing but the name."""
    tokenizer = Characters().train([LETTERS])
    vocab = tokenizer.vocab
    grey = ClassifyImages(labels=("cat", NASTY), mean=(0.4,), std=(0.3,))
    colour = ClassifyImages(labels=("cat", "dog"), resize="pad", mean=(0.5,) * 3, std=(0.25,) * 3)
    kinds = {
        "transformer": (Transformer(vocab=vocab, **{**SMALL, **more}), Translate()),
        "rnn-attention": (RNN(vocab=vocab, width=16, attention=Additive()), Translate()),
        "rnn": (RNN(vocab=vocab, width=16), Translate()),
        "decoder-only": (DecoderOnly(vocab=vocab, **SMALL), Translate()),
        "summariser": (Transformer(vocab=vocab, **SMALL), Summarise(max_length=8)),
        "slots": (GPT(vocab=vocab, **SMALL, attention=Window(reach=4), alternate=Compressed()), LanguageModel()),
        "gpt": (GPT(vocab=vocab, **{**SMALL, **more}), LanguageModel()),
        "short": (GPT(vocab=vocab, **SMALL, position=Learned(12)), LanguageModel()),
        "fill": (BERT(vocab=vocab, **SMALL, head=MaskedLMHead()), MaskedLM()),
        "label": (BERT(vocab=vocab, **SMALL, head=ClassifierHead(2)), Classify(labels=("ham", NASTY), max_length=16)),
        "image-token": (ViT(**VIT, pool=ClassToken()), grey),
        "image-query": (ViT(**VIT, pool=Query()), grey),
        "image-mean": (ViT(**{**VIT, "layers": 3, "heads": 4}, channels=3, pool=Mean()), colour),
        "family": (Evoformer(**EVOFORMER), Contacts(sequences=5)),
        "family-rows": (Evoformer(**{**EVOFORMER, "heads": 4, "layers": 1}, along="rows"), Contacts(sequences=4)),
        "image-slots": (ViT(**VIT, pool=Mean(), alternate=Linformer(slots=4)), grey),
    }
    config, task = kinds[name]
    with torch.random.fork_rng():
        torch.manual_seed(len(name))
        model = config.build()
        for parameter in model.parameters():  # random weights look evenly at everything; these have something to show
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.4)
    save_run(folder / name, config, model, task, None if isinstance(config, ViT | Evoformer) else tokenizer)
    return folder / name


def picture(seed: int = 0, width: int = 30, height: int = 20) -> bytes:
    """A PNG of colours that nobody has chosen."""
    dice = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    data = io.BytesIO()
    Image.fromarray(dice).save(data, "png")
    return data.getvalue()


def save_tables(folder: Path) -> tuple[Path, Path]:
    """A table of houses, as a classifier and as a regressor."""
    dice = np.random.default_rng(0)
    count = 40
    frame = pd.DataFrame({
        "area": dice.normal(100, 20, count).round(1),
        "rooms": dice.integers(1, 6, count),
        "city": dice.choice(["Köln", "Paris", NASTY], count),
        "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(dice.integers(0, 900, count), unit="D"),
    })  # fmt: skip
    size = pd.Series(np.where(frame.area > 100, "big", "<b>small</b>"), name="size")
    NPTClassifier(mode="in_context", members=2, random_state=0).fit(frame, size).save(folder / "classes")
    price = pd.Series(frame.area * 10 + frame.rooms, name="price")
    NPTRegressor(mode="in_context", members=2, random_state=0).fit(frame, price).save(folder / "numbers")
    return folder / "classes", folder / "numbers"
