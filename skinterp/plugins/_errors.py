"""What the plugin layer warns with and raises."""

from __future__ import annotations


class SkinterpPluginWarning(UserWarning):
    """A plugin could not be used as it is; the rest of skinterp works.

    Examples
    --------
    >>> import warnings
    >>> from skinterp.plugins import SkinterpPluginWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SkinterpPluginWarning)
    """


class PluginError(Exception):
    """A plugin is at fault, or a name that plugins give cannot be resolved.

    Examples
    --------
    >>> from skinterp.plugins import MethodLookupError, PluginError
    >>> issubclass(MethodLookupError, PluginError)
    True
    """


class MethodLookupError(PluginError, LookupError):
    """No method, or more than one, answers to the name.

    Examples
    --------
    >>> import skinterp
    >>> skinterp.get_method("bolean-tree")
    Traceback (most recent call last):
        ...
    skinterp.plugins._errors.MethodLookupError: There is no method 'bolean-tree'...
    """
