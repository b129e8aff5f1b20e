"""Write the tables of the README and of docs/ from the results of the benchmarks.

python benchmarks/readme.py             write them into the pages
python benchmarks/readme.py --check     exit 1 if a page differs from the results
"""

import json
import statistics
import sys
from pathlib import Path

import mechanisms
import of_contacts
import of_families
import of_tables

HERE = Path(__file__).parent
PAGES = [HERE.parent / "README.md", *sorted((HERE.parent / "docs").glob("**/*.md"))]
RESULTS = [HERE / "text" / "results", HERE / "images" / "results"]

# What is learned, the score that is shown, and its name.
LEARNED = {
    "shakespeare_150s": ("tinyshakespeare, characters, 150 s in all", "loss", "nats per character"),
    "shakespeare_15min": ("tinyshakespeare, characters, 15 minutes", "loss", "nats per character"),
    "multi30k_en_de": ("Multi30k English to German, test 2016", "bleu_lower", "BLEU, lower-cased"),
    "multi30k_de_en": ("Multi30k German to English, test 2016", "bleu_lower", "BLEU, lower-cased"),
    "multi30k_de_en_rnn_attention": ("the same, `--model rnn-attention`", "bleu_lower", "BLEU, lower-cased"),
    "multi30k_de_en_rnn": ("the same, `--model rnn`", "bleu_lower", "BLEU, lower-cased"),
    "sst2": ("SST-2, GLUE's development set, from scratch", "accuracy", "accuracy"),
    "sms_spam": ("SMS spam, test", "accuracy", "accuracy"),
    "debian_synopsis": ("Debian package descriptions to synopses, test", "rougeL", "ROUGE-L"),
    "fashion_15min": ("Fashion-MNIST, test, 15 minutes", "accuracy", "accuracy"),
    "fashion_60min": ("Fashion-MNIST, test, one hour", "accuracy", "accuracy"),
    "digits_60s": ("scikit-learn's digits, test", "accuracy", "accuracy"),
}


def learned() -> str:
    lines = ["| what | score | | training |", "|---|---|---|---|"]
    for job, (what, score, unit) in LEARNED.items():
        for path in (folder / f"{job}.json" for folder in RESULTS if (folder / f"{job}.json").exists()):
            results = json.loads(path.read_text())["results"]
            minutes = statistics.mean(result["trained"] for result in results) / 60
            shown = spread([result["scores"][score] for result in results])
            lines.append(f"| {what} | **{shown}** | {unit} | {minutes:.1f} min |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """The mean, with the standard deviation if several seeds were run."""
    places = 1 if max(values) > 2 else 3
    mean = f"{statistics.mean(values):.{places}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{places}f}"


TABLES = {"learned": learned, **mechanisms.TABLES, **of_tables.TABLES, **of_families.TABLES, **of_contacts.TABLES}


def filled(page: str) -> str:
    """The page with every table between its marks rewritten."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if begin in page:
            before, _, rest = page.partition(begin)
            _, _, after = rest.partition(end)
            page = f"{before}{begin}{make()}\n{end}{after}"
    return page


def main(arguments: list[str]) -> None:
    for path in PAGES:
        page = path.read_text()
        if "--check" not in arguments:
            path.write_text(filled(page))
        elif filled(page) != page:
            sys.exit(f"{path.name}: its tables are not those of the results; run benchmarks/readme.py")


if __name__ == "__main__":
    main(sys.argv[1:])
