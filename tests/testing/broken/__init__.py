"""Estimators that are broken on purpose, at least one per check of the kit."""

from broken.data import BROKEN_DATA
from broken.explaining import BROKEN_EXPLAINING
from broken.protocol import BROKEN_PROTOCOL
from broken.showing import BROKEN_SHOWING
from broken.valuing import BROKEN_VALUING
from broken.working import BROKEN_PROCESSES, BROKEN_WORKING

BROKEN = {
    **BROKEN_PROTOCOL,
    **BROKEN_DATA,
    **BROKEN_WORKING,
    **BROKEN_PROCESSES,
    **BROKEN_EXPLAINING,
    **BROKEN_SHOWING,
    **BROKEN_VALUING,
}

__all__ = ["BROKEN", "BROKEN_PROCESSES"]
