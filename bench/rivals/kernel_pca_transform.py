"""scikit-learn's kernel PCA scores of new points; the fit before them is not timed."""

import common
import numpy
from sklearn.decomposition import KernelPCA

parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--components", type=int, required=True)
parser.add_argument("--queries", required=True, help="file of new points")
parser.add_argument("--query-rows", type=int, required=True)
parser.add_argument("--query-scores", required=True, help="file for the scores of the new points")
options = parser.parse_args()

points = common.load(options.points, options.rows, options.features)
queries = common.load(options.queries, options.query_rows, options.features)
model = KernelPCA(
    options.components, kernel="rbf", gamma=options.gamma, eigen_solver="arpack", random_state=0, copy_X=False
).fit(points)
model.transform(queries[:100])  # libraries are loaded and threads started
with common.Measured() as measured:
    scores = model.transform(queries)
scores.astype(numpy.float64).tofile(options.query_scores)
common.answer(measured, eigenvalues=model.eigenvalues_.astype(numpy.float64).tolist())
