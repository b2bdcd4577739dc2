"""Mean attention weights of sources by groups of tokens, of one estimator or more."""

import numpy as np

from ._attending import attending, weights_of
from ._grouping import mean_by_group, token_groups


def source_means(estimator, X, groups, frequencies, whose):
    """Return what `SourceWeightsDisplay` takes, for one estimator."""
    estimator, X = attending(estimator, X, whose)
    frame = estimator.attention_weights(X)
    names, members = token_groups(groups, frame, len(X), frequencies, whose)
    sources, values = weights_of(frame)
    known = values.any(axis=1)
    weights, counts = mean_by_group(values[known], members[known], len(names))
    return {
        "weights": weights,
        "sources": sources,
        "groups": names,
        "counts": counts,
        "n_unknown": int((~known).sum()),
    }


def stacked_means(means, whose):
    """Return what `SourceWeightsDisplay` takes, for several estimators."""
    groups = means[0]["groups"]
    if not all(np.array_equal(other["groups"], groups) for other in means):
        raise ValueError(
            f"{whose}: the estimators split X into different words, so that the groups "
            "are not the same. Show each by itself, with from_estimator."
        )
    sources = list(dict.fromkeys(name for one in means for name in one["sources"]))
    weights = np.full((len(means), len(groups), len(sources)), np.nan)
    for panel, one in zip(weights, means, strict=True):
        panel[:, [sources.index(name) for name in one["sources"]]] = one["weights"]
    return {
        "weights": weights,
        "sources": sources,
        "groups": groups,
        "counts": np.stack([one["counts"] for one in means]),
        "n_unknown": max(one["n_unknown"] for one in means),
    }
