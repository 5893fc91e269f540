"""Fitted weights as numpy arrays, and the torch modules made of them again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from skinterp.neural._context import torch_scope

__all__ = [
    "as_arrays",
    "as_tensors",
    "memory_of",
    "rebuild",
    "remember",
    "snapshot",
]

# Beside the estimators, not in them: a prediction changes no attribute, and nothing of
# torch is pickled or copied with a model.
_MODULES: WeakKeyDictionary[Any, tuple[Any, torch.nn.Module]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def snapshot(module: torch.nn.Module) -> dict[str, torch.Tensor] | None:
    """Copy the weights of a module, or None where a parameter is not finite."""
    if not all(bool(torch.isfinite(p).all()) for p in module.parameters()):
        return None
    return {key: value.detach().clone() for key, value in module.state_dict().items()}


def as_arrays(state: Any) -> Any:
    """Turn the tensors inside dicts, lists and tuples into arrays of their own."""
    if isinstance(state, torch.Tensor):
        array: NDArray[Any] = state.detach().cpu().numpy().copy()
        return array
    if isinstance(state, Mapping):
        return {key: as_arrays(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(as_arrays(value) for value in state)
    return state


def as_tensors(state: Any) -> Any:
    """Undo `as_arrays`; the tensors share no memory with the arrays."""
    if isinstance(state, np.ndarray):
        return torch.from_numpy(np.array(state))
    if isinstance(state, Mapping):
        return {key: as_tensors(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(as_tensors(value) for value in state)
    return state


def memory_of(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Keep what an optimiser has gathered: not its rates, which are parameters."""
    state = as_arrays(optimizer.state_dict()["state"])
    return {"kind": type(optimizer).__name__, "state": state}


def remember(optimizer: torch.optim.Optimizer, memory: Mapping[str, Any]) -> None:
    """Give an optimiser the memory of one before; one of another kind starts anew."""
    if memory["kind"] == type(optimizer).__name__:
        groups = optimizer.state_dict()["param_groups"]
        state = as_tensors(memory["state"])
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def rebuild(
    estimator: Any, device: torch.device, dtype: torch.dtype
) -> torch.nn.Module:
    """Give the module of a fitted estimator, ready to predict; made once per model."""
    weights = estimator.weights_
    key = (id(weights), str(device), dtype)
    with _LOCK:
        known = _MODULES.get(estimator)
    # The weights are held beside the module, so that their id is not given away.
    if known is not None and known[0][:3] == key:
        return known[1]
    with torch_scope(0, getattr(torch, estimator._dtype)):
        module: torch.nn.Module = estimator._build_module(estimator.module_config_)
        module.load_state_dict(as_tensors(weights))
    module.to(device=device, dtype=dtype).eval().requires_grad_(False)
    with _LOCK:
        _MODULES[estimator] = ((*key, weights), module)
    return module
