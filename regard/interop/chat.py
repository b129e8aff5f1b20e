"""Chat templates: messages become the text that a model was trained to answer, by a program in the folder.

The program is written in Jinja and comes from strangers, so it runs in Jinja's sandbox, which gives it strings and
loops but no files, no attributes that begin with an underscore and no way to change what it is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from regard.core.errors import ConfigError, UserError
from regard.interop.folder import LARGEST_JSON, file_in, has_file, one_line, read_json

FILE, SETTINGS = "chat_template.jinja", "tokenizer_config.json"
ROLES = ("bos", "eos", "pad", "unk")
Messages = Sequence[Mapping[str, str]]


class _RefusedError(Exception):
    """What a template itself says is wrong with the messages."""


@dataclass(frozen=True)
class ChatTemplate:
    where: str
    source: str = field(repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict)  # bos_token and the like, by name

    def render(self, messages: Messages, *, answer: bool = True) -> str:
        """The text of these messages; with `answer`, up to where the model answers."""
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        check_messages(messages)
        sandbox = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        sandbox.globals |= {"raise_exception": _refuse, "strftime_now": _now}
        sandbox.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
        variables = {"messages": [dict(one) for one in messages], "add_generation_prompt": answer, "tools": None}
        try:
            text: str = sandbox.from_string(self.source).render(variables | dict(self.tokens))
        except _RefusedError as error:
            raise UserError(f"{self.where}: the template refuses these messages ({one_line(error)})") from None
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise UserError(f"{self.where}: is no chat template that can be used ({one_line(error)})") from None
        return text


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _refuse(message: object) -> NoReturn:
    raise _RefusedError(str(message))


def check_messages(messages: Messages) -> None:
    for message in messages:
        if not isinstance(message, Mapping) or not all(isinstance(message.get(k), str) for k in ("role", "content")):
            raise ConfigError(f"messages: each needs a role and a content, as texts, not {message!r}")


def read_chat_template(folder: Path) -> ChatTemplate | None:
    """The template of a folder, from a file of its own or from the settings of the tokenizer."""
    settings = read_json(folder, SETTINGS) if has_file(folder, SETTINGS) else {}
    tokens = {f"{role}_token": name for role in ROLES if (name := _name(settings.get(f"{role}_token"))) is not None}
    if has_file(folder, FILE):
        path = file_in(folder, FILE)
        if path.stat().st_size > LARGEST_JSON:
            raise UserError(f"{path}: has more than {LARGEST_JSON:,} bytes: refused")
        return ChatTemplate(str(folder / FILE), path.read_text(encoding="utf-8"), tokens)
    source = settings.get("chat_template")
    if isinstance(source, list):  # several by name, of which the usual one is called default
        named = [one for one in source if isinstance(one, dict) and one.get("name") == "default"]
        source = named[0].get("template") if named else None
    return ChatTemplate(str(folder / SETTINGS), source, tokens) if isinstance(source, str) else None


def _name(value: Any) -> str | None:
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else None
