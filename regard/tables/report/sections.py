"""The sections about one target: scores, calibration, mistakes, columns, curves and deciding rows, as HTML."""

from collections.abc import Iterator
from html import escape

from regard.tables.cutting import cut
from regard.tables.report import plots
from regard.tables.report.formats import (
    NONE,
    cell_text,
    decimals,
    fixed,
    number_text,
    percent,
    score_interval,
    score_text,
)
from regard.tables.report.markup import figure, note, paragraph, table
from regard.tables.report.results import (
    Confusion,
    Coverage,
    Detection,
    Interval,
    Reliability,
    TargetResults,
)
from regard.tables.scores import NAMES

BETTER = {"auc": "higher", "accuracy": "higher", "r2": "higher"}
MAX_IMPORTANT = 20  # columns listed
LITTLE = 0.1  # of the largest importance


def scores_section(target: TargetResults) -> Iterator[str]:
    main = target.metrics[0]
    heads = ["model", *(NAMES[metric] for metric in target.metrics), f"regard better by ({NAMES[main]})"]
    places = decimals(target.models[0].scores[main].value, 4) if main == "rmse" else 3
    rows = []
    for one in target.models:
        if one.error:
            rows.append([escape(one.name), f"failed: {escape(one.error)}", *[""] * len(target.metrics)])
            continue
        cells = [
            f"{score_text(metric, one.scores[metric].value)}<small>{score_interval(metric, one.scores[metric])}</small>"
            for metric in target.metrics
        ]
        lead = ""
        if one.lead is not None:
            value, low, high = (fixed(each, places) for each in (one.lead.value, one.lead.low, one.lead.high))
            lead = f"{'+' if one.lead.value > 0 else ''}{value}<small>{low} to {high}</small>"
        rows.append([escape(one.name), *cells, lead])
    yield table(heads, rows, right=range(1, len(heads)), first_own=True)
    better = " and ".join(
        f"{words} ({', '.join(NAMES[metric] for metric in target.metrics if BETTER.get(metric, 'lower') == words)})"
        for words in ("lower", "higher")
        if any(BETTER.get(metric, "lower") == words for metric in target.metrics)
    )
    yield note(
        f"Better is {better}. Small numbers are 95 % confidence intervals (bootstrap over the held-out rows, paired "
        "for differences): how much a score depends on which rows were held out, not on which ones were fitted to. "
        "All models learned from the same rows and are scored on the same rows; the baselines have scikit-learn’s "
        "defaults."
    )
    yield figure(
        plots.forest([target.models[0], *target.models[2:]], main, NAMES[main]),
        f"{NAMES[main]} on held-out rows, with 95 % intervals ({BETTER.get(main, 'lower')} is better).",
    )


def calibration_section(target: TargetResults) -> Iterator[str]:
    measured = target.calibration
    if isinstance(measured, Coverage):
        yield from _coverage(measured, target.name)
    elif isinstance(measured, Reliability):
        yield from _reliability(measured)


def _coverage(measured: Coverage, name: str) -> Iterator[str]:
    last = measured.intervals[-1]
    yield paragraph(
        f"Of the held-out rows, {percent(last.covered.value)} have a {name} within the predicted "
        f"{percent(last.nominal)} interval (confidence interval {percent(last.covered.low)} to "
        f"{percent(last.covered.high)})."
    )
    rows = [
        [
            percent(one.nominal),
            f"{percent(one.covered.value, 1)}<small>{percent(one.covered.low)} to {percent(one.covered.high)}</small>",
            number_text(one.width, 3),
        ]
        for one in measured.intervals
    ]
    listed = table(["interval should hold", "it holds", "mean width"], rows, right=(0, 1, 2))
    drawn = figure(plots.coverage_plot(measured), "Quantiles: on the dashed line they are calibrated.")
    yield f'<div class="pair">{drawn}<div>{listed}</div></div>'


