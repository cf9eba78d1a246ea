"""Online kernel PCA by the simultaneous rule with a budget of remembered rows, in NumPy.

The same learner as Mercer's with the policy "project": a row that the budget has no room for, or the remembered row whose loss costs
least, is replaced by the best combination of the others. The inverse of the kernel matrix is kept up to date by updates of rank
one, which NumPy does faster than the rotations that a triangular factor would need.
"""

import common
import numpy as np


class Learner:
    def __init__(self, n_features, n_components, budget, gamma):
        size = budget + 1
        self.gamma, self.budget = gamma, budget
        self.m = self.t = self.started = self.changes = 0
        self.rows = np.zeros((size, n_features))
        self.norms = np.zeros(size)
        self.alpha = np.zeros((n_components, size))
        self.mean = np.zeros(size)
        self.inverse = np.zeros((size, size))
        self.with_mean = np.zeros(n_components)
        self.mean_squared = 0.0
        self.variance = 0.0
        self.variances = np.zeros(n_components)
        self.began = np.zeros(n_components)
        self.places = {}

    def learn(self, x):
        """Learns a row of doubles and returns its outputs."""
        m = self.m
        self.t += 1
        share = 1.0 / self.t
        square = x @ x
        k = np.exp(-self.gamma * np.maximum(self.norms[:m] + square - 2.0 * (self.rows[:m] @ x), 0.0))
        raw = self.alpha[:, :m] @ k
        before = self.mean[:m] @ k
        y = (1.0 - share) * (raw - self.with_mean)
        self.with_mean = (1.0 - share) * self.with_mean + share * raw
        self.mean_squared = (1.0 - share) ** 2 * self.mean_squared + 2.0 * share * (1.0 - share) * before + share**2
        centered_with_mean = (1.0 - share) * before + share - self.mean_squared
        length = 1.0 - 2.0 * ((1.0 - share) * before + share) + self.mean_squared
        self.variance += share * (max(length, 0.0) - self.variance)
        # Of a component, over the rows since it began.
        started = self.started
        self.variances[:started] += (y[:started] ** 2 - self.variances[:started]) / (self.t - self.began[:started])
        eta = 0.05 / self.variance if self.variance > 0.0 else 0.0
        gain = eta * y

        slot, combination, residual, forgotten = self.place(x, square, k, gain, share)
        m = self.m
        mean = self.mean[:m]
        mean *= 1.0 - share
        if combination is None:
            mean[slot] += share
        else:
            mean += share * combination
        alpha = self.alpha[:, :m]
        sums = np.cumsum(y[:, None] * alpha, axis=0)
        new = (1.0 - eta * y * y)[:, None] * alpha - gain[:, None] * mean
        new[1:] -= gain[1:, None] * sums[:-1]
        if combination is None:
            new[:, slot] += gain
        else:
            new += np.outer(gain, combination)
        self.alpha[:, :m] = new
        earlier = np.cumsum(y * self.with_mean) - y * self.with_mean
        self.with_mean = (1.0 - eta * y * y) * self.with_mean - gain * earlier + gain * centered_with_mean
        if combination is not None:
            self.with_mean -= gain * (1.0 - share) * share * residual
            self.mean_squared -= share**2 * residual
        if self.started < len(y) and residual is not None:
            # The next component starts at this row.
            p = self.started
            column = np.append(k, 1.0) if combination is None else k
            self.alpha[p, :m] = 0.0
            if combination is None:
                self.alpha[p, slot] = 1.0
            else:
                self.alpha[p, :m] = combination
            self.with_mean[p] = self.mean[:m] @ column[:m]
            self.began[p] = self.t
            self.started += 1
        if forgotten is not None:
            self.forget(forgotten)
        return y

    def place(self, x, square, k, gain, share):
        """A slot, or a combination of slots with its squared distance; and the slot to forget."""
        m = self.m
        key = x.tobytes()
        if key in self.places:
            return self.places[key], None, None, None
        combination = self.inverse[:m, :m] @ k
        residual = 1.0 - k @ combination
        if residual <= 1e-8:
            return None, combination, max(residual, 0.0), None
        forgotten = None
        if m >= self.budget:
            # The mean counts as one component more.
            of_mean = 1.0 / self.variance if self.variance > 0.0 else 0.0
            own = ((gain @ gain) * (1.0 - share) ** 2 + of_mean * share**2) * residual
            weights = np.einsum("pi,pi->i", self.alpha[:, :m], self.alpha[:, :m])
            weights += of_mean * self.mean[:m] ** 2
            losses = weights / (np.diagonal(self.inverse)[:m] + combination**2 / residual)
            cheapest = int(np.argmin(losses))
            if own <= losses[cheapest]:
                return None, combination, residual, None
            forgotten = cheapest
        self.inverse[:m, :m] += np.outer(combination, combination / residual)
        self.inverse[m, :m] = self.inverse[:m, m] = -combination / residual
        self.inverse[m, m] = 1.0 / residual
        self.rows[m], self.norms[m] = x, square
        self.alpha[:, m] = self.mean[m] = 0.0
        self.places[key] = m
        self.m += 1
        self.changes += 1
        return m, None, residual, forgotten

    def forget(self, slot):
        """Replaces a row by the best combination of the others; the last row takes its place."""
        m, last = self.m, self.m - 1
        column = self.inverse[:m, slot].copy()
        residual = 1.0 / column[slot]
        coefficients = -column * residual
        coefficients[slot] = 0.0
        lost, lost_mean = self.alpha[:, slot].copy(), self.mean[slot]
        self.alpha[:, :m] += np.outer(lost, coefficients)
        self.mean[:m] += lost_mean * coefficients
        self.with_mean -= lost * lost_mean * residual
        self.mean_squared -= lost_mean**2 * residual
        self.inverse[:m, :m] -= np.outer(column, column * residual)
        del self.places[self.rows[slot].tobytes()]
        if slot != last:
            self.places[self.rows[last].tobytes()] = slot
            for array in (self.rows, self.norms, self.mean):
                array[slot] = array[last]
            self.alpha[:, slot] = self.alpha[:, last]
            self.inverse[slot, :m] = self.inverse[last, :m]
            self.inverse[:m, slot] = self.inverse[:m, last]
            self.inverse[slot, slot] = self.inverse[last, last]
        self.m -= 1


parser = common.arguments()
parser.add_argument("--gamma", type=float, required=True)
parser.add_argument("--components", type=int, required=True)
parser.add_argument("--budget", type=int, required=True)
parser.add_argument("--warm-up", type=int, required=True, help="replays of all rows before the one that is timed")
options = parser.parse_args()

points = common.load(options.points, options.rows, options.features).astype(np.float64)
learner = Learner(options.features, options.components, options.budget, options.gamma)
seconds, changes = [], []
for _ in range(options.warm_up + 1):
    before = learner.changes
    with common.Measured() as measured:
        for row in points:
            learner.learn(row)
    seconds.append(measured.seconds)
    changes.append(learner.changes - before)
common.answer(
    measured,
    first_seconds=seconds[0],
    changes=changes,
    variances=learner.variances.tolist(),
    total_variance=learner.variance,
)
