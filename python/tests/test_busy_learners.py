"""Learners that are asked while they are at work: by other threads, and by their own kernels."""

import pytest

# Programs of their own: what they test for is that they end.
BEGIN = """
import threading
import numpy as np
import mercer
X = np.random.default_rng(0).normal(size=({size}, 2))
ask = None
def kernel(x, y):
    if ask is not None:
        ask()
    return float(np.exp(-0.5 * ((x - y) ** 2).sum()))
learner = {learner}
learner.fit(X[:20])
"""
LEARNERS = {
    "online": "mercer.OnlineKernelPCA(2, kernel=kernel, budget=10)",
    "hebbian": "mercer.KernelHebbianPCA(2, kernel=kernel, passes=1, eta0=0.05, n_jobs=2)",
}
# More rows than are learned at once; few points for the one that looks at all pairs of them.
SIZE = {"online": 400, "hebbian": 60}
COUNT = {"online": "n_seen_", "hebbian": "_model.n_updates"}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_with_a_function_can_be_asked_while_another_thread_teaches_it(run_python, name):
    program = BEGIN.format(learner=LEARNERS[name], size=SIZE[name]) + f"""
at_work = threading.Event()
ask = at_work.set
thread = threading.Thread(target=lambda: learner.partial_fit(X))
thread.start()
at_work.wait()
counts = [learner.{COUNT[name]} for _ in range(20)]
thread.join()
print(sorted(counts) == counts, learner.{COUNT[name]} > 20)
"""
    assert run_python(program).split() == ["True", "True"]


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("online", "learner.n_seen_"),
        ("online", "learner.partial_fit(X[:5])"),
        ("online", "learner.transform(X[:5])"),
        ("hebbian", "learner._model.n_updates"),
        ("hebbian", "learner.partial_fit(X[:5])"),
    ],
)
def test_a_kernel_that_asks_the_learner_that_calls_it_gets_an_error(run_python, name, question):
    program = BEGIN.format(learner=LEARNERS[name], size=SIZE[name]) + f"""
def ask():
    global ask
    ask = None
    {question}
try:
    learner.partial_fit(X)
except RuntimeError as error:
    print(error)
# It goes on as if nothing had happened.
before = learner.{COUNT[name]}
learner.partial_fit(X[:30])
print(before, learner.{COUNT[name]} > before)
"""
    said, after = run_python(program).splitlines()
    assert said == "a learner cannot be asked or taught from within its own kernel: it is at work, and waits for the kernel"
    assert after == "20 True"


def test_rows_of_two_threads_do_not_mix(run_python):
    program = BEGIN.format(learner=LEARNERS["online"], size=SIZE["online"]) + """
def kernel_of(x, y):
    if (x == 7.0).all() != (y == 7.0).all():
        raise ValueError("sevens do not mix")
    return float(np.exp(-0.5 * ((x - y) ** 2).sum()))
learner = mercer.OnlineKernelPCA(2, kernel=kernel_of, budget=10).fit(X[:20])
def fail():
    rows = X.copy()
    rows[300] = 7.0
    try:
        learner.partial_fit(rows)
    except ValueError:
        pass
threads = [threading.Thread(target=work) for work in (lambda: learner.partial_fit(X), fail)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(learner.n_seen_)
"""
    assert run_python(program).split() == ["420"]
