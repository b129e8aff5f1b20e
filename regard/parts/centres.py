"""Resemblance among very many rows: all of them count, but they speak through a few.

Asked rows are compared with the centres only, which are some of the known rows, and what each centre says makes the sum
right for all known rows at once (Williams & Seeger, 2001). That takes the rows times the square of the centres, instead
of the cube of the rows; and what is said of a known row that is left out still has a closed form.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.parts.resemblance import Resemblance, as_shares, near, settle, some
from regard.parts.straight import LEAST, Design, Guess, root_of

CENTRES = 2048
TINY = 1e-3  # beside a row's resemblance to itself, as centres may be equal


@dataclass(frozen=True)
class ResemblanceByCentres(Resemblance):
    """`rows` are the centres."""

    known: Float[Tensor, "table known told"]  # all known rows, weighted

    @classmethod
    def fit(cls, entries: Design, labels: Guess) -> "ResemblanceByCentres":
        level = labels.mean(1, keepdim=True)
        y = labels - level
        with torch.autocast(entries.device.type, enabled=False):
            told, weight, penalty = settle(entries, y)
            known = entries[..., told] * weight
            centres = some(CENTRES, known)
            code, root = _code(known, centres)
            inner = root_of(code @ code.transpose(1, 2) + penalty * torch.eye(len(code[0]), device=code.device))
            found = torch.cholesky_solve(code @ y, inner)
            own_weight = torch.linalg.solve_triangular(inner, code, upper=False).square().sum(1)
            left = y - code.transpose(1, 2) @ found
            own = y - left / (1 - own_weight).clamp(min=LEAST)[..., None]
            say = torch.linalg.solve_triangular(root.transpose(1, 2), found, upper=True)
        return cls(told, weight, centres, penalty, say, level, own + level, known)

    def shares(self, entries: Design) -> Float[Tensor, "table row known"]:
        code, root = _code(self.known, self.rows)
        square = code @ code.transpose(1, 2) + self.penalty * torch.eye(len(code[0]), device=code.device)
        seen = near(entries[..., self.told] * self.weight, self.rows)
        asked = torch.linalg.solve_triangular(root, seen.transpose(1, 2), upper=False)
        return as_shares(torch.cholesky_solve(asked, root_of(square)).transpose(1, 2) @ code)


def _code(
    known: Float[Tensor, "table known told"], centres: Float[Tensor, "table centre told"]
) -> tuple[Float[Tensor, "table centre known"], Tensor]:
    """Known rows in coordinates whose products are their resemblance through the centres; and the root they come by."""
    root = root_of(near(centres, centres) + TINY * torch.eye(centres.shape[1], device=centres.device))
    return torch.linalg.solve_triangular(root, near(centres, known), upper=False), root
