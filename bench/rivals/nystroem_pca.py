"""scikit-learn's Nystroem followed by its PCA: kernel PCA over uniform landmarks."""

import common
import numpy
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem

parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--components", type=int, required=True)
parser.add_argument("--landmarks", type=int, required=True)
options = parser.parse_args()


def fit(points, landmarks, components):
    features = Nystroem(kernel="rbf", gamma=options.gamma, n_components=landmarks, random_state=0)
    return PCA(components, random_state=0).fit(features.fit_transform(points))


points = common.load(options.points, options.rows, options.features)
common.warm_up(lambda few: fit(few, 16, 3))
with common.Measured() as measured:
    model = fit(points, options.landmarks, options.components)

# On the scale of the centred kernel matrix.
values = model.explained_variance_.astype(numpy.float64) * (options.rows - 1)
common.answer(measured, eigenvalues=values.tolist())
