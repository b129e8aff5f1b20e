"""What the routes share: the models, the metrics, and whether the server still takes requests."""

from collections.abc import Sequence
from typing import Any

from regard.serve.errors import ApiError, bad, unavailable
from regard.serve.metrics import Metrics
from regard.serve.served import ServedModel
from regard.serve.settings import Settings

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text}
    for status, text in {
        400: "The request is wrong",
        401: "No valid API key",
        404: "No such model",
        413: "Too large",
        429: "The queue is full",
        500: "Internal error",
        503: "The model is being loaded, or the server is stopping",
    }.items()
}


class Serving:
    def __init__(self, models: Sequence[ServedModel], settings: Settings):
        self.models = {model.name: model for model in models}
        self.settings, self.limits = settings, settings.limits
        self.metrics = Metrics(models)
        self.draining = False

    def model(self, name: str | None, route: str) -> ServedModel:
        """The model that a request means, if it can be asked this."""
        if self.draining:
            raise unavailable("the server is stopping", "stopping")
        able = [one for one in self.models.values() if one.info is not None and route in one.info.routes]
        if name is None:
            if len(able) == 1:
                return able[0]
            names = ", ".join(one.name for one in able) or "none"
            raise bad(f"model: needed; of those that are served {names} can be asked for {route}", "model")
        model = self.models.get(name)
        if model is None:
            raise self.no_model(name)
        model.check_ready()
        if model.info is not None and route not in model.info.routes:
            raise bad(_cannot(model, route), "model")
        return model

    def no_model(self, name: str) -> ApiError:
        message = f"there is no model {name[:100]!r}; there are {', '.join(self.models)}"
        return ApiError(404, message, param="model", code="model_not_found")

    @property
    def open(self) -> int:
        return sum(model.open for model in self.models.values())


def _cannot(model: ServedModel, route: str) -> str:
    assert model.info is not None
    if route == "chat/completions" and "completions" in model.info.routes:
        return f"the model {model.name!r} has no chat template; use /v1/completions"
    return f"the model {model.name!r} is a {model.info.kind}; it can be asked for {', '.join(model.info.routes)}"
