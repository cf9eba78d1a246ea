"""Accuracy of scikit-learn's support vector machine with the best width and penalty of a grid.

After the coordinates of a row come its class, its fold in the choice of parameters, and its fold in each of several cross-validations. Columns are
standardised by the training folds; width and penalty are chosen by accuracy in the first folds, and accuracy is then measured in the others: the share of
rows whose class was found. Fits run side by side, one on each thread.
"""

import time

import common
import joblib
import numpy
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

parser = common.arguments()
parser.add_argument("--repeats", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
options = parser.parse_args()

table = common.load(options.points, options.rows, options.features).astype(float)
d = options.features - 2 - options.repeats
points, (classes, choice, *folds) = table[:, :d], table[:, d:].T.astype(int)
grid = {
    "svc__gamma": 2.0 ** numpy.arange(-6, 7, 2) / d,
    "svc__C": 10.0 ** numpy.arange(-2, 5),
}


def hits(pipeline, train, test):
    """Rows of `test` whose class is found from those of `train`."""
    found = clone(pipeline).fit(points[train], classes[train]).predict(points[test])
    return int((found == classes[test]).sum())


pipeline = make_pipeline(StandardScaler(), SVC())
# Starting processes is not timed, nor is loading scikit-learn in them.
some = numpy.flatnonzero(choice == 0)
joblib.Parallel(n_jobs=options.threads)(joblib.delayed(hits)(pipeline, some, some) for _ in range(options.threads))
with common.Measured() as measured:
    start = time.perf_counter()
    search = GridSearchCV(pipeline, grid, cv=PredefinedSplit(choice), n_jobs=options.threads, refit=False).fit(points, classes)
    search_seconds = time.perf_counter() - start
    pipeline.set_params(**search.best_params_)
    splits = [split for own in folds for split in PredefinedSplit(own).split()]
    found = joblib.Parallel(n_jobs=options.threads)(joblib.delayed(hits)(pipeline, *split) for split in splits)
common.answer(measured, search_seconds=search_seconds, accuracy=sum(found) / (len(folds) * len(classes)))
