"""Routes of everything that is answered at once: one function makes them all, from a table of bodies."""

import asyncio
import base64
import struct
import time
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request

from regard.serve.disconnect import ClientDisconnectError, or_disconnect, receive_of
from regard.serve.errors import unavailable
from regard.serve.gate import DETAILS
from regard.serve.jobs import ask_job
from regard.serve.messages import Done
from regard.serve.schemas import (
    AttentionBody,
    Body,
    ClassifyBody,
    EmbeddingBody,
    PredictBody,
    TextsBody,
    TokenizeBody,
)
from regard.serve.served import Ticket
from regard.serve.serving import ERRORS, Serving

BODIES: dict[str, tuple[type[Body], str]] = {
    "embeddings": (EmbeddingBody, "Vectors of texts, as of `regard embed`: the states of an encoder, pooled."),
    "translate": (TextsBody, "Translate texts."),
    "summarise": (TextsBody, "Summarise documents."),
    "fill": (TextsBody, "Fill in the words that are masked by [MASK]."),
    "tag": (TextsBody, "Label every word of sentences."),
    "classify": (ClassifyBody, "Classify texts or images."),
    "predict": (PredictBody, "Predict the target of rows of a table."),
    "attention": (AttentionBody, "Where each attention of a model looks, for one input."),
    "tokenize": (TokenizeBody, "The tokens of texts."),
}


def add_ask_routes(app: FastAPI, serving: Serving) -> None:
    for route, (kind, text) in BODIES.items():
        _add(app, serving, route, kind, text)


def _add(app: FastAPI, serving: Serving, route: str, kind: type[Body], text: str) -> None:
    async def ask(request: Request, body: kind) -> Any:  # type: ignore[valid-type]
        return await answer(serving, request, route, body)

    app.post(f"/v1/{route}", responses=ERRORS, description=text, summary=route, operation_id=route)(ask)


async def answer(serving: Serving, request: Request, route: str, body: Body) -> dict[str, Any]:
    model, details = serving.model(body.model, route), request.scope[DETAILS]
    start, went = time.monotonic(), False
    details["model"] = model.name
    ticket = model.submit(lambda number: ask_job(number, details["client"], route, body, serving.limits))
    try:
        done = await or_disconnect(receive_of(request), _done(ticket, serving.limits.seconds))
    except ClientDisconnectError:
        went = details["cancelled"] = True
        raise
    finally:
        model.close(ticket)
        if went:
            serving.metrics.cancelled.labels(model.name).inc()
    serving.metrics.latency.labels(model.name).observe(time.monotonic() - start)
    results = list(done.results)
    if isinstance(body, EmbeddingBody):
        return _embeddings(model.name, results, body.encoding_format or "float")
    return {"object": "list", "model": model.name, "data": [{"index": i, **one} for i, one in enumerate(results)]}


async def _done(ticket: Ticket, seconds: float) -> Done:
    try:
        async with asyncio.timeout(seconds):
            event = await ticket.next()
    except TimeoutError:
        raise unavailable(f"not finished after {seconds:g} s", "timeout") from None
    assert isinstance(event, Done)
    return event


def _embeddings(model: str, results: Sequence[Any], encoding: str) -> dict[str, Any]:
    """In OpenAI's shape; base64 holds float32, which its own client asks for."""
    data = []
    for index, one in enumerate(results):
        vector: Any = one["embedding"]
        if encoding == "base64":
            vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
        data.append({"object": "embedding", "index": index, "embedding": vector})
    tokens = sum(one["tokens"] for one in results)
    return {"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
