"""Formal contexts from a masked language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from tqdm import tqdm

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import (
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from skinterp.explanation import Lattice
from skinterp.lattice._concept_lattice import ConceptLattice

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Scorer = Callable[[str, Sequence[str]], Any]
MASK = "[MASK]"


class MLMContext(ExplainableMixin, TransformerMixin, BaseEstimator):
    """Read a table of objects by attributes out of a masked language model.

    For each attribute and each pattern, a sentence with a gap in the place of the
    object is put to the model, which scores every object for the gap. Scores are pooled
    over patterns, brought to [0, 1] within each attribute, and cut: the result is a
    truth table, from which ``ConceptLattice`` reads the concepts that lie in the model.
    No ontology is needed, and no language model comes along: ``scorer`` is a callable.

    Parameters
    ----------
    attributes : sequence of str, default=None
        The attributes, as they stand in a sentence; the columns of the table. None,
        for scores that are given, takes the columns of a frame, or calls them ``m0``,
        ``m1``, ...
    patterns : sequence of str, default=None
        Sentences that hold ``[MASK]`` and ``{attribute}``, such as
        ``"The [MASK] is an animal that can {attribute}."``.
    scorer : callable, default=None
        ``scorer(sentence, objects)`` gives a number per object, the larger the better
        it fills the gap; it must not depend on which other objects are asked about,
        and should raise ValueError for an object that is no single token. None says
        that X holds the scores themselves.
    pooling : {"max", "mean"}, default="max"
        How the scores of the patterns become one.
    normalize : {"column", "global", "none"}, default="column"
        Bring scores to [0, 1] by the smallest and the largest of their attribute, or of
        all; or leave them. Only the order within an attribute means much.
    threshold : float, default=0.5
        An object has an attribute if its score is above.
    verbose : int, default=0
        Above 0, show how many sentences are scored and the time left.

    Attributes
    ----------
    attribute_names_ : ndarray of shape (n_attributes,), object
        Names of the columns.
    low_, high_ : ndarray of shape (n_attributes,)
        Smallest and largest pooled score.
    scores_ : ndarray of shape (n_objects, n_attributes)
        Scores of the training objects in [0, 1].
    context_ : ndarray of shape (n_objects, n_attributes), bool
        The table of the training objects.
    objects_ : ndarray of shape (n_objects,), object
        Names of the training objects.

    See Also
    --------
    ConceptLattice : The concepts of the table.
    context_scores : How well a table agrees with a known one.

    Notes
    -----
    The scores estimate how likely the object is, given the attribute and the pattern:
    n_patterns times n_attributes calls, whatever the number of objects. An attribute
    whose scores are all equal is one of no object. Scores of another object at
    ``transform`` are set against the smallest and largest ones of training.

    The table is only as good as the cut: look at the curve of ``context_scores`` over
    thresholds, and at its baseline, which says that all objects have all attributes.

    References
    ----------
    .. [1] Xiong, B., Staab, S. (2025). "From Tokens to Lattices: Emergent Lattice
       Structures in Language Models". ICLR. arXiv:2504.08778.

    Examples
    --------
    >>> from skinterp.lattice import MLMContext
    >>> def scorer(sentence, objects):  # stands for a language model
    ...     able = {"fly": ["wren", "bat"], "swim": ["carp"]}
    ...     verb = sentence.split()[-1]
    ...     return [0.9 if name in able[verb] else 0.1 for name in objects]
    >>> model = MLMContext(
    ...     attributes=["fly", "swim"],
    ...     patterns=["The [MASK] is an animal that can {attribute}"],
    ...     scorer=scorer,
    ... )
    >>> model.fit_transform(["wren", "bat", "carp"])
    array([[ True, False],
           [ True, False],
           [False,  True]])
    """

    explains: ClassVar = {"global": ("lattice",), "local": ("lattice",)}

    _parameter_constraints: ClassVar[dict] = {
        "attributes": ["array-like", None],
        "patterns": ["array-like", None],
        "scorer": [callable, None],
        "pooling": [StrOptions({"max", "mean"})],
        "normalize": [StrOptions({"column", "global", "none"})],
        "threshold": [Interval(Real, None, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        attributes: Sequence[str] | None = None,
        patterns: Sequence[str] | None = None,
        scorer: Scorer | None = None,
        pooling: str = "max",
        normalize: str = "column",
        threshold: float = 0.5,
        verbose: int = 0,
    ) -> None:
        self.attributes = attributes
        self.patterns = patterns
        self.scorer = scorer
        self.pooling = pooling
        self.normalize = normalize
        self.threshold = threshold
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the objects, and learn the range of each attribute.

        Parameters
        ----------
        X : sequence of str, or array-like
            Names of the objects; without a scorer, their scores, of shape (n_patterns,
            n_objects, n_attributes) or, of one pattern, (n_objects, n_attributes); a
            frame of these names its objects and attributes.
        y : object, default=None
            Not used.

        Returns
        -------
        MLMContext
            The fitted estimator.
        """
        self.__dict__.pop("context_", None)
        pooled, objects = self._pool(X)
        if 0 in pooled.shape:
            msg = (
                f"X holds {len(pooled)} objects (samples) and {pooled.shape[1]} "
                "attributes, at least 1 of each is needed"
            )
            raise ValueError(msg)
        self.attribute_names_ = self._names(pooled.shape[1], X)
        low, high = pooled.min(axis=0), pooled.max(axis=0)
        if self.normalize == "global":
            low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
        self.low_, self.high_, self.objects_ = low, high, objects
        self.scores_ = self._normalise(pooled)
        self.context_ = self.scores_ > self.threshold
        return self

    def transform(self, X: Any) -> Bools:
        """Tell which objects have which attributes.

        Parameters
        ----------
        X : sequence of str, or array-like
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_objects, n_attributes), bool
            True where an object has an attribute.
        """
        check_is_fitted(self, "context_")
        return self.score_attributes(X) > self.threshold

    def score_attributes(self, X: Any) -> Floats:
        """Give the pooled scores, brought to the range of training.

        Parameters
        ----------
        X : sequence of str, or array-like
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_objects, n_attributes)
            In [0, 1] for training objects; beyond for others that score more or less.
        """
        check_is_fitted(self, "context_")
        pooled, _ = self._pool(X)
        if self.scorer is None:
            _check_columns(X, self.attribute_names_.tolist())
        if pooled.shape[1] != len(self.low_):
            msg = (
                f"X has the scores of {pooled.shape[1]} attributes, but MLMContext was "
                f"fitted with {len(self.low_)}"
            )
            raise ValueError(msg)
        return self._normalise(pooled)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the columns of the table: the attributes.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_attributes,), object
            The names.
        """
        check_is_fitted(self, "context_")
        return self.attribute_names_.copy()

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        words = {
            "attributes": ("fly", "swim", "bark", "dig"),
            "patterns": ("A [MASK] can {attribute}.", "[MASK]s often {attribute}."),
            "scorer": score_by_letters,
        }
        return [words, {**words, "pooling": "mean", "normalize": "global"}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "context_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(input="text", unit="object")

    def _validate_X(self, X: Any) -> Bools:
        return self.transform(X)

    def _explain(
        self, X: Bools | None, *, kind: str, min_support: float = 0.0
    ) -> Lattice:
        """Concepts of the table of the training objects, or the places of others."""
        import pandas as pd

        frame = pd.DataFrame(
            self.context_, index=self.objects_, columns=list(self.attribute_names_)
        )
        lattice = ConceptLattice(min_support=min_support, scaling="boolean").fit(frame)
        rows = None if X is None else pd.DataFrame(X, columns=frame.columns)
        told: Any = lattice.explain(rows)
        dtypes = ("derived",) * len(frame.columns)
        return told._with(feature_dtypes=dtypes, meta={})

    # -- scoring ----------------------------------------------------------------------

    def _pool(self, X: Any) -> tuple[Floats, NDArray[Any]]:
        """Scores of objects pooled over patterns, and the objects' names."""
        if self.scorer is None:
            scores = self._read_scores(X)
            index: Any = getattr(X, "index", None) if hasattr(X, "columns") else None
            counted = index is None or type(index).__name__ == "RangeIndex"
            numbers = [f"g{i}" for i in range(scores.shape[1])]
            names = numbers if counted else list(map(str, index))
        else:
            names = _read_objects(X)
            scores = self._ask(names)
        pool = np.max if self.pooling == "max" else np.mean
        return pool(scores, axis=0), np.array(names, dtype=object)

    def _read_scores(self, X: Any) -> Floats:
        given = np.asarray(X)
        if given.dtype.kind not in "biuf" or given.ndim not in (2, 3):
            msg = (
                "X must hold scores of shape (n_patterns, n_objects, n_attributes) "
                f"where scorer=None, got {given.dtype} of shape {given.shape}"
            )
            raise ValueError(msg)
        three = given if given.ndim == 3 else given[None]
        if len(three) == 0:
            msg = f"X has the shape {given.shape}, without the scores of any pattern"
            raise ValueError(msg)
        return _finite(three, "X")

    def _ask(self, objects: list[str]) -> Floats:
        """Put every sentence to the scorer."""
        attributes = _texts(self.attributes, "attributes")
        patterns = _texts(self.patterns, "patterns")
        for pattern in patterns:
            if MASK not in pattern or "{attribute}" not in pattern:
                msg = f"patterns holds {pattern!r}, without {MASK} or {{attribute}}"
                raise ValueError(msg)
        pairs = [(p, a) for p in patterns for a in attributes]
        scores = np.empty((len(pairs), len(objects)))
        shown = tqdm(pairs, desc="MLMContext") if self.verbose else pairs
        for i, (p, a) in enumerate(shown):
            sentence = p.replace("{attribute}", a)
            assert self.scorer is not None
            scores[i] = _read_answer(self.scorer(sentence, objects), objects, sentence)
        by_pattern = scores.reshape(len(patterns), len(attributes), len(objects))
        return by_pattern.swapaxes(1, 2)

    def _names(self, n: int, X: Any) -> NDArray[Any]:
        """Names of the attributes; those of a frame of scores are its columns."""
        if self.attributes is not None:
            names = _texts(self.attributes, "attributes")
        elif hasattr(X, "columns"):
            names = _texts(list(map(str, X.columns)), "the columns of X")
        else:
            names = [f"m{j}" for j in range(n)]
        if self.scorer is None:
            _check_columns(X, names)
        if len(names) != n:
            msg = f"attributes holds {len(names)} names for the scores of {n}"
            raise ValueError(msg)
        return np.array(names, dtype=object)

    def _normalise(self, pooled: Floats) -> Floats:
        if self.normalize == "none":
            return pooled
        with np.errstate(over="ignore"):
            span = _finite(self.high_ - self.low_, "the range of the scores")
        out = np.zeros_like(pooled)
        np.divide(pooled - self.low_, span, out=out, where=span > 0)
        return out


