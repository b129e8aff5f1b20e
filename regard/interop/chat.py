"""Chat templates: messages become the text that a model was trained to answer, by a program in the folder.

The program is written in Jinja and comes from strangers, so it runs in Jinja's sandbox, which gives it strings and
loops but no files, no attributes that begin with an underscore and no way to change what it is given. Its size, its
time and what it writes are bounded.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from regard.core.errors import ConfigError, UserError
from regard.core.system import alarm
from regard.interop.folder import LARGEST_JSON, file_in, has_file, one_line, read_json
from regard.text import Tokenizer

if TYPE_CHECKING:
    from jinja2 import Template

FILE, SETTINGS = "chat_template.jinja", "tokenizer_config.json"
ROLES = ("bos", "eos", "pad", "unk")
MAX_CHARACTERS = 2**22  # that a template writes
SECONDS = 2.0  # that it takes, where the system has alarms and in the main thread
Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class ChatTemplate:
    where: str
    source: str = field(repr=False)
    special: Mapping[str, str] = field(default_factory=dict)  # bos_token and the like, by name; others are undefined

    def check(self) -> None:
        """Refuse a source that is no template."""
        self._compiled()

    def render(self, messages: Messages, *, answer: bool = True) -> str:
        """The text of these messages; with `answer`, up to where the model answers."""
        check_messages(messages)
        template = self._compiled()
        variables = {"messages": [dict(one) for one in messages], "add_generation_prompt": answer, "tools": None}
        parts, length = [], 0
        try:
            with alarm(SECONDS, _too_slow):
                for part in template.generate(variables | dict(self.special)):
                    length += len(part)
                    if length > MAX_CHARACTERS:
                        raise UserError(f"messages: the chat template writes more than {MAX_CHARACTERS:,} characters")
                    parts.append(part)
        except UserError:
            raise
        except Exception as error:  # a template may fail in any way that Python can
            raise UserError(f"messages: the chat template refuses them ({one_line(error)})") from None
        return "".join(parts)

    def tokens(self, messages: Messages, tokenizer: Tokenizer) -> list[int]:
        """The template's special tokens are special; in what people write there must be none."""
        check_messages(messages)
        names = [tokenizer.pieces([token])[0] for token in tokenizer.special]
        for place, message in enumerate(messages):
            if contained := [name for name in names if name in message["content"]]:
                raise UserError(f"messages[{place}].content: contains the special token {contained[0]!r}; leave it out")
        return tokenizer.encode_marked(self.render(messages)) or [tokenizer.end]

    def _compiled(self) -> "Template":
        from jinja2 import TemplateError

        try:
            return _compile(self.source)
        except TemplateError as error:
            raise UserError(f"{self.where}: is no chat template that can be used ({one_line(error)})") from None


@lru_cache(maxsize=8)  # a server renders the same template again and again
def _compile(source: str) -> "Template":
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    sandbox.filters["tojson"] = _to_json
    sandbox.globals |= {"raise_exception": _refuse, "strftime_now": _now}
    return sandbox.from_string(source)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """As `transformers` has it: Jinja's own would write < and & as for a web page."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _refuse(message: object) -> NoReturn:
    raise ValueError(str(message))


def _too_slow(*_: object) -> NoReturn:
    raise UserError(f"messages: the chat template takes more than {SECONDS:g} s")


def check_messages(messages: Messages) -> None:
    for message in messages:
        if not isinstance(message, Mapping) or not all(isinstance(message.get(k), str) for k in ("role", "content")):
            raise ConfigError(f"messages: each needs a role and a content, as texts, not {message!r}")


def read_chat_template(folder: Path) -> ChatTemplate | None:
    """The template of a folder, from a file of its own or from the settings of the tokenizer."""
    settings = read_json(folder, SETTINGS) if has_file(folder, SETTINGS) else {}
    special = {f"{role}_token": name for role in ROLES if (name := _name(settings.get(f"{role}_token"))) is not None}
    if has_file(folder, FILE):
        return ChatTemplate(str(folder / FILE), _read(file_in(folder, FILE)), special)
    source = settings.get("chat_template")
    if isinstance(source, list):  # several by name, of which the usual one is called default
        named = [one for one in source if isinstance(one, dict) and one.get("name") == "default"]
        source = named[0].get("template") if named else None
    return ChatTemplate(str(folder / SETTINGS), source, special) if isinstance(source, str) else None


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise UserError(f"{path}: has more than {LARGEST_JSON:,} bytes: refused")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8") from None


def _name(value: Any) -> str | None:
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else None
