"""Configs: frozen dataclasses that read from and write to plain dictionaries and YAML, strictly.

A field whose type is a union of configs is written with the class's name under `kind`:

    attention: {kind: BigBird, block: 64}        or, with every default,        attention: BigBird

The union is the table of variants. A part of your own joins it by inheritance: a `Config` that is a subclass of a
variant may stand wherever that variant may. It is known once its module is imported; reading a file imports nothing.
"""

import dataclasses
import reprlib
import types
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from regard.core.errors import ConfigError, did_you_mean

ConfigT = TypeVar("ConfigT")
DEEP = 2000  # brackets and columns together, of which a nested value needs at least one each


class Config:
    """The base of every config. A direct subclass is a family, such as that of the attentions.

    Inside a family a name means one class: that of a variant cannot be taken by a part of your own.
    """

    _variants: ClassVar[dict[str, type]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if Config in cls.__bases__:
            cls._variants = {}
        known = cls._variants.get(cls.__name__)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ConfigError(f"{cls.__name__}: {known.__module__} has a part of this name; choose another")
        cls._variants[cls.__name__] = cls


def to_dict(value: Any) -> Any:
    """A config as plain dictionaries, lists and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: to_dict(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__} | fields
    if isinstance(value, (tuple, list)):
        return [to_dict(item) for item in value]
    return value


def from_dict(kind: Any, data: Any, where: str = "") -> Any:
    """Read `data` as the type `kind`: a config class, a union of them, or a plain type. `where` is the key's path."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), data, where)
    if dataclasses.is_dataclass(kind):
        return _read_config(kind, data, where)
    if origin is Literal:
        if data not in get_args(kind):
            raise ConfigError(
                f"{where}: must be one of {', '.join(map(str, get_args(kind)))}, not {reprlib.repr(data)}"
            )
        return data
    if origin is tuple:
        if not isinstance(data, (list, tuple)):
            raise ConfigError(f"{where}: expects a list, not {reprlib.repr(data)}")
        element = get_args(kind)[0]
        return tuple(from_dict(element, item, f"{where}[{i}]") for i, item in enumerate(data))
    return _read_scalar(kind, data, where)


def to_yaml(config: Any) -> str:
    return yaml.safe_dump(to_dict(config), sort_keys=False, allow_unicode=True)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds, without knowing what it should be."""
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}, line {line}: is not YAML ({error.problem})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not YAML ({reprlib.repr(str(error))})") from None


def _parse(text: str) -> Any:
    """By libyaml, which is ten times as fast, unless the text could be nested so deep that its stack overflows."""
    deepest = text.count("[") + text.count("{") + max(map(len, text.splitlines()), default=0)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if deepest < DEEP else yaml.SafeLoader
    return yaml.load(text, Loader=loader)


def from_yaml(kind: type[ConfigT], path: Path) -> ConfigT:
    data = read_yaml(path)
    try:
        config: ConfigT = from_dict(kind, data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return config


def override(config: ConfigT, changes: Mapping[str, Any], kind: Any = None) -> ConfigT:
    """A copy of `config` with dotted keys replaced: `{"model.attention": "BigBird", "model.attention.block": 32}`.

    Naming another kind in a union starts from that kind's defaults; keys below it then change single fields.
    """
    data = to_dict(config)
    for key in sorted(changes, key=lambda key: key.count(".")):
        *path, last = key.split(".")
        place = data
        for depth, name in enumerate(path):
            if isinstance(place.get(name), str):
                place[name] = {"kind": place[name]}
            if not isinstance(place.get(name), dict):
                parent = ".".join(path[: depth + 1])
                known = name in place
                raise ConfigError(f"{key}: {parent!r} has no settings below it" if known else _unknown(parent, place))
            place = place[name]
        place[last] = deepcopy(to_dict(changes[key]))  # keys below it must not change the caller's own
    changed: ConfigT = from_dict(kind or type(config), data)
    return changed


def _unknown(key: str, known: Mapping[str, Any]) -> str:
    above, dot, last = key.rpartition(".")
    return f"unknown key {key!r}; {did_you_mean(last, set(known) - {'kind'}, above + dot)}"


def _read_union(members: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in members:
        return None
    plain = [m for m in members if not dataclasses.is_dataclass(m) and m is not type(None)]
    variants = [m for m in members if isinstance(m, type) and dataclasses.is_dataclass(m)]
    configs = {name: one for variant in variants for name, one in _known_as(variant).items()}
    if configs and isinstance(data, str):
        data = {"kind": data}
    if configs and isinstance(data, Mapping):
        name = data.get("kind", next(iter(configs)) if len(configs) == 1 else None)
        if name is None:
            raise ConfigError(f"{where}: needs a `kind`, one of {', '.join(configs)}")
        if not isinstance(name, str) or name not in configs:
            raise ConfigError(f"{where}: unknown kind {name!r}; {did_you_mean(str(name), configs)}")
        return from_dict(configs[name], data, where)
    if len(plain) == 1:
        return from_dict(plain[0], data, where)
    raise ConfigError(f"{where}: expects one of {', '.join(configs) or members}, not {reprlib.repr(data)}")


def _known_as(variant: type) -> dict[str, type]:
    """A variant and the configs that inherit from it, by name."""
    variants = {variant.__name__: variant}
    if not issubclass(variant, Config):
        return variants
    return variants | {name: one for name, one in variant._variants.items() if issubclass(one, variant)}


def _read_config(kind: Any, data: Any, where: str) -> Any:
    if isinstance(data, str):
        data = {"kind": data}
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where or kind.__name__}: expects settings of {kind.__name__}, not {reprlib.repr(data)}")
    if data.get("kind", kind.__name__) != kind.__name__:
        raise ConfigError(f"{where or 'kind'}: expects {kind.__name__}, not {data['kind']!r}")
    hints = get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    values = {}
    for name, value in data.items():
        if name == "kind":
            continue
        path = f"{where}.{name}" if where else str(name)
        if name not in fields:
            raise ConfigError(_unknown(path, fields))
        values[name] = from_dict(hints[name], value, path)
    missing = [
        name
        for name, f in fields.items()
        if name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(f"{where or kind.__name__}: needs {', '.join(missing)}")
    try:
        return kind(**values)
    except ConfigError as error:  # a rule between fields, raised by the config itself
        message = str(error)
        mark = "." if message.split(":")[0] in fields else ": "  # a rule that names its field completes the path
        raise ConfigError(f"{where}{mark}{message}" if where else message) from None


def _read_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    if kind is float and isinstance(data, (int, float, str)) and not isinstance(data, bool):
        try:
            return float(data)  # YAML reads 3e-4 as text
        except ValueError:
            pass
    if isinstance(data, kind) and not (kind is int and isinstance(data, bool)):
        return data
    word = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}.get(kind, str(kind))
    raise ConfigError(f"{where}: expects {word}, not {reprlib.repr(data)}")
