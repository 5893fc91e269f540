"""Work with torch that leaves its global state as it was; which device to use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["resolve_device", "torch_scope"]

# Modules draw their first weights, and layers such as dropout their masks, from
# torch's global generator: two trainings in threads must not draw in turns.
_GLOBAL_GENERATOR = threading.RLock()


@contextmanager
def torch_scope(seed: int, dtype: torch.dtype) -> Iterator[None]:
    """Seed torch's generators and set its default dtype, both for this work alone."""
    with _GLOBAL_GENERATOR:
        before = torch.get_default_dtype()
        devices = range(torch.cuda.device_count())
        with (
            torch.random.fork_rng(devices),
            torch.inference_mode(False),
            torch.enable_grad(),
        ):
            try:
                torch.set_default_dtype(dtype)
                torch.manual_seed(seed)
                yield
            finally:
                torch.set_default_dtype(before)


def resolve_device(device: str, *, fitting: bool) -> torch.device:
    """Find the device to work on.

    A model that was fitted on a device which is not here is used on the CPU; a fit on
    one is refused.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = None
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        if fitting or found is None:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            msg = (
                f"device={device!r} cannot be used here: {reason}. Allowed are 'auto', "
                "'cpu' and the devices that torch finds, such as 'cuda' or 'cuda:1'."
            )
            raise ValueError(msg) from error
        return torch.device("cpu")
    if found.type == "meta":
        msg = f"device={device!r} holds no numbers; use 'auto', 'cpu' or 'cuda'."
        raise ValueError(msg)
    return found
