"""The tables of the mechanism pages, from docs/measured.json and the results of the benchmarks."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOT_YET = "Not measured yet."


BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}  # of a weight


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def short(value: float) -> str:
    """Three significant digits; integers as they are."""
    if value == int(value) and abs(value) < 1e4:
        return str(int(value))
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.0e}"


def curves(name: str, along: str, called: str) -> Callable[[], str]:
    """A row for each curve, a column for each point."""

    def make() -> str:
        results = read("docs/measured.json")[name]
        rows = [[what, *map(short, values)] for what, values in results.items() if what != along]
        return table([called, *map(short, results[along])], rows)

    return make


def pairs(name: str, heads: Sequence[str]) -> Callable[[], str]:
    return lambda: table(heads, [(what, short(value)) for what, value in read("docs/measured.json")[name].items()])


def experts() -> str:
    results = read("docs/measured.json")["experts"]
    named = {"first": "at the start", "last": "after 300 batches"}
    rows = [(named[when], f"{max(shares):.1%}", f"{min(shares):.1%}") for when, shares in results.items()]
    return table(("", "most used", "least used"), rows)


def cost() -> str:
    rows = read("benchmarks/results/attention.json")["rows"]
    lengths = sorted({row["length"] for row in rows})
    cells = {(row["attention"], row["length"]): row for row in rows}

    def shown(kind: str, length: int) -> str:
        row = cells.get((kind, length))
        return f"{row['seconds']:.3g} s, {row['peak_bytes'] / 1e6:.0f} MB" if row else "–"

    kinds = dict.fromkeys(row["attention"] for row in rows)
    heads = ["attention", *(f"{length:,} tokens" for length in lengths)]
    return table(heads, [[kind, *(shown(kind, length) for length in lengths)] for kind in kinds])


def longest() -> str:
    rows = read("benchmarks/results/attention.json")["rows"]
    most = max(row["length"] for row in rows)
    at_most = [row for row in rows if row["length"] == most]
    return table(
        ("attention", "seconds", "megabytes"),
        [(row["attention"], f"{row['seconds']:.3g}", f"{row['peak_bytes'] / 1e6:.0f}") for row in at_most],
    )


def cache() -> str:
    results = read("benchmarks/text/results/decoding.json")
    jobs = {
        f"generate {results['going_on']['tokens']} tokens": results["going_on"],
        f"translate {results['translating']['sentences']:,} sentences": results["translating"],
    }
    return table(
        ("", "with a cache", "without", "ratio"),
        [
            (what, f"{job['cache_seconds']:.1f} s", f"{job['no_cache_seconds']:.1f} s", job["times"])
            for what, job in jobs.items()
        ],
    )


def beside_generate() -> str:
    results = read("benchmarks/text/results/decoding.json")["beside_generate"]
    rows = []
    for way, name in {"greedy": "greedy", "beam_5": "beam of 5"}.items():
        ours, *theirs = ((key, took) for key, took in results[way].items() if key.endswith("_seconds"))
        at_once = [f"{took:.1f} s ({key.split('_')[1]} at once)" for key, took in theirs]
        rows.append((name, f"{ours[1]:.1f} s", ", ".join(at_once), results[way]["times"]))
    return table(("", "regard", "`generate`", "ratio, against its fastest"), rows)


def roof() -> str:
    """Tokens a second beside other programs, and the share of the memory bandwidth that one text takes."""
    path = "benchmarks/text/results/roof.json"
    if not (ROOT / path).exists():
        return NOT_YET
    results = read(path)
    bandwidth = results["stream"]["bytes_a_second"]
    rows = []
    for name, one in results["one"].items():
        kind, precision = name.split()
        cells = [results[job].get(name) for job in ("eight", "prompt", "beam")]
        others = [f"{cell['tokens_a_second']:,.0f}" if cell else "–" for cell in cells]
        share = one["tokens_a_second"] * results["parameters"] * BYTES[precision] / bandwidth
        called = "**regard**" if kind == "regard" else kind
        rows.append((f"{called} {precision}", f"{one['tokens_a_second']:.0f}", f"{share:.0%}", *others))
    return table(("", "one text", "of the bandwidth", "eight texts", "prompt of 1,024", "beam of 5"), rows)


def training_step() -> str:
    """Seconds of a training step beside nanoGPT's."""
    rows = read("benchmarks/text/results/training.json")["steps"]
    kinds = {name.split(", ")[0]: None for name in rows}

    def shown(kind: str, precision: str) -> str:
        row = rows[f"{kind}, {precision}"]
        return f"{row['seconds_a_step']:.2f} s ({row['times_the_faster_nanoGPT']:.2f} ×)"

    names = {"equal parts": "**regard**, the same parts", "recipe": "**regard**, the parts of its recipe"}
    precisions = ("float32", "bfloat16")
    cells = ((names.get(kind, kind), *(shown(kind, precision) for precision in precisions)) for kind in kinds)
    return table(("", *precisions), cells)


def serving() -> str:
    """Streaming clients of models with random weights."""
    names = {"small": "width 384, 6 layers", "llama": "98 million parameters"}
    rows = []
    for name, result in read("benchmarks/results/serve.json").items():
        streams, crowd = result["streams"], result["crowd"]
        speeds = (f"{streams[clients]:.0f}" for clients in ("one_client", "eight_clients"))
        refused = f"{crowd['answered']} answered, {crowd['refused']} refused"
        rows.append((names[name], *speeds, refused, f"{crowd['slowest_answer_seconds']:.1f} s"))
    return table(("model", "one client", "eight clients", "200 clients at once", "slowest answer"), rows)