def _reliability(measured: Reliability) -> Iterator[str]:
    yield paragraph(
        f"Predicted probabilities of {measured.event} differ from what was observed by {fixed(measured.error, 3)} on "
        "average (expected calibration error)."
    )
    rows = [
        [
            fixed(one.predicted, 3),
            _fraction(one.observed),
            f"{one.rows:,}",
        ]
        for one in measured.bins
    ]
    listed = table(["predicted", "observed", "rows"], rows, right=(0, 1, 2))
    drawn = figure(
        plots.reliability_plot(measured),
        "Rows in bins of equal size by their predicted probability; bars are 95 % intervals. On the dashed line "
        "probabilities are calibrated.",
    )
    yield f'<div class="pair">{drawn}<div>{listed}</div></div>'


def _fraction(one: Interval) -> str:
    return f"{fixed(one.value, 3)}<small>{fixed(one.low, 3)} to {fixed(one.high, 3)}</small>"


def mistakes_section(target: TargetResults) -> Iterator[str]:
    measured = target.mistakes
    if not isinstance(measured, Confusion):
        shown = len(measured.predicted)
        sample = "" if shown == measured.rows else f" ({shown:,} of {measured.rows:,}, drawn at random)"
        left = figure(
            plots.residual_plot(measured, target.name),
            f"True minus predicted. Each point is a held-out row{sample}. A bend means that some predictions are "
            "systematically off; a funnel, that some are less certain than others.",
        )
        right = figure(
            plots.truth_plot(measured, target.name), "True against predicted; on the dashed line they agree."
        )
        yield f'<div class="pair">{left}{right}</div>'
        return
    if measured.counts:
        caption = "Held-out rows by true and predicted class; shades are fractions of the true class."
        drawn = figure(plots.confusion_plot(measured), caption)
        yield f'<div class="pair">{drawn}<div>{_by_class(measured)}</div></div>'
    if not measured.counts and measured.mistakes:
        yield paragraph(f"With {len(measured.labels):,} classes, these are the most frequent mistakes:")
        rows = [
            [escape(cell_text(true)), escape(cell_text(other)), f"{count:,}"]
            for true, other, count in measured.mistakes
        ]
        yield table(["true class", "predicted class", "held-out rows"], rows, right=(2,))
    if not measured.mistakes:
        yield paragraph("No held-out row is predicted wrongly.")


def _by_class(measured: Confusion) -> str:
    """Precision and recall of each class."""
    rows = []
    for place, name in enumerate(measured.labels):
        right, true = measured.counts[place][place], sum(measured.counts[place])
        predicted = sum(row[place] for row in measured.counts)
        fractions = [fixed(right / total, 3) if total else NONE for total in (predicted, true)]
        rows.append([escape(cell_text(name)), *fractions, f"{true:,}"])
    return table(["class", "precision", "recall", "rows"], rows, right=(1, 2, 3)) + note(
        "Precision: the fraction of rows predicted as the class that have it. Recall: the fraction of rows of the "
        "class that are predicted as it."
    )


def detection_section(measured: Detection) -> Iterator[str]:
    rare = "rare: " if measured.rare else ""
    yield paragraph(
        f"{measured.label!r} is {rare}{percent(measured.frequency, 1)} of the held-out rows. Its average precision "
        f"(the area under the curve) is {fixed(measured.average_precision, 3)}. " + _proposal(measured)
    )
    heads = {"precision": "precision", "recall": "recall", "f1": "F1"}
    heads |= {"cost": f"cost per row ({measured.cost})"} if measured.cost else {}
    rows = [
        [number_text(at, 2), *(fixed(measured.scores[name][each], 3) for each in heads)]
        for name, at in (("0.5", 0.5), ("proposed", measured.threshold))
    ]
    listed = table(["predicted from", *heads.values()], rows, right=range(len(heads) + 1))
    drawn = figure(
        plots.detection_plot(measured),
        "Precision: how many of those predicted are right. Recall: how many of them are detected. The dashed line is "
        "guessing.",
    )
    what = "cost" if measured.cost else "F1"
    chosen = note(f"The threshold was chosen on these rows, so its {what} is a little optimistic.")
    chosen = chosen if measured.chosen_here else ""
    yield f'<div class="pair">{drawn}<div>{listed}{chosen}</div></div>'


