"""What PairEncoder asks of its parameters before it fits anything."""

from sklearn.utils import get_tags

from ..sequences._pair_features import PAIR_FEATURES


def check_features(features):
    strange = [name for name in features if name not in PAIR_FEATURES]
    repeated = len(set(features)) < len(features)
    if strange or repeated or not len(features):
        raise ValueError(
            f"PairEncoder: features must hold some of {list(PAIR_FEATURES)}, each at "
            f"most once; got {list(features)}."
        )


def refuse_labels(encoder):
    for step in _steps(encoder):
        if get_tags(step).target_tags.required:
            name = type(step).__name__
            raise ValueError(
                f"PairEncoder: {name} in the encoder learns from labels, but y has "
                "labels of pairs, not of the texts that the encoder sees. Leave it out "
                "of the encoder, and put it behind the PairEncoder: "
                "make_pipeline(PairEncoder(encoder), ...)."
            )


def _steps(encoder):
    """Return the steps that get labels: the encoder, or those that it is made of."""
    for name in ("steps", "transformer_list", "transformers"):
        parts = getattr(encoder, name, None)
        if isinstance(parts, list):
            steps = [part[1] for part in parts]
            return [
                inner
                for step in steps
                if hasattr(step, "fit")
                for inner in _steps(step)
            ]
    return [encoder]
