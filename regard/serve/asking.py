"""Requests that are answered at once wait here, and those alike are answered together."""

import logging
from collections.abc import Sequence
from itertools import islice
from typing import Any

from regard.core.errors import UserError
from regard.serve.answers import answer
from regard.serve.engine import INTERNAL
from regard.serve.messages import Ask, Done, Event, Failed
from regard.serve.scheduler import FairQueue

log = logging.getLogger(__name__)
TOGETHER = 64  # inputs of several requests that are answered as one
ALONE = ("attention",)  # routes of one input


class AskQueue:
    def __init__(self, loaded: Any):
        self.loaded = loaded
        self.waiting: FairQueue[Ask] = FairQueue()

    @property
    def busy(self) -> bool:
        return len(self.waiting) > 0

    def submit(self, job: Ask) -> None:
        self.waiting.add(job)

    def cancel(self, request: int) -> None:
        self.waiting.remove(lambda job: job.id == request)

    def tick(self) -> list[Event]:
        """Answer the first request, and with it those that ask for the same."""
        if not self.busy:
            return []
        jobs = self._alike()
        if len(jobs) == 1:
            return [self._answered(jobs[0])]
        try:
            results = iter(self._answer(jobs[0], [one for job in jobs for one in job.inputs]))
            return [Done(job.id, results=tuple(islice(results, len(job.inputs)))) for job in jobs]
        except Exception:  # of one of them: each is answered by itself
            return [self._answered(job) for job in jobs]

    def _alike(self) -> list[Ask]:
        jobs = [self.waiting.take()]
        count = len(jobs[0].inputs)
        while (
            (following := self.waiting.first()) is not None
            and (following.route, following.options) == (jobs[0].route, jobs[0].options)
            and following.route not in ALONE
            and count + len(following.inputs) <= TOGETHER
        ):
            jobs.append(self.waiting.take())
            count += len(jobs[-1].inputs)
        return jobs

    def _answered(self, job: Ask) -> Event:
        try:
            return Done(job.id, results=tuple(self._answer(job, job.inputs)))
        except UserError as error:
            return Failed(job.id, 400, " ".join(str(error).split()))
        except Exception:
            log.exception("request %d", job.id)
            return Failed(job.id, 500, INTERNAL)

    def _answer(self, job: Ask, inputs: Sequence[Any]) -> Sequence[Any]:
        results = list(answer(self.loaded, job.route, inputs, job.options))
        if len(results) != len(inputs):
            raise RuntimeError(f"{job.route}: {len(results)} results of {len(inputs)} inputs")
        return results
