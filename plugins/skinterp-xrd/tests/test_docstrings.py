"""Every public object is documented, in numpydoc's form, with an example that runs."""

import inspect

import pytest
from numpydoc.validate import validate

import skinterp_xrd
from skinterp_xrd import datasets

# Choices for the whole project; there is no list of excused objects.
NOT_ASKED = {
    "GL01",  # the summary stands on the line of the opening quotes
    "ES01",  # a good summary is often enough
    "SA01",  # "See Also" where there is something to see
}
# The class shows an example of use; its methods need one only where it helps.
NOT_ASKED_OF_METHODS = {"EX01"}


def public():
    for module in (skinterp_xrd, datasets):
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                yield f"{module.__name__}.{name}", item


OBJECTS = dict(public())
METHODS = {
    f"{name}.{member}": vars(cls)[member]
    for name, cls in OBJECTS.items()
    if inspect.isclass(cls)
    for member in vars(cls)
    if not member.startswith("_")
    and (
        inspect.isfunction(vars(cls)[member]) or isinstance(vars(cls)[member], property)
    )
    and not (member.startswith("set_") and member.endswith("_request"))
}


@pytest.mark.parametrize("name", sorted(OBJECTS | METHODS))
def test_docstring(name):
    report = validate(name)
    skipped = NOT_ASKED | (NOT_ASKED_OF_METHODS if name in METHODS else set())
    item = OBJECTS.get(name)
    if inspect.isclass(item) and all(
        p.kind is p.KEYWORD_ONLY for p in inspect.signature(item).parameters.values()
    ):
        skipped |= {"PR03"}  # order means nothing; a dataclass puts its base's first
    errors = [f"{c}: {text}" for c, text in report["errors"] if c not in skipped]
    assert not errors, "\n".join([f"{report['file']}:{report['file_line']}", *errors])


def test_there_are_names():
    assert "skinterp_xrd.PowderXRDSimulator" in OBJECTS
    assert "skinterp_xrd.datasets.make_xrd_benchmark" in OBJECTS
    assert "skinterp_xrd.PowderXRDSimulator.simulate" in METHODS
