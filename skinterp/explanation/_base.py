"""What every kind of explanation has in common."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._codec import decode, encode
from skinterp.explanation._meta import FrozenDict

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

SCOPES = ("global", "local")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation(ABC):
    """What ``explain`` returns: frozen arrays, names, and a record of their making.

    Each kind of content is a subclass. A kind sets ``kind``, adds its arrays as
    fields, and implements the abstract methods; storing, comparing, indexing and
    showing come from here.

    Parameters
    ----------
    scope : {"global", "local"}
        Whether it speaks about the whole model or about single cases.
    feature_names : tuple of str
        Names of the columns, as the user wrote them.
    target_names : ndarray of shape (n_outputs,)
        Labels of the classes in the order of ``classes_``; one name for a regressor.
    unit : str, default="row"
        What one case is: "row", "training row", "token", "node", ...
    meta : mapping, default={}
        How it was made: method, versions, parameters, seed. Filled in by ``explain``.

    Attributes
    ----------
    complexity : int
        How much a reader has to take in; each kind defines its measure.

    See Also
    --------
    RuleSet : Rules that decide a class.
    Attribution : A number per feature.

    Notes
    -----
    Two explanations are equal when they are of one kind and all their content is,
    NaN counting as equal to NaN. They can be pickled, and stored as strict JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Attribution, Explanation
    >>> importance = Attribution(
    ...     scope="global",
    ...     feature_names=("age", "dose"),
    ...     target_names=np.array(["y"]),
    ...     values=np.array([0.2, 0.7]),
    ... )
    >>> Explanation.from_dict(importance.to_dict()) == importance
    True
    """

    kind: ClassVar[str] = ""
    schema_version: ClassVar[int] = 1

    scope: str
    feature_names: tuple[str, ...]
    target_names: NDArray[Any]
    unit: str = "row"
    meta: Mapping[str, Any] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            msg = f"scope={self.scope!r} is not one of {list(SCOPES)}"
            raise ValueError(msg)
        if self.feature_names is None:
            msg = "feature_names must be a sequence of names, got None"
            raise TypeError(msg)
        self._set("feature_names", tuple(str(name) for name in self.feature_names))
        self._set("target_names", np.array(self.target_names))
        if self.target_names.ndim != 1:
            msg = f"target_names must be a sequence of labels, got {self.target_names}"
            raise ValueError(msg)
        self._set("meta", FrozenDict(self.meta))
        self._normalise()
        self._freeze_arrays()
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError where the arrays do not fit together."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the cases (local) or the items (global)."""

    @abstractmethod
    def _take(self, indices: NDArray[np.intp]) -> Self:
        """Keep the given cases or items, in the given order."""

    @abstractmethod
    def top(self, k: int) -> Self:
        """Keep what matters most.

        Parameters
        ----------
        k : int
            How much to keep, at least 1.

        Returns
        -------
        Explanation
            Of the same kind.
        """

    @property
    @abstractmethod
    def complexity(self) -> int:
        """How much a reader has to take in."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Give the content as a table.

        Returns
        -------
        pandas.DataFrame
            One row per item that a reader looks at.
        """

    @abstractmethod
    def to_text(self) -> str:
        """Say the explanation in words.

        Returns
        -------
        str
            Some lines of text.
        """

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the explanation.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on. Nothing is shown.
        """

    @abstractmethod
    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Hold what is said against what the model does.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like
            Cases to try it on; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If they disagree; the message names the first case.
        """

    @abstractmethod
    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same in the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Explanation
            Of the same kind, in the user's columns and units.
        """

    def __getitem__(self, index: int | slice | NDArray[Any] | list[int]) -> Self:
        """Keep one case, a slice of cases, or the cases of an index or mask."""
        n = len(self)
        if isinstance(index, int | np.integer) and not -n <= index < n:
            msg = f"index {index} is out of range for an explanation of length {n}"
            raise IndexError(msg)
        chosen = np.arange(n)[index]
        if isinstance(index, bool | None) or chosen.ndim > 1:
            msg = f"index {index!r} is not an integer, a slice, a list or a mask"
            raise IndexError(msg)
        return self._take(np.atleast_1d(chosen))

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        method = str(self.meta.get("method", "")).rpartition(".")[2]
        made = f" of {method}" if method else ""
        return (
            f"<{type(self).__name__}{made}: {self.scope}, length {len(self)}, "
            f"{len(self.feature_names)} features>"
        )

    def _repr_html_(self) -> str:
        return self.to_html(standalone=False)

    def to_html(self, *, standalone: bool = True) -> str:
        """Show the explanation as HTML that needs nothing else.

        Parameters
        ----------
        standalone : bool, default=True
            Give a whole page; False gives the fragment that a notebook shows.

        Returns
        -------
        str
            HTML with style and picture inside. Names and labels are escaped.
        """
        from skinterp.explanation._html import render

        return render(self, standalone=standalone)

    def to_dict(self) -> dict[str, Any]:
        """Give the content as values that strict JSON can hold.

        Returns
        -------
        dict
            With the keys ``kind``, ``schema_version`` and one per field.
        """
        head = {"kind": self.kind, "schema_version": self.schema_version}
        return head | {f.name: encode(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Explanation:
        """Make an explanation from what ``to_dict`` gave.

        Parameters
        ----------
        content : mapping
            As returned by ``to_dict``.

        Returns
        -------
        Explanation
            Of the kind that the content names, which may be a plugin's.

        Raises
        ------
        ValueError
            If the kind is unknown, the schema is newer than this version reads, or
            a field is missing or unknown.
        """
        from skinterp.explanation._kinds import get_kind

        if not isinstance(content, Mapping):
            msg = f"an explanation is stored as a mapping, got {content!r}"
            raise TypeError(msg)
        target = get_kind(content.get("kind"))
        version = content.get("schema_version")
        if type(version) is not int or not 1 <= version <= target.schema_version:
            msg = (
                f"schema_version={version!r} of kind {target.kind!r} cannot be read; "
                f"this version reads 1 to {target.schema_version}"
            )
            raise ValueError(msg)
        known = {f.name for f in fields(target)}
        given = set(content) - {"kind", "schema_version"}
        if given != known:
            msg = (
                f"an explanation of kind {target.kind!r} has the fields "
                f"{sorted(known)}; missing {sorted(known - given)}, "
                f"unknown {sorted(given - known)}"
            )
            raise ValueError(msg)
        values = {name: _read_field(name, content[name]) for name in sorted(known)}
        try:
            return target(**values)
        except TypeError as error:
            msg = f"what is stored is no explanation of kind {target.kind!r}: {error}"
            raise ValueError(msg) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the explanation as a JSON file.

        Parameters
        ----------
        path : path-like
            The file to write; an existing one is replaced.
        """
        text = json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)
        # half a surrogate pair, as in names of files, has no code but JSON's escape
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Explanation:
        """Read an explanation that ``save`` stored.

        Parameters
        ----------
        path : path-like
            The file to read.

        Returns
        -------
        Explanation
            Equal to the one that was saved.

        Raises
        ------
        ValueError
            If the file does not hold an explanation.

        Examples
        --------
        >>> import numpy as np
        >>> from skinterp.explanation import Attribution, load
        >>> importance = Attribution(
        ...     scope="global",
        ...     feature_names=("age", "dose"),
        ...     target_names=np.array(["y"]),
        ...     values=np.array([0.2, 0.7]),
        ... )
        >>> importance.save("importance.json")
        >>> load("importance.json") == importance
        True
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            msg = f"{path} is not a JSON file: {error}"
            raise ValueError(msg) from error
        if not isinstance(content, dict):
            msg = f"{path} does not hold an explanation but {type(content).__name__}"
            raise ValueError(msg)
        return Explanation.from_dict(content)

    @abstractmethod
    def _normalise(self) -> None:
        """Bring the fields of a kind to their types."""

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _freeze_arrays(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                frozen = value.copy()
                frozen.flags.writeable = False
                self._set(f.name, frozen)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # pickle gives arrays back writeable
        self.__dict__.update(state)
        self._freeze_arrays()

    def _with(self, **changes: Any) -> Self:
        """Copy with some fields changed; None leaves a field as it is."""
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **given)


def _read_field(name: str, stored: Any) -> Any:
    try:
        return decode(stored)
    except (
        AttributeError,
        KeyError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        text = f"{type(error).__name__}: {error}"
        msg = f"the field {name!r} of a stored explanation cannot be read ({text})"
        raise ValueError(msg) from error


def check_shapes(sizes: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Raise ValueError naming the first array that has not the expected shape."""
    for name, (array, expected) in sizes.items():
        if array is not None and np.shape(array) != expected:
            msg = f"{name} has shape {np.shape(array)}, expected {expected}"
            raise ValueError(msg)


def check_k(k: int) -> int:
    """Check the argument of ``top``."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        msg = f"k={k!r} is not allowed: it must be an integer of at least 1"
        raise ValueError(msg)
    return int(k)


def _same(a: Any, b: Any) -> bool:
    if a is b:  # NaT and NA equal nothing, not even themselves
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind == "O":
            return all(_same(x, y) for x, y in zip(a.flat, b.flat, strict=True))
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM"))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return type(a) is type(b) and bool(a == b)
