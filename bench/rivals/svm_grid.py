"""Accuracy of scikit-learn's support vector machine with the best width and penalty of a grid.

The last column of the points is the class. Columns are standardised by the training folds; width and penalty are chosen by accuracy in a few
folds of all points, and accuracy is then measured in other folds, several times over. Fits run side by side, one on each thread.
"""

import common
import joblib
import numpy
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

parser = common.arguments()
parser.add_argument("--folds", type=int, required=True)
parser.add_argument("--choice-folds", type=int, required=True)
parser.add_argument("--repeats", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
options = parser.parse_args()

table = common.load(options.points, options.rows, options.features).astype(float)
points, classes = table[:, :-1], table[:, -1].astype(int)
grid = {
    "svc__gamma": 2.0 ** numpy.arange(-6, 7, 2) / points.shape[1],
    "svc__C": 10.0 ** numpy.arange(-2, 5),
}
# Starting processes is not timed.
joblib.Parallel(n_jobs=options.threads)(joblib.delayed(abs)(-1) for _ in range(options.threads))
with common.Measured() as measured:
    pipeline = make_pipeline(StandardScaler(), SVC())
    folds = StratifiedKFold(options.choice_folds, shuffle=True, random_state=99)
    search = GridSearchCV(pipeline, grid, cv=folds, n_jobs=options.threads).fit(points, classes)
    again = RepeatedStratifiedKFold(n_splits=options.folds, n_repeats=options.repeats, random_state=0)
    scores = cross_val_score(search.best_estimator_, points, classes, cv=again, n_jobs=options.threads)
common.answer(measured, accuracy=float(scores.mean()))
