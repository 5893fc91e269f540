"""The version of the installed distribution."""

from __future__ import annotations


def installed_version() -> str:
    """Return the version in the installed metadata of skinterp.

    Returns
    -------
    str
        The version, or ``"0+unknown"`` where skinterp runs from a source
        folder that is not installed.

    Examples
    --------
    >>> installed_version()[0].isdigit()
    True
    """
    # Imported here: the façade alone should not pay for the metadata reader.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("skinterp")
    except PackageNotFoundError:
        return "0+unknown"
