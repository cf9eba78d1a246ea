"""scikit-learn's common checks of estimators: all of them, without an expected failure."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    AutoencoderKernelPCA,
    FourierFeatures,
    KernelHebbianPCA,
    KernelPCA,
    KernelTuner,
    Nystroem,
    OnlineKernelPCA,
    SpectralClustering,
)


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(n_components=2, kernel="rbf"),
        KernelPCA(n_components=3, kernel="sigmoid"),
        KernelPCA(n_components=2, kernel="rbf", inverse="distance", inverse_options={"neighbors": 3}),
        AutoencoderKernelPCA(epochs=2),
        AutoencoderKernelPCA(1, span="data", epochs=1),
        KernelHebbianPCA(),
        KernelHebbianPCA(n_components=1, kernel="rbf", gain="smd"),
        Nystroem(),
        Nystroem(n_components=5, landmarks="rpcholesky"),
        Nystroem(n_components=3, landmarks="kmeans"),
        Nystroem(n_components=3, kernel="polynomial", landmarks="leverage"),
        FourierFeatures(),
        FourierFeatures(gamma="scale", n_components=3, random_state=1),
        KernelTuner(),
        KernelTuner(criterion="median"),
        SpectralClustering(),
        SpectralClustering(n_clusters=3, affinity="laplacian", gamma=0.5),
    ]
)
def test_common_check(estimator, check):
    check(estimator)


def test_is_an_estimator_with_their_parameters():
    assert isinstance(KernelPCA(), BaseEstimator)
    theirs, ours = Theirs().get_params(), KernelPCA().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_gives_frames_with_names(container, points):
    scores = make_pipeline(StandardScaler(), KernelPCA(2)).set_output(transform=container).fit_transform(points)
    assert type(scores).__module__.startswith(container)
    assert list(scores.columns) == ["kernelpca0", "kernelpca1"]


def test_html_and_text_show_what_differs_from_the_defaults():
    assert repr(KernelPCA(3, kernel="rbf")) == "KernelPCA(kernel='rbf', n_components=3)"
    assert "KernelPCA" in KernelPCA(3)._repr_html_()


@pytest.mark.parametrize(
    "made, named_by",
    [
        (KernelPCA, "kernel"),
        (KernelHebbianPCA, "kernel"),
        (Nystroem, "kernel"),
        (SpectralClustering, "affinity"),
        (AutoencoderKernelPCA, None),
        (FourierFeatures, None),
        (KernelTuner, None),
        (OnlineKernelPCA, None),
    ],
)
def test_tags_say_what_an_estimator_takes_and_gives(made, named_by):
    tags = made().__sklearn_tags__()
    assert tags.input_tags.sparse and not tags.input_tags.pairwise
    if made is not SpectralClustering:
        # Streams are learned in double precision.
        kept = ["float64"] if made is OnlineKernelPCA else ["float64", "float32"]
        assert tags.transformer_tags.preserves_dtype == kept
    if named_by is not None:
        assert made(**{named_by: "precomputed"}).__sklearn_tags__().input_tags.pairwise
