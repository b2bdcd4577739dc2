#!/bin/sh
# The decision values of LightGBM's random forests.
#
# Guess: decision_function, which LightGBM's classifiers have since 4.7, returns the log
# odds of predict_proba, as it does for boosting.
# LightGBM 4.7.0, scikit-learn 1.9.1, 2026-11-28: with boosting_type="rf" it returns the
# sum over the trees, and predict_proba the probabilities of their mean. Of 100 trees the
# decision values are 100 times the log odds. What calibrates or stacks decision values
# (CalibratedClassifierCV, StackingClassifier) takes decision_function if there is one.
#
#     gbdt: decision values are 1 times the log odds
#     rf: decision values are 100 times the log odds
. "$(dirname "$0")/_run.sh"
run_with lightgbm==4.7.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 <<'PROGRAM'
import numpy as np
from lightgbm import LGBMClassifier
from scipy.special import logit

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
y = (X[:, 0] + 0.5 * rng.normal(size=500) > 0).astype(int)
expected = {"gbdt": 1, "rf": 100}
for kind, factor in expected.items():
    model = LGBMClassifier(
        boosting_type=kind, bagging_freq=1, bagging_fraction=0.5, verbose=-1
    ).fit(X, y)
    odds = logit(model.predict_proba(X)[:, 1])
    ratio = np.median(model.decision_function(X) / odds)
    print(f"{kind}: decision values are {ratio:.3g} times the log odds")
    assert abs(ratio / factor - 1) < 0.01
PROGRAM
