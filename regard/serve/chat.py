"""Chat templates: the messages of a chat as one prompt, by the template that the model's own folder holds.

A template is a program of whoever made the folder: it runs in jinja2's sandbox, with a bound on its time and on what
it writes. Templates in requests are refused.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from regard.core.errors import UserError, one_line
from regard.core.system import alarm
from regard.text import Tokenizer

FILE, SETTINGS = "chat_template.jinja", "tokenizer_config.json"
MAX_CHARACTERS = 2**22
SECONDS = 2.0


class ChatTemplate:
    def __init__(self, source: str, where: Path, special: Mapping[str, str] | None = None):
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self.special = dict(special or {})
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise UserError(f"{where}: is not a chat template ({one_line(error)})") from None

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The prompt that the model is to continue with its answer."""
        parts, length = [], 0
        try:
            with alarm(SECONDS, _too_slow):  # of a worker, which runs in the main thread
                for part in self._template.generate(
                    messages=list(messages), add_generation_prompt=True, **self.special
                ):
                    length += len(part)
                    if length > MAX_CHARACTERS:
                        raise UserError(f"messages: the chat template writes more than {MAX_CHARACTERS:,} characters")
                    parts.append(part)
        except UserError:
            raise
        except Exception as error:  # a template may fail in any way that Python can
            raise UserError(f"messages: the chat template refuses them ({one_line(error)})") from None
        return "".join(parts)

    def tokens(self, messages: Sequence[Mapping[str, Any]], tokenizer: Tokenizer) -> list[int]:
        """The template's special tokens are special; in what people write there must be none."""
        special = [token.content for token in tokenizer.engine.get_added_tokens_decoder().values() if token.special]
        for place, message in enumerate(messages):
            for token in special:
                if token in str(message.get("content", "")):
                    raise UserError(f"messages[{place}].content: contains the special token {token!r}; leave it out")
        text = self.render(messages)
        engine = tokenizer.engine
        engine.encode_special_tokens = False
        try:
            tokens: list[int] = engine.encode(text, add_special_tokens=False).ids
        finally:
            engine.encode_special_tokens = True
        return tokens or [tokenizer.end]


def read_template(folder: Path) -> ChatTemplate | None:
    """The chat template of a Hugging Face folder, if it has one."""
    settings: dict[str, Any] = {}
    if (folder / SETTINGS).is_file():
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{folder / SETTINGS}: cannot be read ({one_line(error)})") from None
    special = {name: _content(settings.get(name)) for name in ("bos_token", "eos_token", "unk_token", "pad_token")}
    if (folder / FILE).is_file():
        return ChatTemplate((folder / FILE).read_text(encoding="utf-8"), folder / FILE, special)
    template = settings.get("chat_template")
    if isinstance(template, list):  # several, by name
        template = next((one.get("template") for one in template if one.get("name") == "default"), None)
    return ChatTemplate(template, folder / SETTINGS, special) if isinstance(template, str) else None


def _content(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")


def _refuse(message: str) -> None:
    raise UserError(f"messages: {one_line(Exception(message))}")


def _too_slow(*_: object) -> None:
    raise UserError(f"messages: the chat template takes more than {SECONDS:g} s")
