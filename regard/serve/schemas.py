"""The bodies of requests, as OpenAI documents them. Types are checked here, limits in `regard.serve.jobs`.

An unknown field is refused: to ignore it would be to answer something that was not asked.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

MOST = 2**14  # items of a list before its own limit is looked at


def check_prompt(value: Any) -> Any:
    """A text, texts, tokens, or lists of tokens. Written out: a union would collect an error for every item."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise ValueError("must be a text, a list of texts, a list of token ids or a list of such lists")
    if len(value) > 2**20:
        raise ValueError(f"has {len(value):,} items, far too many")
    if all(isinstance(one, str) for one in value) or _are_tokens(value):
        return value
    if all(isinstance(one, list) and one and _are_tokens(one) for one in value):
        return value
    raise ValueError("must be texts, token ids (whole numbers from 0) or lists of token ids, not a mixture")


def _are_tokens(value: list[Any]) -> bool:
    return all(type(one) is int and 0 <= one < 2**31 for one in value)


Prompt = Annotated[
    Any,
    PlainValidator(check_prompt),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                    "minItems": 1,
                },
            ]
        }
    ),
]
Stop = str | Annotated[list[str], Field(max_length=MOST)] | None
Texts = str | Annotated[list[str], Field(min_length=1, max_length=MOST)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    model: str | None = Field(None, description="Needed where several models answer this route.")
    user: str | None = Field(None, description="Accepted and not used.")


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class WritingBody(Body):
    """What completions and chats have in common."""

    temperature: float | None = Field(1.0, ge=0, le=2)
    top_p: float | None = Field(1.0, gt=0, le=1)
    top_k: int | None = Field(None, ge=1, lt=2**31)
    min_p: float | None = Field(None, gt=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0, le=100)
    n: int | None = Field(1, ge=1)
    stop: Stop = None
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    presence_penalty: float | None = Field(0.0, ge=-2, le=2)
    frequency_penalty: float | None = Field(0.0, ge=-2, le=2)
    logit_bias: dict[str, float] | None = Field(None, description="Added to the scores of tokens, by token id.")
    metadata: dict[str, str] | None = Field(None, description="Accepted and not used.")
    store: bool | None = Field(None, description="Accepted and not used: nothing is stored.")
    service_tier: str | None = Field(None, description="Accepted and not used.")


class CompletionBody(WritingBody):
    prompt: Prompt = ""
    max_tokens: int | None = Field(16, ge=0)
    logprobs: int | None = Field(None, ge=0)
    echo: bool | None = False
    best_of: int | None = Field(None, ge=1, description="Only as many as `n`: nothing is chosen from more.")
    suffix: None = Field(None, description="Not supported.")


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: str = Field(max_length=64)
    content: str | Annotated[list[TextPart], Field(max_length=MOST)]
    name: str | None = Field(None, max_length=256)


class ChatBody(WritingBody):
    messages: list[Message] = Field(min_length=1, max_length=MOST)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(None, ge=0)


class EmbeddingBody(Body):
    input: Prompt
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: None = Field(None, description="Not supported: vectors have the width of the model.")


class TextsBody(Body):
    """For every task that answers texts: translate, summarise, fill, tag."""

    input: Texts
    max_tokens: int | None = Field(None, ge=1, description="For translate and summarise.")
    beam: int | None = Field(None, ge=1, le=64, description="For translate and summarise: hypotheses of a beam search.")


class ClassifyBody(Body):
    input: Texts | None = None
    images: Texts | None = Field(None, description="Image files in base64, in place of texts.")
    top: int | None = Field(None, ge=1, description="How many labels are listed; without it, all.")


class PredictBody(Body):
    rows: list[dict[str, str | int | float | bool | None]] = Field(min_length=1, max_length=MOST)
    quantiles: list[Annotated[float, Field(gt=0, lt=1)]] | None = Field(None, min_length=1, max_length=99)
    threshold: float | None = Field(None, gt=0, lt=1, description="Predict the rarer of two classes from here on.")
    evidence: int | None = Field(None, ge=1, le=100, description="How many training rows to list for each prediction.")


class TokenizeBody(Body):
    input: Texts


class AttentionBody(Body):
    input: str | None = None
    image: str | None = Field(None, description="An image file in base64, in place of a text.")
    target: str | None = Field(None, description="Of a translation; without it the model writes one.")
    names: list[str] | None = Field(None, max_length=1024, description="Which attentions; without it, all.")
