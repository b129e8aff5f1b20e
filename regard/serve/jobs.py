"""From the body of a request to a job for a worker. Every limit is checked here, before anything is queued."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.serve.errors import bad
from regard.serve.limits import Limits
from regard.serve.messages import Ask, Generate, ModelInfo, Writing
from regard.serve.schemas import (
    AttentionBody,
    Body,
    ChatBody,
    ClassifyBody,
    CompletionBody,
    EmbeddingBody,
    PredictBody,
    TextsBody,
    TokenizeBody,
    WritingBody,
)

CHARACTERS = 32  # of a prompt to a token of the context: longer prompts are refused before they are tokenised


def completion_job(number: int, client: str, body: CompletionBody, info: ModelInfo, limits: Limits) -> Generate:
    if body.best_of not in (None, body.n or 1):
        raise bad("best_of: must equal n, since nothing is chosen from more", "best_of")
    prompts = _several(body.prompt)
    count = len(prompts) * _n(body, limits)
    if count > limits.choices:
        raise bad(f"prompt: {len(prompts):,} prompts of n={body.n} are {count:,}; at most {limits.choices:,}", "prompt")
    for place, prompt in enumerate(prompts):
        _check_prompt(f"prompt[{place}]", "prompt", prompt, info, limits)
    logprobs = body.logprobs
    writing = _writing(
        body, info, limits, 16 if body.max_tokens is None else body.max_tokens, logprobs, bool(body.echo)
    )
    plain = tuple(prompt if isinstance(prompt, str) else tuple(prompt) for prompt in prompts)
    return Generate(id=number, client=client, writing=writing, prompts=plain, n=_n(body, limits))


def chat_job(number: int, client: str, body: ChatBody, info: ModelInfo, limits: Limits) -> Generate:
    messages = []
    for message in body.messages:
        content = message.content
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        one = {"role": message.role, "content": text}
        messages.append(one if message.name is None else {**one, "name": message.name})
    whole = sum(len(message["content"]) for message in messages)
    _check_characters("messages", whole, info, limits)
    if body.top_logprobs is not None and not body.logprobs:
        raise bad("top_logprobs: needs logprobs", "top_logprobs")
    most = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    writing = _writing(body, info, limits, most, (body.top_logprobs or 0) if body.logprobs else None, echo=False)
    return Generate(id=number, client=client, writing=writing, messages=tuple(messages), n=_n(body, limits))


def _several(prompt: Any) -> Sequence[Any]:
    """A text or a list of tokens is one prompt."""
    return [prompt] if isinstance(prompt, str) or isinstance(prompt[0], int) else prompt


def _n(body: WritingBody, limits: Limits) -> int:
    n = 1 if body.n is None else body.n
    if n > limits.n:
        raise bad(f"n: at most {limits.n}, not {n}", "n")
    return n


def _check_prompt(name: str, param: str, prompt: str | list[int], info: ModelInfo, limits: Limits) -> None:
    if isinstance(prompt, str):
        _check_characters(name, len(prompt), info, limits, param)
        return
    context = info.context or limits.context
    if len(prompt) > context:
        raise bad(f"{name}: has {len(prompt):,} tokens, and the context is {context:,}; shorten it", param)
    if info.vocab is not None and max(prompt) >= info.vocab:
        raise bad(f"{name}: has the token {max(prompt)}, and the vocabulary has {info.vocab:,}", param)


def _check_characters(name: str, count: int, info: ModelInfo, limits: Limits, param: str | None = None) -> None:
    context = info.context or limits.context
    if count > CHARACTERS * context:
        most = CHARACTERS * context
        raise bad(
            f"{name}: has {count:,} characters; of a context of {context:,} tokens at most {most:,}", param or name
        )


def _writing(
    body: WritingBody, info: ModelInfo, limits: Limits, max_tokens: int | None, logprobs: int | None, echo: bool
) -> Writing:
    if max_tokens is not None and max_tokens > limits.max_tokens:
        raise bad(f"max_tokens: at most {limits.max_tokens:,}, not {max_tokens}", "max_tokens")
    if logprobs is not None and logprobs > limits.logprobs:
        raise bad(f"logprobs: at most {limits.logprobs}, not {logprobs}", "logprobs")
    return Writing(
        max_tokens=max_tokens,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        min_p=body.min_p,
        repetition_penalty=1.0 if body.repetition_penalty is None else body.repetition_penalty,
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        logit_bias=_bias(body.logit_bias or {}, info, limits),
        stop=_stop(body.stop, limits),
        seed=None if body.seed is None else body.seed % 2**63,
        logprobs=logprobs,
        echo=echo,
    )


def _stop(stop: str | list[str] | None, limits: Limits) -> tuple[str, ...]:
    texts = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if len(texts) > limits.stop:
        raise bad(f"stop: at most {limits.stop} texts, not {len(texts):,}", "stop")
    if any(not 1 <= len(text) <= limits.stop_length for text in texts):
        raise bad(f"stop: each text has 1 to {limits.stop_length} characters", "stop")
    return texts


def _bias(bias: Mapping[str, float], info: ModelInfo, limits: Limits) -> dict[int, float]:
    if len(bias) > limits.logit_bias:
        raise bad(f"logit_bias: at most {limits.logit_bias:,} tokens, not {len(bias):,}", "logit_bias")
    values = {}
    for token, value in bias.items():
        if not token.isdecimal() or len(token) > 9 or int(token) >= (info.vocab or 2**31):
            raise bad(f"logit_bias: {token[:20]!r} is not a token id of this model", "logit_bias")
        if not -100 <= value <= 100:
            raise bad(f"logit_bias: values are from -100 to 100, not {value:g}", "logit_bias")
        values[int(token)] = value
    return values


def ask_job(number: int, client: str, route: str, body: Body, limits: Limits) -> Ask:
    """The inputs and the options of every other route."""
    inputs, options = INPUTS[type(body)](body, limits)
    if len(inputs) > limits.inputs:
        raise bad(f"at most {limits.inputs:,} inputs in a request, not {len(inputs):,}")
    return Ask(id=number, client=client, route=route, inputs=tuple(inputs), options=options)


def _texts(body: TextsBody, limits: Limits) -> tuple[Sequence[Any], dict[str, Any]]:
    if body.max_tokens is not None and body.max_tokens > limits.max_tokens:
        raise bad(f"max_tokens: at most {limits.max_tokens:,}, not {body.max_tokens}", "max_tokens")
    return _list(body.input), {"max_tokens": body.max_tokens, "beam": body.beam}


def _embedding(body: EmbeddingBody, limits: Limits) -> tuple[Sequence[Any], dict[str, Any]]:
    return _several(body.input), {"context": limits.context}


def _classify(body: ClassifyBody, limits: Limits) -> tuple[Sequence[Any], dict[str, Any]]:
    if (body.input is None) == (body.images is None):
        raise bad("give either input (texts) or images (files in base64)", "input")
    images = body.images is not None
    return _list(body.images if images else body.input), {"images": images, "top": body.top}


def _predict(body: PredictBody, limits: Limits) -> tuple[Sequence[Any], dict[str, Any]]:
    return body.rows, {"quantiles": body.quantiles, "threshold": body.threshold, "evidence": body.evidence}


def _attention(body: AttentionBody, limits: Limits) -> tuple[Sequence[Any], dict[str, Any]]:
    if (body.input is None) == (body.image is None):
        raise bad("give either input (a text) or image (a file in base64)", "input")
    images = body.image is not None
    return [body.image if images else body.input], {"images": images, "target": body.target, "names": body.names}


def _list(texts: str | list[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else texts or []


INPUTS: dict[type[Body], Any] = {
    TextsBody: _texts,
    TokenizeBody: lambda body, limits: (_list(body.input), {}),
    EmbeddingBody: _embedding,
    ClassifyBody: _classify,
    PredictBody: _predict,
    AttentionBody: _attention,
}
