"""The page of a report: one HTML file that needs no other, for the screen and for paper."""

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape

from regard.tables.report.deciding import influence_section
from regard.tables.report.formats import cell_text, fixed, percent, score_interval, score_text
from regard.tables.report.markup import note, paragraph, table
from regard.tables.report.results import Coverage, ModelScores, Results, TargetResults, Training
from regard.tables.report.sections import (
    calibration_section,
    dependence_section,
    detection_section,
    importance_section,
    mistakes_section,
    scores_section,
)
from regard.tables.report.style import STYLE
from regard.tables.scores import NAMES

PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}
MODES = {
    "in_context": "the pre-trained network reads the table; nothing was trained",
    "auto": "the pre-trained network, and others trained on this table",
    "attention": "the pre-trained network, and others trained on this table, without trees",
    "scratch": "a network trained on this table alone",
}
MAX_COLUMNS = 12  # listed at once; the others can be unfolded


def render(results: Results) -> str:
    """A report as HTML."""
    names = ", ".join(target.name for target in results.targets)
    body = "".join(_body(results))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(names)}: a report of {escape(results.source)}</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _body(results: Results) -> Iterator[str]:
    several = len(results.targets) > 1
    origin = f"Report of {results.source} · {results.date} · regard {results.version}"
    yield f'<p class="kicker">{escape(origin)}</p>'
    if several:
        yield f"<h1>{len(results.targets)} targets: {escape(', '.join(one.name for one in results.targets))}</h1>"
        yield "".join(paragraph(f"{sentence(one, results)}") for one in results.targets)
    else:
        yield f"<h1>Predicting {escape(results.targets[0].name)}</h1>"
        yield f'<p class="lead">{escape(sentence(results.targets[0], results))}</p>'
        yield _cards(results.targets[0])
    yield _section("What was learned from what", _training(results.training, results.held_out))
    for target in results.targets:
        if several:
            yield f'<h2 class="target">{escape(target.name)}</h2>'
            yield _cards(target)
        yield from _target(target)
    yield _section("Warnings", _warnings(results))
    steps = (f"{paragraph(what)}<pre><code>{escape(how)}</code></pre>" for what, how in results.commands)
    yield _section("What to do next", steps)
    yield f"<footer>Measured in {results.seconds:.0f} seconds by regard {escape(results.version)}, offline.</footer>"


def _target(target: TargetResults) -> Iterator[str]:
    numeric = not target.classes
    yield _section("Scores on held-out rows, beside baselines", scores_section(target))
    title = "Calibration: do intervals hold what they promise?" if numeric else "Calibration: do probabilities hold?"
    yield _section(title, calibration_section(target))
    yield _section("Residuals" if numeric else "Confusion of classes", mistakes_section(target))
    if target.detection is not None:
        yield _section(f"Detecting {cell_text(target.detection.label)!r}", detection_section(target.detection))
    yield _section("Columns by importance", importance_section(target))
    yield _section("How the prediction depends on a column", dependence_section(target))
    yield _section("Training rows that decide most", influence_section(target))


def _section(title: str, content: Iterable[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(content)}</section>"


def sentence(target: TargetResults, results: Results) -> str:
    """The result in one plain sentence, and how it compares."""
    rows = f"{results.held_out_rows:,} rows{f' ({results.how})' if results.how else ''}"
    own, constant = (one.scores for one in target.models[:2])
    if target.classes:
        right, naive = (percent(one["accuracy"].value, 1) for one in (own, constant))
        return (
            f"{target.name} is predicted correctly for {right} of {rows} that the model had not seen; always "
            f"predicting the most frequent class, it would be {naive}. {_comparison(target)}"
        )
    error, naive = (score_text("mae", one["mae"].value) for one in (own, constant))
    return (
        f"Predictions of {target.name} are off by {error} on average, on {rows} that the model had not seen; "
        f"predicting the mean for every row, it would be {naive}. {_comparison(target)}"
    )


def _comparison(target: TargetResults) -> str:
    """Beside the best baseline, by the main metric."""
    others = [one for one in target.models[1:] if one.lead is not None]
    if not others:
        return ""
    best = min(others, key=lambda one: one.lead.value if one.lead else 0.0)
    assert best.lead is not None
    main = target.metrics[0]
    other, own = (score_text(main, one.scores[main].value) for one in (best, target.models[0]))
    values = f"{NAMES[main]} {other} against {own}"
    if best.lead.low > 0:
        return f"That is better than every baseline; the nearest is {best.name} ({values})."
    if best.lead.high < 0:
        return f"A baseline is better here: {best.name} ({values})."
    return f"The best baseline, {best.name}, is neither clearly better nor worse ({values})."


def _cards(target: TargetResults) -> str:
    own: ModelScores = target.models[0]
    cards = [
        (
            score_text(metric, own.scores[metric].value),
            f"{NAMES[metric]}, 95 % interval {score_interval(metric, own.scores[metric])}",
        )
        for metric in target.metrics
    ]
    if isinstance(target.calibration, Coverage):
        last = target.calibration.intervals[-1]
        cards.append((percent(last.covered.value), f"of rows within their {percent(last.nominal)} interval"))
    elif target.calibration is not None:
        cards.append((fixed(target.calibration.error, 3), "calibration error of probabilities"))
    drawn = "".join(f'<div class="card"><b>{big}</b><span>{small}</span></div>' for big, small in cards)
    return f'<div class="cards">{drawn}</div>'


def _training(training: Training, held_out: str) -> Iterator[str]:
    counts = Counter(kind for _, kind, _, _ in training.columns)
    kinds = ", ".join(f"{count:,} {kind if count == 1 else PLURALS[kind]}" for kind, count in counts.most_common())
    facts = {
        "target": ", ".join(training.targets),
        "training rows": f"{training.rows:,}",
        "columns": f"{len(training.columns):,} ({kinds})",
        "missing cells": percent(training.missing, 1),
        "mode": f"{training.mode} ({MODES[training.mode]})",
        "held-out rows": held_out,
    }
    yield f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape(value)}</dd>' for name, value in facts.items())}</dl>"
    heads = ["column", "kind", "filled", "holds"]
    rows = [[escape(cell_text(cell)) for cell in row] for row in training.columns]
    yield table(heads, rows[:MAX_COLUMNS], right=(2,))
    if len(rows) > MAX_COLUMNS:
        more = table(heads, rows[MAX_COLUMNS:], right=(2,))
        yield f"<details><summary>{len(rows) - MAX_COLUMNS:,} more columns</summary>{more}</details>"


def _warnings(results: Results) -> Iterator[str]:
    if not results.warnings:
        yield note(
            "None: no column gives the target away, no held-out rows repeat training rows, no column looks wrong."
        )
        return
    yield f'<ul class="warnings">{"".join(f"<li>{escape(line)}</li>" for line in results.warnings)}</ul>'
