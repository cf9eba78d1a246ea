"""scikit-learn's kernel PCA with one of its solvers."""

import common
import numpy
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--components", type=int, required=True)
parser.add_argument("--solver", required=True, choices=["dense", "arpack", "randomized"])
parser.add_argument("--scores", required=True, help="file for the scores of the points")
options = parser.parse_args()


def settings(components):
    return KernelPCA(
        components, kernel="rbf", gamma=options.gamma, eigen_solver=options.solver, random_state=0, copy_X=False
    )


points = common.load(options.points, options.rows, options.features)
common.warm_up(settings(3).fit)
with common.Measured() as measured:
    model = settings(options.components).fit(points)

values = model.eigenvalues_.astype(numpy.float64)
vectors = model.eigenvectors_.astype(numpy.float64)
(vectors * numpy.sqrt(values)).tofile(options.scores)

# Residuals of the centred matrix in double precision, some rows at a time.
centred = vectors - vectors.mean(axis=0)
images = numpy.empty_like(vectors)
for first in range(0, options.rows, 1000):
    # Two different arrays: OpenBLAS's routine for one array times itself crashes on some sizes.
    slab = rbf_kernel(points[first : first + 1000], points, gamma=options.gamma)
    images[first : first + 1000] = slab.astype(numpy.float64) @ centred
images -= images.mean(axis=0)
residuals = numpy.linalg.norm(images - vectors * values, axis=0) / values[0]
common.answer(measured, eigenvalues=values.tolist(), largest_residual=float(residuals.max()))
