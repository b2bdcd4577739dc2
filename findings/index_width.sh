#!/bin/sh
# Sparse matrices with 64-bit indices in scikit-learn.
#
# Guess: estimators that are made for many rows (SGDClassifier, saga, LinearSVC) accept
# a sparse matrix whose indices are of 64 bits, which SciPy creates from 2**31 nonzero
# numbers on; and csr_array and csr_matrix have indices of the same type.
# scikit-learn 1.9.1, SciPy 1.17.1, 2026-11-28: a slice of a csr_array keeps 64 bits,
# that of a csr_matrix has 32 if they suffice. So batches of a large csr_array are
# refused by SGDClassifier, Perceptron, LinearSVC, Lasso, KMeans, random forests and the
# solvers saga, sag and liblinear, and batches of the same csr_matrix are not. The
# solvers lbfgs and newton-cg, Ridge, naive Bayes and TruncatedSVD accept both.
#
#     indices of a slice: csr_array int64, csr_matrix int32
#     accepted: lbfgs newton-cg Ridge MultinomialNB TruncatedSVD
#     refused: saga liblinear SGDClassifier LinearSVC Lasso MiniBatchKMeans ...
. "$(dirname "$0")/_run.sh"
run_with scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 <<'PROGRAM'
import numpy as np
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

X = sparse.random_array((400, 50), density=0.2, format="csr", rng=0)
X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
widths = [kind(X)[:200].indices.dtype for kind in (sparse.csr_array, sparse.csr_matrix)]
print("indices of a slice: csr_array {}, csr_matrix {}".format(*widths))
assert widths == [np.int64, np.int32]
X, y = X[:200], np.arange(200) % 2
models = {
    solver: LogisticRegression(solver=solver)
    for solver in ("lbfgs", "newton-cg", "saga", "liblinear")
}
others = (Ridge(), MultinomialNB(), TruncatedSVD(3), SGDClassifier(), LinearSVC())
others += (Lasso(0.01), MiniBatchKMeans(3), RandomForestClassifier(3))
models |= {type(model).__name__: model for model in others}
accepted, refused = [], []
for name, model in models.items():
    try:
        model.fit(X, y)
        accepted.append(name)
    except ValueError as error:
        refused.append(name)
        assert "int" in str(error), error
print("accepted:", *accepted)
print("refused:", *refused)
assert accepted == ["lbfgs", "newton-cg", "Ridge", "MultinomialNB", "TruncatedSVD"]
PROGRAM
