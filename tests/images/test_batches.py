"""Batches of images: what chance does to them, and that it follows from the step alone."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError
from regard.data.images.augment import Augment
from regard.data.images.images import LabelledImages, Normalisation
from regard.data.prefetch import Prefetch
from regard.tasks import ClassifyImages
from tests.images.make import bars

NORMALISE = Normalisation((0.25,), (0.5,))
EVERY = Augment(crop=0.2, flip=0.5, erase=0.5, mix=0.4)


def batches(augment: Augment = Augment(), batch: int = 8, seed: int = 3) -> LabelledImages:
    images, labels = bars(20)
    return LabelledImages(images[:, None], labels, range(20), NORMALISE, batch, seed, augment)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_without_augmentation_a_batch_is_the_images_themselves():
    images, labels = bars(20)
    data = batches()
    batch, rows = data.batch(5), data.sampler.rows(5)
    expected = (torch.from_numpy(images[rows][:, None]) / 255 - 0.25) / 0.5
    torch.testing.assert_close(batch.images, expected)
    assert batch.label.tolist() == labels[rows].tolist()
    assert batch.weight.tolist() == [1.0] * 8


def test_a_batch_follows_from_its_step_whatever_was_asked_before():
    one, other = batches(EVERY), batches(EVERY)
    torch.manual_seed(1)
    first = one.batch(7)
    for step in (0, 3):
        other.batch(step)
    torch.manual_seed(2)
    again = other.batch(7)
    for name in ("images", "label", "mixed_label", "weight"):
        assert torch.equal(getattr(first, name), getattr(again, name)), name
    assert not torch.equal(first.images, batches(EVERY, seed=4).batch(7).images)
    before = torch.get_rng_state()
    one.batch(8)
    assert torch.equal(before, torch.get_rng_state()), "a thread that makes batches must not take a step's numbers"


@given(st.integers(0, 1000), st.floats(0, 0.9))
def test_a_crop_is_a_shift_of_the_image_with_its_edge_repeated(seed: int, crop: float):
    """By brute force: one of the windows of the image padded by its edge."""
    images = torch.from_numpy(rng(seed).integers(0, 255, (3, 2, 7, 7)).astype(np.uint8))
    moved, most = Augment(crop=crop).shift_and_flip(images, rng(seed)), round(crop * 7)
    for image, cropped in zip(images, moved, strict=True):
        padded = np.pad(image.numpy(), ((0, 0), (most, most), (most, most)), "edge")
        windows = [padded[:, y : y + 7, x : x + 7].tobytes() for y in range(2 * most + 1) for x in range(2 * most + 1)]
        assert cropped.contiguous().numpy().tobytes() in windows


def test_crops_reach_every_shift_and_flips_half_the_images():
    images = torch.arange(49, dtype=torch.uint8).view(1, 1, 7, 7).repeat(400, 1, 1, 1)
    centres = Augment(crop=0.3).shift_and_flip(images, rng())[:, 0, 3, 3]
    assert set(centres.tolist()) == {7 * y + x for y in range(1, 6) for x in range(1, 6)}
    flipped = Augment(flip=0.5).shift_and_flip(images, rng())
    mirrored = (flipped == images.flip(-1)).all((1, 2, 3))
    assert (mirrored | (flipped == images).all((1, 2, 3))).all()
    assert 150 < mirrored.sum() < 250


@given(st.integers(0, 1000))
def test_what_is_covered_is_one_rectangle(seed: int):
    images = torch.full((6, 2, 10, 10), 5.0)
    covered = Augment(erase=1.0).random_erase(images, rng(seed))
    for image in covered:
        hole = image[0] == 0
        assert torch.equal(image[0], image[1])
        rows, columns = hole.any(1), hole.any(0)
        assert torch.equal(hole, rows[:, None] & columns[None])
        assert 1 <= hole.sum() <= 40
        for line in (rows, columns):  # without a gap
            places = line.nonzero().flatten()
            assert len(places) == places[-1] - places[0] + 1
    assert torch.equal(images, torch.full_like(images, 5.0)), "the images given stay as they are"
    share = Augment(erase=0.25).random_erase(torch.ones(400, 1, 4, 4), rng(seed)).flatten(1).min(1).values
    assert 60 < (share == 0).sum() < 145


def test_mixed_images_are_mostly_their_own_and_say_by_how_much():
    images = torch.randn(50, 1, 4, 4)
    mixed, other, own = Augment(mix=0.5).mixup(images, rng())
    assert own.min() >= 0.5
    assert own.max() <= 1
    assert sorted(other.tolist()) == list(range(50))
    expected = own[:, None, None, None] * images + (1 - own)[:, None, None, None] * images[other]
    torch.testing.assert_close(mixed, expected)


@pytest.mark.parametrize("wrong", [{"crop": 1.0}, {"flip": 1.5}, {"erase": -0.1}, {"mix": -1.0}, {"mix": float("inf")}])
def test_augmentation_that_cannot_be_meant(wrong: dict[str, float]):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Augment(**wrong)


def test_parts_of_a_batch_add_up_to_the_whole():
    class Model(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return torch.stack([images.mean((1, 2, 3)), images.amax((1, 2, 3))], 1)

    task, model, batch = ClassifyImages(("a", "b"), label_smoothing=0.1), Model(), batches(EVERY).batch(0)
    whole = task.loss(model, batch)
    parts = [task.loss(model, batch.shard(number, 3)) for number in range(3)]
    torch.testing.assert_close(sum(part.total for part in parts), whole.total)
    assert sum(part.terms for part in parts) == whole.terms == 8


def test_a_mixed_image_is_scored_by_both_labels_in_their_shares():
    """Against the cross-entropy with shares of labels that torch itself has."""
    batch = batches(EVERY).batch(2)
    scores = torch.randn(8, 2)

    class Model(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return scores

    shares = torch.nn.functional.one_hot(batch.label, 2) * batch.weight[:, None]
    shares = shares + torch.nn.functional.one_hot(batch.mixed_label, 2) * (1 - batch.weight)[:, None]
    expected = torch.nn.functional.cross_entropy(scores, shares, reduction="sum", label_smoothing=0.2)
    torch.testing.assert_close(ClassifyImages(("a", "b"), label_smoothing=0.2).loss(Model(), batch).total, expected)


def test_measuring_sees_every_image_once_and_as_it_is():
    images, labels = bars(20)
    seen = list(batches(EVERY).once())
    assert [batch.rows for batch in seen] == [8, 8, 4]
    assert torch.cat([batch.label for batch in seen]).tolist() == labels.tolist()
    expected = (torch.from_numpy(images[:, None]) / 255 - 0.25) / 0.5
    torch.testing.assert_close(torch.cat([batch.images for batch in seen]), expected)


def test_scale_is_the_mean_and_deviation_of_the_chosen_rows():
    images = rng().integers(0, 255, (30, 3, 4, 4)).astype(np.uint8)
    scale, rows = Normalisation.estimate(images, range(10)), images[:10] / 255
    assert scale.mean == pytest.approx(rows.mean((0, 2, 3)), abs=1e-4)
    assert scale.std == pytest.approx(rows.std((0, 2, 3)), abs=1e-4)
    assert Normalisation.estimate(np.zeros((3, 1, 4, 4), np.uint8), range(3)).std[0] > 0, (
        "black images divide nothing by zero"
    )


class Steps:
    """Says which thread made a batch."""

    fixed_shape = True
    steps_per_epoch = 5

    def __init__(self) -> None:
        self.made: list[tuple[int, str]] = []

    def batch(self, step: int) -> int:
        self.made.append((step, threading.current_thread().name))
        if step == 13:
            raise ValueError("13")
        return 100 + step

    def once(self) -> Iterator[Any]:
        yield from range(3)


def test_the_next_batch_is_made_ahead_and_in_no_other_order():
    data = Steps()
    with Prefetch(data) as prefetch:
        ask(prefetch, data)
    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())


def ask(prefetch: Prefetch, data: Steps) -> None:
    assert [prefetch.batch(step) for step in (0, 1, 2, 7, 8, 2)] == [100, 101, 102, 107, 108, 102]
    main = [step for step, thread in data.made if not thread.startswith("prefetch")]
    assert main == [0, 7, 2], "only what could not be foreseen is waited for"
    assert list(prefetch.once()) == [0, 1, 2]
    prefetch.batch(12)
    with pytest.raises(ValueError, match="13"):
        prefetch.batch(13)
