"""What a file may hold without being asked about: every class by its name.

A name stands here once it was seen that making such an object from any attributes runs
nothing: it opens no file, imports nothing, calls nothing that came with it. What skops
trusts by itself (scikit-learn's estimators, arrays, plain values) is not repeated.
`tests/persistence/test_trusted.py` holds the list to that, and to what estimators need.
"""

# Made without their constructor, which may do more: attributes are put into place.
OBJECTS = {
    "sk_metaembed.persistence._stand_in": ("StandIn",),
    "sk_metaembed.adapters._pair_encoder": ("PairEncoder",),
    "sk_metaembed.adapters._token_classifier": ("TokenClassifier",),
    "sk_metaembed.dynamic._columns_target": ("ColumnsTarget",),
    "sk_metaembed.dynamic._embedding": ("DynamicMetaEmbedding",),
    "sk_metaembed.dynamic._image_target": ("ImageTarget",),
    "sk_metaembed.dynamic._predictors": (
        "DynamicMetaClassifier",
        "DynamicMetaRegressor",
    ),
    "sk_metaembed.dynamic._ranker": ("DynamicMetaRanker",),
    "sk_metaembed.dynamic._tag_target": ("TagTarget",),
    "sk_metaembed.dynamic._tagger": ("DynamicMetaTagger",),
    "sk_metaembed.dynamic._targets": (
        "IndicatorTarget",
        "LabelTarget",
        "NumberTarget",
    ),
    "sk_metaembed.dynamic._trainable": ("TrainedSources",),
    "sk_metaembed.elmo._language_model": ("ElmoLanguageModel",),
    "sk_metaembed.meta._autoencoded": ("AutoencodedMetaEmbedding",),
    "sk_metaembed.meta._average": ("AverageMetaEmbedding",),
    "sk_metaembed.meta._concat": ("ConcatMetaEmbedding",),
    "sk_metaembed.meta._gcca": ("GCCAMetaEmbedding",),
    "sk_metaembed.meta._imputer": ("SourceImputer",),
    "sk_metaembed.meta._locally_linear": ("LocallyLinearMetaEmbedding",),
    "sk_metaembed.meta._one_to_n": ("OneToNMetaEmbedding",),
    "sk_metaembed.meta._procrustes": ("ProcrustesMetaEmbedding",),
    "sk_metaembed.meta._svd": ("SVDMetaEmbedding",),
    "sk_metaembed.pooling._common_component": ("CommonComponentRemoval",),
    "sk_metaembed.pooling._pooling": ("Pooling",),
    "sk_metaembed.pooling._random_encoder": ("RandomEncoderPooling",),
    "sk_metaembed.sequences._tokenizer": ("Tokenizer",),
    "sk_metaembed.sources._char_embedding": ("CharEmbedding",),
    "sk_metaembed.sources._elmo": ("ElmoEmbedding",),
    "sk_metaembed.sources._estimator": ("EstimatorEmbedding",),
    "sk_metaembed.sources._fasttext": ("FastTextEmbedding",),
    "sk_metaembed.sources._fine_tuned": ("FineTuned",),
    "sk_metaembed.sources._function": ("FunctionEmbedding",),
    "sk_metaembed.sources._ngrams": ("NgramVectors",),
    "sk_metaembed.sources._oov": ("Filler",),
    "sk_metaembed.sources._opened_characters": ("OpenedCharacters",),
    "sk_metaembed.sources._opened_transformer": ("OpenedTransformer",),
    "sk_metaembed.sources._pretrained": ("PretrainedEmbedding",),
    "sk_metaembed.sources._selector": ("SourceSelector",),
    "sk_metaembed.sources._transformer": ("TransformerEmbedding",),
    "sk_metaembed.sources._union": ("EmbeddingUnion",),
    "sk_metaembed.sources._word2vec": ("Word2VecEmbedding",),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_Scorer", "_MultimetricScorer"),
    "sklearn.model_selection._split": (
        "GroupKFold",
        "GroupShuffleSplit",
        "KFold",
        "LeaveOneGroupOut",
        "LeaveOneOut",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
}
# Named tuples: made by their constructor, which only keeps what it is given.
TUPLES = {
    "sk_metaembed.elmo._options": ("ElmoOptions",),
    "sk_metaembed.elmo._vocabulary": ("Vocabulary",),
    "sk_metaembed.meta._autoencoding": ("Layer",),
    "sk_metaembed.meta._linear": ("SourceMap",),
    "sk_metaembed.meta._neighbors": ("SharedRows",),
    "sk_metaembed.pooling._modes": ("Part",),
    "sk_metaembed.sources._contextual_pass": ("Wanted",),
    "sk_metaembed.sources._elmo_outputs": ("Output",),
    "sk_metaembed.sources._elmo_pass": ("ElmoWanted",),
    "sk_metaembed.sources._preprocess": ("Preprocessing",),
}
# Dictionaries: made empty, then filled.
MAPPINGS = {"sklearn.utils._bunch": ("Bunch",)}

# skops makes one from an empty array, which holds no objects.
DTYPES = {"numpy": ("dtype",)}

# Functions that steps of ours hold: they write numbers into an array they are given.
FUNCTIONS = {
    "sk_metaembed.pooling._dct.write_coefficient",
    "sk_metaembed.pooling._hierarchical.write_window_max",
    "sk_metaembed.pooling._power_means.write_power_mean",
    "sk_metaembed.pooling._reduce.write_first",
    "sk_metaembed.pooling._reduce.write_last",
    "sk_metaembed.pooling._reduce.write_max",
    "sk_metaembed.pooling._reduce.write_mean",
    "sk_metaembed.pooling._reduce.write_min",
    "sk_metaembed.pooling._reduce.write_sum",
}


def names_of(classes):
    """Return the full names of classes that are listed by module."""
    return {f"{module}.{name}" for module, names in classes.items() for name in names}


# By the only kind of node that may make them.
BY_LOADER = {
    "ObjectNode": names_of(OBJECTS),
    "TupleNode": names_of(TUPLES),
    "DictNode": names_of(MAPPINGS),
    "DTypeNode": names_of(DTYPES),
}
TYPES = sorted(set().union(*BY_LOADER.values()))