def _read_objects(X: Any) -> list[str]:
    given = X.tolist() if hasattr(X, "tolist") else X
    if isinstance(given, str) or not isinstance(given, list | tuple):
        msg = f"X must be a sequence of names of objects (1d), got {X!r}"
        raise ValueError(msg)
    wrong = [name for name in given if not isinstance(name, str)]
    if wrong:
        msg = f"X holds {wrong[0]!r}; an object is named by a string"
        raise ValueError(msg)
    return list(given)


def _check_columns(X: Any, names: list[str]) -> None:
    """Raise ValueError if a frame of scores has other columns, or in another order."""
    columns = [str(name) for name in getattr(X, "columns", names)]
    if columns != names:
        msg = f"X has the columns {columns}, but the attributes are {names}"
        raise ValueError(msg)


def _read_answer(given: Any, objects: Sequence[str], sentence: str) -> Floats:
    """What the scorer gave, if that is a finite number per object."""
    try:
        numbers: Floats = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        msg = (
            f"scorer gave {type(given).__name__} for the sentence {sentence!r}, which "
            f"is no array of {len(objects)} numbers ({error})"
        )
        raise ValueError(msg) from error
    if numbers.shape != (len(objects),):
        msg = (
            f"scorer gave the shape {numbers.shape} for {len(objects)} objects and the "
            f"sentence {sentence!r}"
        )
        raise ValueError(msg)
    return _finite(numbers, f"what scorer gave for {sentence!r}")


def _texts(given: Any, name: str) -> list[str]:
    texts = [] if given is None else list(given)
    wrong = [text for text in texts if not isinstance(text, str)]
    ordered = not isinstance(given, str | set | frozenset | dict)
    if not texts or wrong or not ordered or len(set(texts)) < len(texts):
        msg = f"{name} must be a sequence of different strings, got {given!r}"
        raise ValueError(msg)
    return texts


def _finite(scores: Any, what: str) -> Floats:
    numbers: Floats = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(numbers).all():
        msg = f"{what} holds NaN or inf; scores are finite numbers"
        raise ValueError(msg)
    return numbers


def score_by_letters(sentence: str, objects: Sequence[str]) -> list[float]:
    """Score by letters in common, for tests of the protocol."""
    letters = set(sentence)
    return [len(letters & set(name)) / max(len(set(name)), 1) for name in objects]
