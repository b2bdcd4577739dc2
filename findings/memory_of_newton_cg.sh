#!/bin/sh
# Memory of logistic regression of a sparse matrix, by solver.
#
# Guess: newton-cg needs products of the matrix with vectors only, as its name says, so
# it allocates little; and three classes need more memory than two.
# scikit-learn 1.9.1, SciPy 1.17.1, 2026-11-29: with two classes, each outer iteration of
# newton-cg multiplies the rows by their weights, which is a second matrix of the same
# size, and the peak is twice the size of X. With three classes it allocates a quarter.
# lbfgs, sag, saga and liblinear allocate .1 to .5 of X with either. Ridge copies X.
#
#     two classes: lbfgs 0.2 newton-cg 2.1 sag 0.1 saga 0.1 liblinear 0.1
#     three classes: lbfgs 0.5 newton-cg 0.3 sag 0.1 saga 0.1
#     numbers: Ridge 1.1 LinearRegression 0.1 PoissonRegressor 0.2
. "$(dirname "$0")/_run.sh"
run_with scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 <<'PROGRAM'
import tracemalloc
import warnings

import numpy as np
from scipy import sparse
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)

warnings.simplefilter("ignore")  # sag and saga do not converge here
X = sparse.random_array((20_000, 5_000), density=0.01, format="csr", rng=0)
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
sums = X[:, :200].sum(axis=1)


def peak(model, y):
    """Return the largest allocation of a fit, in units of the matrix."""
    tracemalloc.start()
    model.fit(X, y)
    result = tracemalloc.get_traced_memory()[1] / size
    tracemalloc.stop()
    return result


solvers = ("lbfgs", "newton-cg", "sag", "saga", "liblinear")
by_classes = {}
for words, edges in {"two": [0.5], "three": [0.33, 0.66]}.items():
    y = np.digitize(sums, np.quantile(sums, edges))
    peaks = {
        solver: peak(LogisticRegression(solver=solver), y)
        for solver in solvers[: 5 if words == "two" else 4]
    }
    print(f"{words} classes:", *(f"{name} {p:.1f}" for name, p in peaks.items()))
    by_classes[words] = peaks
models = Ridge(), LinearRegression(), PoissonRegressor()
peaks = {type(model).__name__: peak(model, sums) for model in models}
print("numbers:", *(f"{name} {p:.1f}" for name, p in peaks.items()))
assert by_classes["two"]["newton-cg"] > 1.8
assert by_classes["three"]["newton-cg"] < 0.5
assert by_classes["two"]["lbfgs"] < 0.5
assert peaks["Ridge"] > 0.9 > peaks["LinearRegression"]
PROGRAM
