"""Trained networks as members of a stack of texts, by the effort that may be spent."""

from ..dynamic import DynamicMetaClassifier, DynamicMetaRegressor
from ..pooling import Pooling
from ..sources import ContrastiveEmbedding, TrainableTransformer, TransformerEmbedding

EFFORTS = ("low", "medium", "high")
# Parameters of a source that its trained copies share.
_PARAMETERS = (
    *("model", "prompt", "prompt_name", "revision", "trust_remote_code", "trusted"),
    "device",
)


def trained_models(estimator, sources, effort, random_state):
    """Return (name, estimator) pairs, the `models` of a stack, or None without any.

    Parameters
    ----------
    estimator : "classifier", "regressor" or estimator
    sources : list of (str, source) pairs
        Each `TransformerEmbedding` among them is trained. Without one, a network of
        the vectors of all sources is, or of learned vectors of tokens.
    effort : {"low", "medium", "high"}
    random_state : int, RandomState or None
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {EFFORTS}; got {effort!r}.")
    if effort == "low":
        return None
    if not isinstance(estimator, str):
        raise ValueError(
            f"effort={effort!r} adds trained networks to the stack, the model of "
            f'"classifier" and "regressor"; got estimator={estimator!r} too. Use '
            'effort="low", or one of these names.'
        )
    encoders = [(n, s) for n, s in sources if isinstance(s, TransformerEmbedding)]
    is_number = estimator == "regressor"
    if not encoders:
        return [("net", _network(is_number, random_state))]
    models = []
    for name, source in encoders:
        if not is_number:
            pairs = _trained_on_pairs(source, random_state)
            models.append((f"{name}-pairs", pairs))
        if is_number or effort == "high":
            tuned = _trained_whole(source, is_number, random_state)
            models.append((f"{name}-tuned", tuned))
    return models


def _network(is_number, random_state):
    """Return a network that reads the order of tokens, next to models that do not."""
    kind = DynamicMetaRegressor if is_number else DynamicMetaClassifier
    options = {"linear_share": 0}  # the stack has linear models of its own
    return kind(train_options=options, random_state=random_state)


def _trained_on_pairs(source, random_state):
    """Return a pipeline that trains an encoder on pairs of texts, and classifies."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    params = {name: getattr(source, name) for name in _PARAMETERS}
    encoder = ContrastiveEmbedding(**params, random_state=random_state)
    return make_pipeline(encoder, Pooling(), LogisticRegression(C=10, max_iter=1000))


def _trained_whole(source, is_number, random_state):
    """Return a network that trains an encoder together with its output layer."""
    kind = DynamicMetaRegressor if is_number else DynamicMetaClassifier
    encoder = TransformerEmbedding(
        **{name: getattr(source, name) for name in _PARAMETERS},
        output=source.output if source.output in ("cls", "mean") else "sentence",
        max_length=source.max_length,
        truncate=True,
        batch_tokens=source.batch_tokens,
    )
    # As measured in `benchmarks/effort.py`: numbers have no labels to smooth.
    options = {} if is_number else {"label_smoothing": 0.0}
    return kind(
        trainable=TrainableTransformer(encoder),
        # One vector per text has no neighbors for filters to read.
        encoder="max",
        head_dropout=0.2,
        train_options=options,
        device=source.device,
        random_state=random_state,
    )
