"""scikit-learn's own tests of its KernelPCA, which ship in its wheel, run against ours."""

import pytest
from sklearn.decomposition.tests import test_kernel_pca as theirs

import mercer

_fits = 0


class KernelPCA(mercer.KernelPCA):
    """Ours, counting its fits: a test that never fits it says nothing about it."""

    def fit(self, X, y=None):
        global _fits
        _fits += 1
        return super().fit(X, y)


theirs.KernelPCA = KernelPCA
_tests = {name: test for name, test in vars(theirs).items() if name.startswith("test_")}
globals().update(_tests)


@pytest.fixture(autouse=True)
def ours_is_used():
    before = _fits
    yield
    assert _fits > before


def test_that_there_are_as_many_as_in_their_file():
    KernelPCA(n_components=1).fit([[0.0], [1.0], [3.0]])
    assert len(_tests) >= 20, sorted(_tests)
