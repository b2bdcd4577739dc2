"""Read, check and encode y, and decode decision values.

Networks, stacks and table models read y, and the outputs of users' estimators, with
these functions.
"""

from ._check import (
    center_and_scale,
    check_groups,
    check_one_column,
    check_target,
    check_two_classes,
    is_continuous,
    no_warning_of_rare_classes,
    read_partial_labels,
    warn_of_rare_classes,
)
from ._predictor_outputs import (
    PerColumn,
    check_predictor,
    class_probabilities,
    decision_values,
    errors_of_model,
    for_scorers,
    per_column,
    predicted_classes,
    predicted_numbers,
    refuse_pairs_of_classes,
)
from ._predictors import TargetClassifierMixin, TargetRegressorMixin
from ._tags import TagTarget, allowed_tags, weighted_span_f1
from ._target import (
    LabelTarget,
    MultilabelTarget,
    NumberTarget,
    make_target,
    read_target,
)

__all__: list[str] = []
