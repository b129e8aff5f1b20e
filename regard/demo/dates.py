"""Translation: dates as people write them in seven languages become ISO dates, and the alignment shows how."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from regard.core.extras import available, explain_missing
from regard.data.text.pairs import Pair
from regard.tasks import Run, load_run
from regard.tasks.seq2seq.alignment import attention
from regard.tasks.training import train
from regard.tasks.translate.recipe import dates, dates_quick
from regard.tasks.translate.task import exact_match
from regard.view import alignment

EXAMPLE = "am 3. Oktober 1990"
SHOWN = 6  # held-out dates


def show(out: Path, quick: bool, console: Console) -> int:
    plan, place = dates_quick() if quick else dates(), out / "dates"
    pairs = plan.data.pairs()
    console.print("It sees pairs such as")
    for written, iso in pairs["train"][:3]:
        console.print(f"    {escape(written)}  →  {iso}")
    console.print("and is tested on days that it has never seen, in any language.\n")
    report = train(plan, place, overwrite=True)
    if report.stopped_by:
        return 128 + report.stopped_by
    run = load_run(place)
    show_answers(run, pairs["test"], console)
    show_alignment(run, place, console)
    return 0


def show_answers(run: Run, test: list[Pair], console: Console) -> None:
    table = Table("written", "read as", "right", box=None, padding=(0, 3, 0, 0))
    for (written, iso), answer in zip(test[:SHOWN], run.translate([one for one, _ in test[:SHOWN]]), strict=True):
        table.add_row(escape(written), escape(answer), "✓" if answer == iso else f"✗ {iso}")
    console.print("", table)
    console.print(f"\n[bold]{exact_match(run, test):.1%}[/] of {len(test):,} held-out dates are exactly right.\n")


def show_alignment(run: Run, place: Path, console: Console) -> None:
    answer = run.translate([EXAMPLE])[0]
    heard, source, target = attention(run.model, run.tokenizer, EXAMPLE, answer)  # type: ignore[arg-type]
    pattern = heard[f"decoder.{len(run.model.decoder.blocks) - 1}.cross.pattern"][0].mean(0)  # type: ignore[union-attr, arg-type]
    console.print(f"What it looked at (columns) to write each character (rows) of {escape(answer)}:\n")
    console.print(escape(alignment.as_text(pattern, target, source)))
    if not available("plot"):
        console.print(f"\n[dim]{escape(explain_missing('plot', 'The same as a picture'))}[/]")
        return
    picture = place / "alignment.png"
    alignment.draw(pattern, target, source, picture)
    console.print(f"\n[dim]The same as a picture: {escape(str(picture))}[/]")
