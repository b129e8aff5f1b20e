"""`regard serve`: every model over HTTP."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from regard.cli.app import app
from regard.core.errors import ConfigError, UserError

IMAGE_BODY = 44 * 2**20  # bytes: the largest image file, in base64


@app.command
def serve(
    *runs: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    keys: Path | None = None,
    origin: tuple[str, ...] = (),
    rows: int = 8,
    queue: int = 64,
    max_tokens: int = 4096,
    context: int = 8192,
    max_body: int | None = None,
    time_limit: float = 600.0,
    grace: float = 30.0,
    log_contents: bool = False,
    precision: str = "auto",
) -> None:
    """Serve models over HTTP: OpenAI's routes for language models, and routes for every other task.

    Each model runs in a process of its own. The page at / tries them; /docs lists the routes. The log is JSON lines on
    standard error, without what is sent and received.

    Parameters
    ----------
    runs
        Run folders of any task, folders of `regard fit`, or Hugging Face folders. A model is called by its folder's
        name.
    host
        Address to listen on; any but a loopback address is reachable from the network.
    port
        Port to listen on; 0: any free port.
    keys
        File of API keys, one a line, that clients must send (Authorization: Bearer KEY). The environment variable
        REGARD_API_KEYS holds more, separated by commas. Without keys, everybody who reaches the port is answered.
    origin
        Origin of a web page that may send requests, such as https://example.org; may be given several times.
    rows
        Texts that a language model writes at once.
    queue
        Requests that may wait for a model; more are answered 429.
    max_tokens
        Most tokens that a request may have written for each choice.
    context
        Most tokens of a prompt and its continuation, where the model itself has no limit.
    max_body
        Most bytes of a request. Default: 4 MiB, and 44 MiB where a model of images is served.
    time_limit
        Seconds after which a request is given up.
    grace
        Seconds for running requests to finish after SIGTERM or Ctrl-C.
    log_contents
        Write the bodies of requests into the log too.
    precision
        Of the weights of language models: auto, float32, bfloat16 or int8, as of `regard generate`.
    """
    from regard.core.extras import require

    require("serve", "regard serve")
    from regard.decode.accelerate import check_choice
    from regard.serve.limits import Limits
    from regard.serve.served import in_process
    from regard.serve.server import make_serving, names_of, run_server
    from regard.serve.settings import Settings, read_keys
    from regard.view.guard import is_loopback
    from regard.view.server import bind

    check_choice(precision)
    paths = check_folders(runs)
    limits = Limits(
        rows=rows, queue=queue, max_tokens=max_tokens, context=context, seconds=time_limit, grace=grace
    )  # fmt: skip
    body = max_body or (IMAGE_BODY if any(map(reads_images, paths)) else limits.body)
    settings = Settings(
        host=host, keys=read_keys(keys), origins=origin, limits=replace(limits, body=body), log_contents=log_contents
    )
    listener = bind(host, port)
    if not is_loopback(host) and not settings.keys:
        print(f"warning: {host} lets everybody on the network use these models; --keys asks for a key", file=sys.stderr)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    print(f"serving {', '.join(names_of(paths))} at {address} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    run_server(make_serving(paths, settings, partial(in_process, precision=precision)), listener)


def check_folders(runs: tuple[Path, ...]) -> tuple[Path, ...]:
    if not runs:
        raise ConfigError("name a run folder, such as runs/lm")
    for path in runs:
        if not path.is_dir():
            raise UserError(f"{path}: {'is a file, not a' if path.exists() else 'no such'} run folder")
        if not any((path / name).exists() for name in ("config.yaml", "config.json", "columns.json")):
            raise UserError(f"{path}: not a run folder; `regard train` and `regard fit` create them")
    if len({path.resolve() for path in runs}) < len(runs):
        raise ConfigError("a folder is named twice")
    return runs


def reads_images(path: Path) -> bool:
    """Whether a model of images is in the folder, by its settings alone; what is wrong with them, its worker says."""
    from regard.store.loaded import read_model_config

    if (path / "config.yaml").exists():
        try:
            return read_model_config(path).reads_images
        except UserError:
            return False
    return (path / "preprocessor_config.json").exists()
