"""scikit-learn's spectral clustering."""

import common
import numpy
from sklearn.cluster import SpectralClustering

parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--clusters", type=int, required=True)
parser.add_argument("--labels", required=True, help="file for the clusters of the points, as bytes")
options = parser.parse_args()


def settings(clusters):
    return SpectralClustering(clusters, affinity="rbf", gamma=options.gamma, random_state=0)


points = common.load(options.points, options.rows, options.features)
common.warm_up(settings(3).fit)
with common.Measured() as measured:
    model = settings(options.clusters).fit(points)

model.labels_.astype(numpy.uint8).tofile(options.labels)
common.answer(measured)
