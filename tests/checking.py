"""How annotations are checked under test: as Python reads them, where a whole number may stand for a float."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