def _proposal(measured: Detection) -> str:
    start = number_text(measured.threshold, 2)
    goal = f" for a cost of {measured.cost} (false alarm : miss)" if measured.cost else ""
    if measured.chosen_here:
        least = f"costs least{goal}" if goal else "has the largest F1"
        return f"Predicting it from a probability of {start} on {least}."
    return f"The threshold that regard fit proposed{goal}, by other held-out rows, is {start}."


def importance_section(target: TargetResults) -> Iterator[str]:
    measured = target.importance
    listed = measured.columns[:MAX_IMPORTANT]
    if not listed:
        yield paragraph("No column has a filled cell.")
        return
    metric = NAMES[measured.metric]
    largest, longest = listed[0].loss.value, max(one.loss.high for one in listed)
    places = decimals(largest)
    rows = []
    for one in listed:
        value, low, high = (fixed(each, places) for each in (one.loss.value, one.loss.low, one.loss.high))
        clear = one.loss.low > 0 or one.loss.value > LITTLE * largest
        name = f"{escape(cell_text(one.name))}<small>{one.kind}</small>"
        direction = escape(one.direction if clear else "little effect")
        rows.append([name, plots.bar(one.loss, longest), f"{value}<small>{low} to {high}</small>", direction])
    yield table(["column", "", f"{metric} grows by", _direction_title(target)], rows, right=(2,))
    repeats = f", {measured.repeats} times each" if measured.repeats > 1 else ""
    rest = len(measured.columns) - len(listed) + measured.unmeasured
    others = f" {rest:,} more columns matter less, or hardly moved the predictions of a few rows." if rest else ""
    yield note(
        f"Permutation importance: the cells of one column are shuffled among {measured.rows:,} held-out rows{repeats}, "
        f"and {metric} on these rows grows; lines are 95 % intervals (bootstrap over rows). Columns that say the same "
        f"share their importance, and may each look unimportant.{others}"
    )


def _direction_title(target: TargetResults) -> str:
    kinds = {one.kind for one in target.importance.columns[:MAX_IMPORTANT]}
    grows, categories = bool(kinds & {"number", "date"}), "category" in kinds
    how = " or ".join(["as the column grows"] * grows + ["by its categories"] * categories)
    if not target.classes:
        return f"{target.name} {how}".strip()
    if len(target.classes) == 2:
        shown = target.dependence[0].curves[0][0] if target.dependence else ""
        return f"probability of {shown!r} {how}".strip() if shown else "direction"
    return f"probabilities {how} (more ↗, less ↘)" if grows else f"probabilities {how}".strip()


def dependence_section(target: TargetResults) -> Iterator[str]:
    if not target.dependence:
        yield paragraph("No column has cells that could be varied.")
        return
    curves = [curve for one in target.dependence for _, curve in one.curves]
    low, high = plots.padded([value for curve in curves for value in curve])
    probability = bool(target.classes)
    if probability:
        low, high = max(0.0, low), min(1.0, high)
    names = [name for name, _ in target.dependence[0].curves]
    title = "probability" if probability else cut(target.name, 26)
    yield note(
        f"The average prediction over {target.dependence[0].rows:,} held-out rows if all of them had the same cell in "
        f"this column and kept their others; in {'probability' if probability else 'the unit of ' + target.name}, on a "
        "common scale. Ticks at the axis are training rows; where there are none, the curve is a guess."
    )
    if probability:
        yield plots.legend(names if len(names) > 1 else [f"probability of {names[0]!r}"])
    drawn = "".join(
        f"<figure><h3>{escape(cell_text(one.name))}</h3>"
        f"{plots.dependence_plot(one, (low, high), title, probability)}</figure>"
        for one in target.dependence
    )
    yield f'<div class="grid">{drawn}</div>'
