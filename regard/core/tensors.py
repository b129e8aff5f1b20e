"""Tensors in files: safetensors only, each with a digest of its contents that is checked when it is read."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from regard.core.errors import UserError, one_line
from regard.core.files import atomic_file


def save(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A file that is whole or absent, and vouches for itself."""
    plain = _plain(tensors)
    with atomic_file(path) as temporary:
        _write(temporary, plain, {"sha256": digest(plain)})


def save_in_folder(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A file of a folder that is whole or absent as a whole, whose manifest vouches for it."""
    _write(path, _plain(tensors), None)


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each in memory of its own: blocks that share their weights are written as if they did not."""
    plain: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        whole = tensor.detach().cpu().contiguous()
        plain[name] = whole.clone() if whole.numel() and whole.data_ptr() in seen else whole
        seen.add(whole.data_ptr())
    return plain


def _write(path: Path, plain: dict[str, Tensor], metadata: dict[str, str] | None) -> None:
    save_file(plain, path, metadata=metadata)
    path.chmod(0o644)  # the library makes files that only their owner may read


def load(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            written = (file.metadata() or {}).get("sha256")
    except FileNotFoundError:
        raise UserError(f"{path}: is missing") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: is damaged ({one_line(error)})") from None
    if written is not None and written != digest(tensors):
        raise UserError(f"{path}: is damaged (its contents do not match the digest written with them)")
    return tensors


def digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.flatten().view(torch.uint8).numpy().data)
    return total.hexdigest()


def trained_state(model: nn.Module) -> dict[str, Tensor]:
    """What training changes of a model, by name: its state without parameters that are frozen."""
    parameters = model.named_parameters(remove_duplicate=False)
    frozen = {name for name, parameter in parameters if not parameter.requires_grad}
    return {name: tensor for name, tensor in model.state_dict().items() if name not in frozen}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], source: object) -> None:
    """Load weights into what is trained of a model; `source` names their file in errors."""
    check_weights(model, weights, source)
    model.load_state_dict(dict(weights), strict=False)


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], source: object) -> None:
    """Refuse weights that do not fit what is trained; missing, extra and misshapen tensors are named."""
    needed = trained_state(model)
    wrong = [f"{name} is missing" for name in needed.keys() - weights.keys()]
    wrong += [f"{name} is not in the model" for name in weights.keys() - needed.keys()]
    for name in needed.keys() & weights.keys():
        have, want = weights[name], needed[name]
        if have.shape != want.shape:
            wrong.append(f"{name} is {tuple(have.shape)}, not {tuple(want.shape)}")
        elif have.is_floating_point() != want.is_floating_point() or have.is_complex():
            wrong.append(f"{name} holds {have.dtype}, not {want.dtype}")
    if wrong:
        raise UserError(f"{source}: does not fit the config: {'; '.join(sorted(wrong)[:8])}")


def check_finite(weights: Mapping[str, Tensor], source: object) -> None:
    """Refuse weights with NaN or infinity: a model would answer with arbitrary labels and tokens, not with an error."""
    for name in sorted(weights):
        if weights[name].is_floating_point() and not weights[name].isfinite().all():
            raise UserError(f"{source}: {name} holds values that are not finite; the weights are damaged")
