"""Dates written out in seven languages, paired with the ISO date: a small translation task that needs no files."""

import datetime
import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.core.errors import ConfigError, at_least
from regard.core.machine import seed_for
from regard.data.text.pairs import Pair, References
from regard.data.trees.conllu import Parse
from regard.text import Characters, TokenizerConfig


@dataclass(frozen=True)
class Language:
    months: tuple[str, ...]
    weekdays: tuple[str, ...]  # Monday first
    # {d} day, {dd} two digits, {th} ordinal, {m} name of the month, {mm} its number, {y} year, {w} weekday
    forms: tuple[str, ...]


def names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


LANGUAGES = {
    "English": Language(
        names("January February March April May June July August September October November December"),
        names("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
        (
            "{d} {m} {y}",
            "{m} {d}, {y}",
            "the {th} of {m}, {y}",
            "{w}, {d} {m} {y}",
            "{w} the {th} of {m} {y}",
            "{m} {th}, {y}",
        ),
    ),
    "German": Language(
        names("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        names("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
        ("{d}. {m} {y}", "{w}, den {d}. {m} {y}", "am {d}. {m} {y}", "{dd}.{mm}.{y}", "{w}, {d}. {m} {y}"),
    ),
    "French": Language(
        names("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        names("lundi mardi mercredi jeudi vendredi samedi dimanche"),
        ("{d} {m} {y}", "le {d} {m} {y}", "{w} {d} {m} {y}", "le {w} {d} {m} {y}"),
    ),
    "Spanish": Language(
        names("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
        names("lunes martes miércoles jueves viernes sábado domingo"),
        ("{d} de {m} de {y}", "el {d} de {m} de {y}", "{w}, {d} de {m} de {y}"),
    ),
    "Italian": Language(
        names("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
        names("lunedì martedì mercoledì giovedì venerdì sabato domenica"),
        ("{d} {m} {y}", "il {d} {m} {y}", "{w} {d} {m} {y}"),
    ),
    "Dutch": Language(
        names("januari februari maart april mei juni juli augustus september oktober november december"),
        names("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
        ("{d} {m} {y}", "{w} {d} {m} {y}", "op {d} {m} {y}"),
    ),
    "Portuguese": Language(
        names("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
        names("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo"),
        ("{d} de {m} de {y}", "{w}, {d} de {m} de {y}", "em {d} de {m} de {y}"),
    ),
}


@dataclass(frozen=True)
class Dates:
    """Splits are disjoint by day: no day of the validation or test pairs occurs in training, in any language."""

    train: int = 20_000
    valid: int = 500
    test: int = 1_000
    first_year: int = 1900
    last_year: int = 2099
    seed: int = 0
    tokenizer: TokenizerConfig | None = Characters()  # None: that of the pre-trained model

    def __post_init__(self) -> None:
        at_least(1, train=self.train, valid=self.valid, test=self.test)
        if not 1 <= self.first_year <= self.last_year <= 9999:
            raise ConfigError(f"first_year {self.first_year} to last_year {self.last_year} is not a range of years")

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def has_trees(self) -> bool:
        return False

    def pairs(self) -> dict[str, list[Pair]]:
        rng = random.Random(seed_for("dates", self.seed))
        first = datetime.date(self.first_year, 1, 1).toordinal()
        days = list(range(first, datetime.date(self.last_year, 12, 31).toordinal() + 1))
        rng.shuffle(days)
        tenth = len(days) // 10
        spans = {"train": days[2 * tenth :], "valid": days[:tenth], "test": days[tenth : 2 * tenth]}
        return {name: _pairs(span, getattr(self, name), rng) for name, span in spans.items()}

    def references(self) -> dict[str, list[References]]:
        return {name: [(source, (target,)) for source, target in pairs] for name, pairs in self.pairs().items()}

    def parses(self) -> dict[str, list[Parse]]:
        """Dates have no dependency trees."""
        return {}


def write(day: datetime.date, language: Language, form: str) -> str:
    return form.format(
        d=day.day,
        dd=f"{day.day:02d}",
        th=f"{day.day}{_ordinal(day.day)}",
        m=language.months[day.month - 1],
        mm=f"{day.month:02d}",
        y=day.year,
        w=language.weekdays[day.weekday()],
    )


def _pairs(days: Sequence[int], count: int, rng: random.Random) -> list[Pair]:
    pairs = []
    for _ in range(count):
        day = datetime.date.fromordinal(rng.choice(days))
        language = LANGUAGES[rng.choice(list(LANGUAGES))]
        written = write(day, language, rng.choice(language.forms))
        pairs.append((written if rng.random() < 0.8 else written.lower(), day.isoformat()))
    return pairs


def _ordinal(day: int) -> str:
    return "th" if 4 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
