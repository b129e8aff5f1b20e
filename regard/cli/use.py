"""Verbs that use what was trained, from standard input to standard output."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.app import app
from regard.core.errors import ConfigError, UserError, at_least

if TYPE_CHECKING:
    from torch import Tensor

    from regard.data.trees.conllu import Parse
    from regard.run import Run


@app.command
def classify(run: Path, *images: Path, json: bool = False, trees: tuple[Path, ...] = ()) -> int:
    """Name the label of each line of standard input, or of each image.

    Parameters
    ----------
    run
        Run folder of a classifier.
    images
        For a classifier of images: their files, or folders of them.
    json
        Print a JSON object for each, with the probability of every label.
    trees
        CoNLL-U files with the dependency tree of each line.
    """
    from regard.tasks import ClassifyImages

    loaded = load_run(run)
    if isinstance(loaded.task, ClassifyImages):
        if trees:
            raise ConfigError(f"{run}: classifies images, so {trees[0]} is of no use to it")
        if not images:
            raise ConfigError(f"classify: name the images, for {run} reads no text")
        return classify_images(loaded, loaded.task.labels, images, json)
    if images:
        raise ConfigError(f"{images[0]}: {run} reads texts, a line each, from standard input: … < {images[0]}")
    lines = read_lines()
    labels, chances = loaded.label_chances(lines, read_line_trees(trees, lines))
    for row in chances:
        print(in_json(labels, row) if json else labels[int(row.argmax())])
    return 0


def classify_images(loaded: "Run", labels: tuple[str, ...], images: tuple[Path, ...], json: bool) -> int:
    """One line an image; what cannot be read is told apart, and ends the others' answers no sooner."""
    import json as writer

    from regard.data.images.image_files import Found, files_below

    files = [file for path in images for file in (files_below(path) if path.is_dir() else [path])]
    failed = 0
    for one, answer in loaded.look(Found(str(file), "", file) for file in files):
        if isinstance(answer, UserError):
            failed += 1
            print(f"regard: {answer}", file=sys.stderr)
            if json:
                print(writer.dumps({"file": one.where, "error": str(answer)}))
        else:
            print(in_json(labels, answer, file=one.where) if json else f"{one.where}\t{labels[int(answer.argmax())]}")
    return 1 if failed else 0


def in_json(labels: tuple[str, ...], chances: "Tensor", **more: str) -> str:
    import json

    shown = {label: round(chance, 6) for label, chance in zip(labels, chances.tolist(), strict=True)}
    return json.dumps({**more, "label": labels[int(chances.argmax())], "chances": shown}, ensure_ascii=False)


@app.command
def fill(run: Path, *, nbest: int | None = None) -> None:
    """Fill in the words that stand as [MASK] in the lines of standard input.

    Parameters
    ----------
    run
        Run folder of `regard train fill`, or a Hugging Face folder of a BERT.
    nbest
        Instead of the lines, print this many of the likeliest words for each [MASK]: the number of the line, the number
        of the [MASK] in it, the word and its probability, between tabs. A word that begins with ## goes on with the one
        before it.
    """
    from regard.text import GAP

    loaded, lines = load_run(run), read_lines()
    if nbest is None:
        for line in loaded.fill(lines):
            print(line)
    else:
        for number, gaps in enumerate(loaded.guesses(lines, nbest), 1):
            for gap, words in enumerate(gaps, 1):
                for word, chance in words:
                    print(number, gap, word, f"{chance:.4f}", sep="\t")
    whole = sum(GAP not in line for line in lines)
    if whole:
        print(f"{whole:,} of {len(lines):,} lines have no {GAP}: nothing to fill in there", file=sys.stderr)


@app.command
def generate(
    run: Path,
    *,
    prompt: str = "",
    tokens: int = 200,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float | None = None,
    stop: tuple[str, ...] = (),
    seed: int | None = None,
) -> None:
    """Write text that follows a prompt, as it comes.

    Parameters
    ----------
    run
        Run folder of a language model, or a Hugging Face folder of one (GPT-2, Llama, GPT-NeoX).
    prompt
        What to go on from.
    tokens
        Most tokens to write.
    temperature
        Below 1 more sure, above 1 more adventurous; 0 always takes the likeliest. 0.8 where it is not given.
    top_k
        Choose among this many only.
    top_p
        Choose among the likeliest that together have this probability.
    min_p
        Choose among those at least this share as likely as the likeliest.
    repetition_penalty
        Above 1 makes what has been written less likely.
    stop
        End before this text; may be given several times.
    seed
        The same seed writes the same text.
    """
    from regard.decode import Sampling
    from regard.tasks.language import room_after

    options = {"temperature": temperature, "repetition_penalty": repetition_penalty}
    chosen = {name: value for name, value in options.items() if value is not None}
    sampling = Sampling(top_k=top_k, top_p=top_p, min_p=min_p, seed=seed, **chosen)
    loaded = load_run(run)
    pieces = loaded.generate(prompt, tokens, sampling, stop)
    if loaded.tokenizer is not None:
        [given] = loaded.tokenizer.encode([prompt])
        if unknown := loaded.tokenizer.count_unknown(given):
            told = f"note: {unknown:,} of {len(given):,} tokens of the prompt never occur in what {run} learned from"
            print(told, file=sys.stderr)
        room = room_after(loaded.model, len(loaded.tokenizer.prompt(prompt)))
        if room is not None and room < tokens:
            print(f"note: {run} has no places for more than {room:,} tokens after this prompt", file=sys.stderr)
    sys.stdout.write(prompt)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


