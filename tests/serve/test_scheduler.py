"""The scheduler by itself: clients take turns, prompts are read in chunks, and nothing is lost."""

from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as some

from regard.serve.scheduler import FairQueue, Scheduler

NUMBERS = count()


@dataclass(frozen=True)
class Prompt:
    client: str
    prompt_length: int
    longest: int
    number: int = field(default_factory=lambda: next(NUMBERS))


def test_clients_take_turns() -> None:
    queue: FairQueue[Prompt] = FairQueue()
    for client in "aaaabbc":
        queue.add(Prompt(client, 1, 1))
    assert "".join(queue.take().client for _ in range(7)) == "abcabaa"
    assert queue.first() is None


def test_long_prompts_are_read_between_steps() -> None:
    scheduler: Scheduler[Prompt] = Scheduler(rows=2, chunk=4, tokens=100)
    long, short, third = Prompt("a", 10, 12), Prompt("b", 1, 5), Prompt("c", 2, 5)
    for prompt in (long, short, third):
        scheduler.add(prompt)
    steps = [[(chunk.text, chunk.start, chunk.end) for chunk in scheduler.chunks()] for _ in range(4)]
    assert steps == [[(long, 0, 4)], [(long, 4, 8)], [(long, 8, 10), (short, 0, 1)], []]
    assert scheduler.running == [long, short]
    scheduler.remove(lambda prompt: prompt is long)
    assert [chunk.text for chunk in scheduler.chunks()] == [third]


prompts = some.builds(
    Prompt, client=some.sampled_from("abc"), prompt_length=some.integers(1, 30), longest=some.integers(30, 60)
)


@given(some.lists(prompts, max_size=20), some.integers(1, 4), some.integers(1, 20), some.randoms())
def test_everything_is_read_once_within_the_bounds(waiting, rows, chunk, random) -> None:
    scheduler: Scheduler[Prompt] = Scheduler(rows, chunk, tokens=100)
    for prompt in waiting:
        scheduler.add(prompt)
    read: dict[Prompt, int] = dict.fromkeys(waiting, 0)
    cancelled = set()
    for _ in range(2000):
        if not scheduler.busy:
            break
        budget = 0
        for one in scheduler.chunks():
            assert one.start == read[one.text]
            read[one.text] = one.end
            budget += one.end - one.start
        assert budget <= chunk
        assert len(scheduler.running) <= rows
        assert scheduler.reserved <= 100 or len(scheduler.running) <= 1
        if random.random() < 0.2 and len(scheduler.waiting):
            gone = scheduler.waiting.first()
            cancelled |= set(scheduler.remove(lambda prompt, gone=gone: prompt is gone))
        for prompt in [prompt for prompt in scheduler.running if random.random() < 0.3]:
            scheduler.remove(lambda other, prompt=prompt: other is prompt)
    assert not scheduler.busy
    assert all(end == prompt.prompt_length for prompt, end in read.items() if prompt not in cancelled)