def beams() -> str:
    results = read("benchmarks/text/results/beams.json")["widths"]
    return table(
        ("", "BLEU, lower-cased", "seconds"),
        [
            (
                "greedy" if row["width"] == 1 else f"beam of {row['width']}",
                f"{row['bleu_lower']:.1f}",
                f"{row['seconds']:.1f}",
            )
            for row in results
        ],
    )


def summaries() -> str:
    [result] = read("benchmarks/text/results/debian_synopsis.json")["results"]
    kinds, scores = ("rouge1", "rouge2", "rougeL"), result["scores"]
    rows = {f"regard, {result['trained'] / 60:.0f} minutes": "", "the first words": "first_words_"}
    return table(
        ("", "ROUGE-1", "ROUGE-2", "ROUGE-L"),
        [(name, *(f"{scores[prefix + kind]:.1f}" for kind in kinds)) for name, prefix in rows.items()],
    )


def trees() -> str:
    summary = read("benchmarks/text/results/trees.json")["studies"]["translation"]["summary"]

    def shown(figure: dict[str, float], places: int) -> str:
        return f"{figure['mean']:.{places}f} ± {figure['deviation']:.{places}f}"

    return table(
        ("positions of the source", "loss", "chrF"),
        [(name, shown(row["loss"], 3), shown(row["chrf"], 1)) for name, row in summary.items()],
    )


def translators() -> str:
    jobs = {
        "Transformer": "multi30k_de_en",
        "RNN with attention": "multi30k_de_en_rnn_attention",
        "RNN without": "multi30k_de_en_rnn",
    }
    rows = []
    for name, job in jobs.items():
        [result] = read(f"benchmarks/text/results/{job}.json")["results"]
        rows.append((name, f"{result['scores']['bleu_lower']:.1f}", f"{result['trained'] / 60:.0f} min"))
    return table(("model", "BLEU, lower-cased", "training"), rows)


def worth(*changes: str) -> Callable[[], str]:
    """The effect of some changes on a language model, from the ablation in docs/studies."""

    def make() -> str:
        path = "docs/studies/parts/effects.json"
        if not (ROOT / path).exists():
            return NOT_YET
        results = read(path)
        base, known = results["base"], results["changes"]
        rows: list[Sequence[object]] = [("base", f"{base['mean']:.3f}", "", "", "")]
        for name in changes:
            if (one := known.get(name)) and one["losses"]:
                loss = sum(one["losses"]) / len(one["losses"])
                cells = (f"{loss:.3f}", f"{one['difference']:+.3f}", f"±{one['margin']:.3f}", one["verdict"])
            else:
                cells = ("–", "–", "–", one["verdict"] if one else "left out")
            rows.append((f"`{name}`", *cells))
        return table(("change", "loss", "difference", "margin of error", "verdict"), rows)

    return make


def reports() -> str:
    """The reports in docs/studies, each in a folder of its own, by their titles."""
    files = sorted((ROOT / "docs" / "studies").glob("*/report.md"))
    lines = [f"- [{path.read_text().splitlines()[0].lstrip('# ')}]({path.parent.name}/report.md)" for path in files]
    return "\n".join(lines) or "None yet."


def throughput() -> str:
    """Images per second of whole training steps, and relative to torch's own encoder."""
    path = "benchmarks/images/results/throughput.json"
    if not (ROOT / path).exists():
        return NOT_YET
    results = read(path)
    named = {
        "regard": "the recipe's Transformer without its convolutions",
        "regard_recipe": "the recipe as it is",
        "torch": "`nn.TransformerEncoder`, eager, float32",
    }
    speeds, times = results["images_per_second"], results["times_torch"]
    rows = [(called, f"{speeds[name]:.0f}", f"{times[name]:.2f}") for name, called in named.items()]
    return table(("training steps", "images per second", "relative to torch"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "scale": curves("scale", "size", "head size"),
    "residuals": curves("residuals", "depth", "blocks"),
    "norms": curves("norms", "depth", "blocks"),
    "feed": pairs("feed", ("", "deviation from linearity")),
    "masks": pairs("masks", ("", "largest change")),
    "positions": pairs("positions", ("", "largest difference")),
    "experts": experts,
    "cost": cost,
    "longest": longest,
    "beams": beams,
    "roof": roof,
    "training step": training_step,
    "serving": serving,
    "cache": cache,
    "beside generate": beside_generate,
    "summaries": summaries,
    "trees": trees,
    "across": translators,
    "rnn": translators,
    "reports": reports,
    "throughput": throughput,
    "worth of scaling": worth("unscaled"),
    "worth of residuals": worth("no-residuals", "post-norm", "no-warm-up"),
    "worth of norms": worth("no-norm", "other-norm", "query-norm"),
    "worth of heads": worth("one-head", "shared-keys"),
    "worth of positions": worth("no-positions", "sinusoid", "learned", "shaw", "alibi", "t5-bias"),
    "worth of feed-forward": worth("no-feed-forward", "swiglu", "experts"),
    "worth of experts": worth("experts"),
    "worth of recurrence": worth("rnn"),
    "worth of sparse": worth("window", "bigbird", "linformer", "compressed"),
}
