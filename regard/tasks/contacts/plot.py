"""The contact map as a picture: predictions below the diagonal, what they are compared with above it."""

from pathlib import Path

import numpy as np
from torch import Tensor

from regard.core.files import atomic_file
from regard.data.alignments.alignment import Alignment
from regard.tasks.contacts.predict import Prediction


def plot_contacts(alignment: Alignment, prediction: Prediction, distance: Tensor | None, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5.4), layout="constrained")
    axes = figure.add_subplot()
    length, alphabet = alignment.length, alignment.alphabet
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length))) >= alphabet.separation
    shown = np.where(apart, prediction.contact.numpy(), 0.0)
    if distance is None:
        above, name = prediction.mean_field.numpy() * apart, "mean-field couplings"
        above = np.clip(above / max(float(np.quantile(above, 0.995)), 1e-9), 0, 1)
    else:
        above, name = ((distance < alphabet.contact).numpy() & apart).astype(float), "structure"
    shown = np.where(np.tri(length, dtype=bool), shown, above)
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=1, extent=(0.5, length + 0.5, length + 0.5, 0.5))
    axes.set(xlabel="residue", ylabel="residue", title=f"below: predicted contacts; above: {name}")
    figure.colorbar(image, ax=axes, label="probability of a contact", shrink=0.8)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=150)
