"""Errors in the shape that clients of OpenAI's API read: {"error": {"message", "type", "param", "code"}}."""

from collections.abc import Mapping
from typing import Any

TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ApiError(Exception):
    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        kind = TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def bad(message: str, param: str | None = None) -> ApiError:
    return ApiError(400, message, param=param)


def full(message: str) -> ApiError:
    return ApiError(429, message, code="queue_full", headers={"Retry-After": "1"})


def unavailable(message: str, code: str = "unavailable") -> ApiError:
    return ApiError(503, message, code=code, headers={"Retry-After": "5"})
