#!/bin/sh
# Members of `class State(str, Enum)` as labels, in NumPy and scikit-learn.
#
# Guess: np.asarray has their values, "job", "jobless", "school", or their names.
# numpy 2.4.6 and scikit-learn 1.9.1, 2026-11-29: it has the first characters of str(),
# as many as the longest value has: "State.JOB" and "State.JOBLESS" are both "State.J".
# A classifier merges these classes without a warning, and its score is perfect. Values
# of a StrEnum, whose str() is the value, are kept.
#
#     asarray: ['State.J', 'State.J', 'State.S']
#     classes: ['State.J', 'State.S'], score 1.0
#     StrEnum: ['job', 'jobless', 'school']
. "$(dirname "$0")/_run.sh"
run_with numpy==2.4.6 scikit-learn==1.9.1 <<'PROGRAM'
from enum import Enum, StrEnum

import numpy as np
from sklearn.linear_model import LogisticRegression

members = {"JOB": "job", "JOBLESS": "jobless", "SCHOOL": "school"}
State = Enum("State", members, type=str)
labels = np.asarray([*State]).tolist()
print(f"asarray: {labels}")
X, y = np.arange(30)[:, None] % 3, [*State] * 10
model = LogisticRegression(C=100).fit(X, y)
classes, score = model.classes_.tolist(), model.score(X, y)
print(f"classes: {classes}, score {score}")
of_values = np.asarray([*StrEnum("State", members)]).tolist()
print(f"StrEnum: {of_values}")
assert labels == ["State.J", "State.J", "State.S"]
assert classes == ["State.J", "State.S"]
assert score == 1
assert of_values == ["job", "jobless", "school"]
PROGRAM
