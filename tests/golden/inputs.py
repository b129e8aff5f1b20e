"""Small files for every recipe, drawn from a fixed seed by the standard library alone, so that they never change."""

import random
from pathlib import Path

import numpy as np
from PIL import Image

SUBJECTS = ("the cat", "a dog", "my old teacher", "the queen", "one engineer", "some river", "every student")
VERBS = ("sees", "follows", "forgets", "carries", "paints", "repairs", "counts")
OBJECTS = ("the red house", "a small boat", "seven stones", "the moon", "an open door", "two letters", "the answer")
ENDS = (".", " at night.", " in the rain!", ", and sings.", " before noon.", "?")


def sentences(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}{rng.choice(ENDS)}" for _ in range(count)]


def corpus(folder: Path) -> Path:
    path = folder / "corpus.txt"
    path.write_text("\n".join(sentences(1500, 1)) + "\n", encoding="utf-8")
    return path


def pairs(folder: Path, name: str, count: int, seed: int) -> Path:
    """A sentence, and its words in reverse and in upper case."""
    lines = [f"{text}\t{' '.join(reversed(text.upper().split()))}" for text in sentences(count, seed)]
    path = folder / f"{name}.tsv"
    path.write_text("source\ttarget\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def labelled(folder: Path, count: int = 400, seed: int = 5) -> Path:
    lines = [f"{'water' if 'r' in text[-8:] else 'land'}\t{text}" for text in sentences(count, seed)]
    path = folder / "labelled.tsv"
    path.write_text("label\ttext\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def images(folder: Path, count: int = 240, side: int = 16) -> Path:
    """A bright bar, upright or lying, on noise."""
    rng = random.Random(7)
    place = folder / "bars"
    for number in range(count):
        pixels = np.array([[rng.randrange(60) for _ in range(side)] for _ in range(side)], dtype=np.uint8)
        start = rng.randrange(1, side - 2)
        label = ("lying", "upright")[number % 2]
        if label == "upright":
            pixels[:, start : start + 2] = 230
        else:
            pixels[start : start + 2] = 230
        (place / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / label / f"{number:03d}.png")
    return place


def table(folder: Path, rows: int = 300) -> Path:
    """Numbers, a category, gaps; the target is a number."""
    rng = random.Random(11)
    lines = ["size,rooms,town,age,price"]
    for _ in range(rows):
        size, rooms, town, age = rng.gauss(90, 30), rng.randint(1, 6), rng.choice("ABC"), rng.uniform(0, 80)
        price = 2 * size + 15 * rooms + {"A": 0, "B": 40, "C": -30}[town] - 0.5 * age + rng.gauss(0, 10)
        shown = "" if rng.random() < 0.05 else f"{age:.1f}"
        lines.append(f"{size:.2f},{rooms},{town},{shown},{price:.2f}")
    path = folder / "houses.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
