"""Metrics for Prometheus, under the names that people know from other servers, with the prefix `regard_`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from regard.serve.served import ServedModel

FAST = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SLOW = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
MODEL = ("model_name",)


class Metrics:
    def __init__(self, models: Sequence[ServedModel]):
        self.registry = registry = CollectorRegistry()
        self.prompt_tokens = Counter("regard_prompt_tokens", "Tokens of prompts", MODEL, registry=registry)
        self.cached_tokens = Counter(
            "regard_prefix_cache_hits", "Tokens of prompts that were known from earlier ones", MODEL, registry=registry
        )
        self.generation_tokens = Counter("regard_generation_tokens", "Tokens written", MODEL, registry=registry)
        self.first_token = Histogram(
            "regard_time_to_first_token_seconds", "Until the first piece", MODEL, registry=registry, buckets=SLOW
        )
        self.per_token = Histogram(
            "regard_time_per_output_token_seconds", "Between tokens", MODEL, registry=registry, buckets=FAST
        )
        self.latency = Histogram(
            "regard_e2e_request_latency_seconds", "From request to answer", MODEL, registry=registry, buckets=SLOW
        )
        self.success = Counter(
            "regard_request_success", "Choices that were finished", (*MODEL, "finished_reason"), registry=registry
        )
        self.cancelled = Counter("regard_request_cancelled", "Clients that went away", MODEL, registry=registry)
        self.http = Counter("regard_http_requests", "Requests", ("path", "status"), registry=registry)
        registry.register(LoadCollector(models))

    def text(self) -> bytes:
        return bytes(generate_latest(self.registry))


class LoadCollector(Collector):
    """What the models are doing at the moment when they are asked."""

    def __init__(self, models: Sequence[ServedModel]):
        self.models = models

    def collect(self) -> Iterator[Any]:
        gauges: Iterable[tuple[str, str, Any]] = (
            ("num_requests_running", "Texts that are being written", lambda model: model.load.running),
            ("num_requests_waiting", "Texts that wait to be read", lambda model: model.load.waiting),
            ("num_requests_open", "Requests that are not answered yet", lambda model: model.open),
            ("kv_cache_usage_perc", "Share of the tokens that fit in memory, 0 to 1", lambda m: m.load.cache_usage),
            ("model_ready", "1 if the model answers", lambda model: int(model.state == "ready")),
        )
        for name, text, value in gauges:
            family = GaugeMetricFamily(f"regard_{name}", text, labels=MODEL)
            for model in self.models:
                family.add_metric([model.name], value(model))
            yield family
        restarts = CounterMetricFamily("regard_worker_restarts", "Workers that died", labels=MODEL)
        for model in self.models:
            restarts.add_metric([model.name], model.restarts)
        yield restarts
