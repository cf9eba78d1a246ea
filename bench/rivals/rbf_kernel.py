"""scikit-learn's Gaussian kernel matrix of some points."""

import common
from sklearn.metrics.pairwise import rbf_kernel

parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--probes", required=True, help="points whose entries are printed")
options = parser.parse_args()

points = common.load(options.points, options.rows, options.features)
common.warm_up(rbf_kernel)
with common.Measured() as measured:
    matrix = rbf_kernel(points, gamma=options.gamma)
probes = [int(probe) for probe in options.probes.split(",")]
common.answer(measured, entries=[float(matrix[i, j]) for i in probes for j in probes])
