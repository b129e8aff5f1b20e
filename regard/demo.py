"""The demo: train a model from nothing, use it, and look at what it attended to. Needs no files and no network."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from regard.core.errors import UserError
from regard.recipes import dates, dates_quick, share_right, train_translator
from regard.run import CONFIG, Run, load_run, read_config
from regard.tasks.targets import attention
from regard.view import alignment

EXAMPLE = "am 3. Oktober 1990"


def run_demo(out: Path, quick: bool) -> int:
    """The whole of it; gives the exit code."""
    console = Console(highlight=False, soft_wrap=True)
    plan = dates_quick() if quick else dates()
    pairs = plan.data.pairs()  # type: ignore[union-attr]
    console.print("[bold]A small Transformer learns to read dates.[/] It sees pairs such as")
    for written, iso in pairs["train"][:3]:
        console.print(f"    {escape(written)}  →  {iso}")
    console.print("and is tested on days that it has never seen, in any language.\n")
    refuse_other_runs(out)
    report = train_translator(plan, out, overwrite=True)
    if report.stopped_by:
        return 128 + report.stopped_by
    _show(load_run(out), pairs["test"], out, console)
    return 0


def refuse_other_runs(out: Path) -> None:
    """The demo replaces what an earlier demo left, and nothing else."""
    if (out / CONFIG).exists() and not str(read_config(out).get("command")).startswith("regard demo"):
        raise UserError(f"{out}: holds a run that is not the demo's; choose another folder with --out")


def _show(run: Run, test: list[tuple[str, str]], out: Path, console: Console) -> None:
    console.print("\n[bold]Held-out days[/]")
    table = Table("written", "read as", "right", box=None, padding=(0, 3, 0, 0))
    for (written, iso), answer in zip(test[:8], run.translate([written for written, _ in test[:8]]), strict=True):
        table.add_row(written, answer, "✓" if answer == iso else f"✗ {iso}")
    console.print(table)
    console.print(f"\n[bold]{share_right(run, test):.1%}[/] of {len(test):,} held-out dates are exactly right.\n")

    answer = run.translate([EXAMPLE])[0]
    heard, source, target = attention(run.model, run.tokenizer, EXAMPLE, answer)  # type: ignore[arg-type]
    pattern = heard[f"decoder.{len(run.model.decoder.blocks) - 1}.cross.pattern"][0].mean(0)  # type: ignore[union-attr, arg-type]
    console.print(f"What it looked at (columns) to write each character (rows) of {answer}:\n")
    console.print(alignment.as_text(pattern, target, source))
    picture = out / "alignment.png"
    alignment.draw(pattern, target, source, picture)
    place = escape(str(out))
    console.print(f"\nThe run is in {place}; the same picture is {escape(str(picture))}. Try:\n")
    console.print(f'    echo "le 14 juillet 1989" | regard translate {place}')
    console.print(f"    regard show {place}")