@app.command
def summarise(run: Path, *, beam: int = 1, longest: int = 128) -> None:
    """Summarise the lines of standard input, one document a line.

    Parameters
    ----------
    run
        Run folder of a summariser.
    beam
        Keep this many beginnings at every word; 5 is better than 1 and slower.
    longest
        Most tokens to write for a document.
    """
    from regard.decode import Beam

    at_least(1, beam=beam)
    loaded, texts = load_run(run), read_lines()
    if cut := loaded.how_many_cut(texts):
        print(f"{cut:,} of {len(texts):,} documents are longer than what is read of them: cut", file=sys.stderr)
    for answer in loaded.summarise(texts, longest, beam=Beam(beam) if beam != 1 else None):
        print(answer)


@app.command
def translate(
    run: Path,
    *,
    beam: int = 1,
    nbest: int = 1,
    scores: bool = False,
    align: bool = False,
    longest: int = 256,
    trees: tuple[Path, ...] = (),
) -> None:
    """Translate the lines of standard input.

    Parameters
    ----------
    run
        Run folder of a translator, or a Hugging Face folder of one (Marian, T5).
    beam
        Keep this many beginnings at every word; 5 is better than 1 and slower.
    nbest
        Print so many translations of a line, best first, each after the number of its line and its score.
    scores
        Print the log-probability for each token before each translation.
    align
        Print after each translation which word of the line each of its words looked at: 0-0 2-1, from 0.
    longest
        Most tokens to write for a line.
    trees
        CoNLL-U files with the tree of each line, in the same order, for a run with Tree positions.
    """
    from regard.decode import Beam

    at_least(1, beam=beam, nbest=nbest)
    if nbest > beam:
        raise ConfigError(f"--nbest {nbest}: a beam of {beam} finds only {beam}; give --beam {nbest} or more")
    loaded, texts = load_run(run), read_lines()
    search = Beam(beam) if beam != 1 else None
    parses = read_line_trees(trees, texts)
    asked = [text for text in texts if text.strip() or parses]  # of a blank line nothing is invented
    found = loaded.translations(asked, longest, beam=search, trees=parses)
    if search is None and scores:
        likely = loaded.score([(text, best[0].text) for text, best in zip(asked, found, strict=True)], parses)
        found = [[replace(best[0], score=score)] for best, score in zip(found, likely, strict=True)]
    answers = iter(found)
    for number, text in enumerate(texts, 1):
        if not text.strip() and not parses:
            print()
            continue
        for one in next(answers)[:nbest]:
            cells = [str(number)] if nbest > 1 else []
            cells += [f"{one.score:.4f}"] if scores or nbest > 1 else []
            cells.append(one.text)
            if align:
                tree = parses[number - 1] if parses else None
                cells.append(" ".join(f"{read}-{word}" for read, word in loaded.align(text, one.text, tree)))
            print("\t".join(cells))


def load_run(path: Path) -> "Run":
    """A run that reads text; a table is refused."""
    from regard.interop import load

    return load(path)


def read_line_trees(files: tuple[Path, ...], lines: list[str]) -> "list[Parse] | None":
    """The tree of each line of standard input, where trees are given."""
    if not files:
        return None
    from regard.data.trees.conllu import match_trees, read_trees

    parses = read_trees(files)
    match_trees(parses, lines, lambda number: f"standard input, line {number + 1}")
    return parses


def read_lines() -> list[str]:
    """Standard input as lines, without a byte-order mark; bytes that are not UTF-8 are named by line."""
    lines: list[str] = []
    if sys.stdin is None:
        return lines
    if sys.stdin.isatty():
        print("type lines, and Ctrl-D after the last", file=sys.stderr)
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: is not UTF-8") from None
    return lines
