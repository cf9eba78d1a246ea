"""scikit-learn's own tests of its Nystroem, which ship in its wheel, run against ours."""

import pytest
from sklearn.tests import test_kernel_approximation as theirs

import mercer

_fits = 0


class Nystroem(mercer.Nystroem):
    """Ours, counting its fits: a test that never fits it says nothing about it."""

    def fit(self, X, y=None):
        global _fits
        _fits += 1
        return super().fit(X, y)


theirs.Nystroem = Nystroem
_tests = {name: test for name, test in vars(theirs).items() if name.startswith("test_nystroem")}
globals().update(_tests)


@pytest.fixture(autouse=True)
def ours_is_used(request):
    before = _fits
    yield
    # Tests of the array API skip themselves where it is not switched on (SCIPY_ARRAY_API=1), before they fit.
    assert _fits > before or "array_api" in request.node.name


def test_that_there_are_as_many_as_in_their_file():
    Nystroem(n_components=1).fit([[0.0], [1.0], [3.0]])
    assert len(_tests) >= 8, sorted(_tests)
