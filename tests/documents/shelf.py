"""The files that the pages speak of, as small as they can be."""

import json
import random
from pathlib import Path

import pandas
from PIL import Image

from regard.data.tables.files import write_table
from tests.conllu import chain
from tests.images.make import write_classes
from tests.proteins.make import write_families, write_family, write_structure

GERMAN = ["Zwei Hunde spielen .", "Der Hund sieht die Katze .", "Die Katze schläft .", "Ein Mann liest ."]
ENGLISH = ["two dogs play .", "the dog sees the cat .", "the cat sleeps .", "a man reads ."]
MOODS = ["good\twhat a fine day", "bad\tnever again", "good\tthe cat sat on the mat", "bad\tit rained and rained"]
TAGGED = [("the", "DET", "det"), ("cat", "NOUN", "nsubj"), ("sleeps", "VERB", "root"), (".", "PUNCT", "punct")]
NAMES = [("Ada", "B-person"), ("met", "O"), ("Alan", "B-person"), ("in", "O"), ("Lima", "B-place")]
CITIES = ("Rome", "Oslo", "Lima")


def fill(folder: Path) -> None:
    """Write them all."""
    text = "To be, or not to be: that is the question. The cat sat on the mat.\n" * 40
    for name in ("corpus.txt", "test.txt"):
        (folder / name).write_text(text)
    (folder / "notes").mkdir()
    for number in range(4):
        (folder / "notes" / f"{number}.md").write_text(text)
    (folder / "corpus.jsonl").write_text(f"{json.dumps({'text': text})}\n" * 4)
    for name, times in (("a", 10), ("v", 2), ("test", 1), ("new", 1)):
        german = GERMAN * times
        (folder / f"{name}.de").write_text("".join(f"{line}\n" for line in german))
        (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in ENGLISH * times))
        (folder / f"{name}.conllu").write_text("".join(map(chain, german)))
    (folder / "english.conllu").write_text("".join(map(chain, ["To be or not", "the cat sat on the mat"] * 4)))
    (folder / "train.conllu").write_text(_tagged() * 20)
    for name, times in (("train.tsv", 12), ("test.tsv", 3)):
        (folder / name).write_text("".join(f"{line}\n" for line in MOODS * times))
    rows = [line.replace("\t", ",") for line in ["kind\tmessage", *MOODS * 12]]
    (folder / "train.csv").write_text("".join(f"{row}\n" for row in rows))
    (folder / "new.txt").write_text("what a day\nnever\n")
    (folder / "more.txt").write_text("what a cat\nit never rained again\n" * 20)
    (folder / "keys.txt").write_text("a-key-of-an-example\n")
    documents = [f"{one} {other}\t{one}\n" for one in ENGLISH for other in ENGLISH]
    for name in ("pairs.tsv", "dev.tsv", "test_pairs.tsv"):
        (folder / name).write_text("".join(documents))
    (folder / "documents.txt").write_text("".join(f"{line}\n" for line in ENGLISH))
    for name in ("names.txt", "test_names.txt"):
        sentences = ["\n".join(f"{word}\t{label}" for word, label in NAMES) for _ in range(8)]
        (folder / name).write_text("\n\n".join(sentences) + "\n")
    _tables(folder)
    _series(folder)
    _images(folder)
    write_families(folder / "families")
    write_structure(folder / "1abc.pdb", write_family(folder, "family", seed=4))


def _tagged() -> str:
    """A sentence in CoNLL-U, with its parts of speech and dependency relations."""
    rows = [
        f"{number}\t{word}\t_\t{upos}\t_\t_\t3\t{relation}\t_\t_\n"
        for number, (word, upos, relation) in enumerate(TAGGED, 1)
    ]
    return "".join(rows).replace("\t3\troot", "\t0\troot") + "\n"


def _tables(folder: Path) -> None:
    rng = random.Random(0)
    for name, rows in (("houses", 70), ("new", 10), ("more", 25), ("test", 30)):
        lines = ["area,city,zip,price"]
        for _ in range(rows):
            area, city = rng.randint(40, 200), rng.choice(CITIES)
            price = 10 * area + 500 * CITIES.index(city) + rng.randint(0, 50)
            lines.append(f"{area},{city},{rng.choice((1010, 1020, 1030))},{price}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    houses = pandas.read_csv(folder / "houses.csv")
    write_table(houses, folder / "book.xlsx::Houses")
    write_table(houses, folder / "shop.sqlite::houses")
    write_table(houses, folder / "shop.duckdb::houses")
    houses[:40].to_csv(folder / "jan.csv", index=False)
    houses[40:].to_csv(folder / "feb.csv", index=False)


def _series(folder: Path) -> None:
    """Some weeks of two shops, with gaps at the ends of months."""
    lines = ["date,shop,units"]
    for day in range(60):
        date = f"2024-{1 + day // 28:02}-{1 + day % 28:02}"  # months of 28 days
        lines += [f"{date},{shop},{20 + 5 * (day % 7)}" for shop in ("Rome", "Oslo")]
    (folder / "sales.csv").write_text("\n".join(lines) + "\n")


def _images(folder: Path) -> None:
    for name, count in (("photos", 12), ("test", 4)):
        write_classes(folder / name, count)
    (folder / "new").mkdir()
    for file in ("new/a.png", "new/b.jpg", "cat.jpg"):
        Image.new("RGB", (30, 20), "red").save(folder / file)
