"""DynamicMetaRanker: captions and images in a shared space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._checked_parameters import is_integer
from ..sequences import SequencePairs
from ._base import BaseDynamicMeta
from ._options import TRAIN_OPTIONS
from ._parameters import Attention, Encoder, MixerOptionsDict, describe
from ._retrieval import (
    ImageTarget,
    best_matches,
    image_codes,
    mean_recall,
    ranks,
    read_images,
    recall,
    split_images,
)
from ._trainable import TransformingMixin
from .training._plan import scaled

_IMAGES_PER_BATCH = 4096
if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .._core._typing import RandomState
    from ._trainable import Input


_ENTRIES = {
    "encoder_dim": """encoder_dim : int or tuple of int, default=512
    Size of the recurrent layer (one direction), or sizes of stacked layers.""",
    "hidden_dims": """hidden_dims : tuple of int, default=()
    Sizes of hidden layers between the encoder and the shared space.""",
    "early_stopping": """early_stopping : bool or "auto", default="auto"
    Hold out a part of the images with all their captions, monitor the mean of R@1,
    R@5 and R@10 in both directions, and restore the weights of the best epoch. False
    trains on all data for `max_epochs` at a constant learning rate. "auto" holds out
    a part of 5,000 captions or more.""",
    "validation_fraction": """validation_fraction : float, default=0.1
    Fraction of the images to hold out. ``fit`` also accepts `X_val`.""",
    "class_weight": None,
}


@describe(_ENTRIES, encoder="bilstm-max", hidden_dims="()", lr="4e-4", batch_size="128")
class DynamicMetaRanker(TransformingMixin, BaseDynamicMeta):
    r"""Retrieve images by captions and captions by images.

    The fourth task of the paper [1]_: the words of a caption are mixed and encoded as
    in `DynamicMetaClassifier`, and the precomputed features of its image are mapped
    linearly. Both become vectors of length one in a shared space, trained so that a
    caption is more similar to its own image than to others, and an image more similar
    to its own captions. Anything with feature vectors can take the place of images.

    Parameters
    ----------
    %(common)s
    shared_dim : int, default=512
        Dimension of the shared space.
    margin : float, default=0.2
        Difference in cosine similarity that a matching pair must have over others.
    negatives : {"sum", "hardest"}, default="sum"
        Whether the loss sums over all captions and images of a batch that do not
        match, or uses only the most similar ones [2]_, which is harder to train and
        often better in the end.

    Attributes
    ----------
    %(attributes)s
    n_image_features_ : int
        Number of features of an image in fit.

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences, unless all sources are trainable.
    ValueError
        If y is missing, not numeric or has missing values, or if the blocks of X are
        not those of fit.

    See Also
    --------
    DynamicMetaClassifier : The same network for labels.

    Notes
    -----
    y has one row per caption, the features of its image. Captions with equal rows are
    captions of one image and never count as negatives for each other. From a table of
    images it is ``features[image_of_caption]``. Cross-validation keeps the captions of
    an image together with ``cv=GroupKFold(), groups=image_of_caption``. Features are
    standardized by mean and scale of the distinct training images.

    With the cosine :math:`s` of captions :math:`c` and images :math:`v`, the loss of a
    caption and its image is

    .. math:: \sum_{v'} [m - s(c, v) + s(c, v')]_+ +
              \sum_{c'} [m - s(c, v) + s(c', v)]_+

    over the other images and captions of the batch, or their maximum.

    A caption without known words has the zero vector, with similarity 0 to all images.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.
    .. [2] F. Faghri, D. J. Fleet, J. R. Kiros, S. Fidler. "VSE++: Improving
       Visual-Semantic Embeddings with Hard Negatives". BMVC 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, DynamicMetaRanker, EmbeddedSequences
    >>> from sk_metaembed import TokenSequences
    >>> words = ["dog", "cat", "tree", "boat"]
    >>> tokens = TokenSequences.from_lists([["a", word] for word in words] * 10)
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(5), "type")])
    >>> images = np.eye(4)
    >>> ranker = DynamicMetaRanker(
    ...     projection_dim=8,
    ...     encoder="mean",
    ...     shared_dim=8,
    ...     lr=0.02,
    ...     max_epochs=20,
    ...     early_stopping=False,
    ...     random_state=0,
    ... )
    >>> ranker.fit(X, np.tile(images, (10, 1))).rank(X[:4], images, n=1).ravel()
    array([0, 1, 2, 3])
    >>> ranker.recall_at(X[:4], images, k=1)["R@1"].tolist()
    [1.0, 1.0]
    """

    _parameter_constraints: dict = {
        **BaseDynamicMeta._parameter_constraints,
        "shared_dim": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "negatives": [StrOptions({"sum", "hardest"})],
    }
    del _parameter_constraints["class_weight"]
    # The loss compares all rows of a batch, which cannot be computed in parts.
    _train_options = TRAIN_OPTIONS.without("micro_batch_size")

    def __init__(
        self,
        attention: Attention = "word",
        *,
        trainable: Any = None,
        gate: Literal["softmax", "sigmoid"] = "softmax",
        projection_dim: int | None = 256,
        activation: Literal["relu"] | None = "relu",
        layer_norm: bool = False,
        mix_penalty: float = 0.0,
        mixer_options: MixerOptionsDict = None,
        encoder: Encoder = "bilstm-max",
        encoder_dim: int | Sequence[int] = 512,
        hidden_dims: Sequence[int] = (),
        embedding_dropout: float = 0.2,
        encoder_dropout: float = 0.0,
        head_dropout: float = 0.2,
        lr: float = 4e-4,
        batch_size: int = 128,
        max_epochs: int | Literal["auto"] = "auto",
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        patience: int = 3,
        train_options: dict[str, Any] | None = None,
        device: str = "auto",
        callbacks: Sequence[Any] | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        verbose: int = 0,
        shared_dim: int = 512,
        margin: float = 0.2,
        negatives: Literal["sum", "hardest"] = "sum",
    ) -> None:
        super().__init__(
            attention,
            trainable=trainable,
            gate=gate,
            projection_dim=projection_dim,
            activation=activation,
            layer_norm=layer_norm,
            mix_penalty=mix_penalty,
            mixer_options=mixer_options,
            encoder=encoder,
            encoder_dim=encoder_dim,
            hidden_dims=hidden_dims,
            embedding_dropout=embedding_dropout,
            encoder_dropout=encoder_dropout,
            head_dropout=head_dropout,
            lr=lr,
            batch_size=batch_size,
            max_epochs=max_epochs,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            patience=patience,
            train_options=train_options,
            device=device,
            callbacks=callbacks,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        del self.class_weight  # there are no classes
        self.shared_dim = shared_dim
        self.margin = margin
        self.negatives = negatives

    def transform(self, X: Input) -> NDArray[np.float32]:
        """Return the vectors of captions in the shared space.

        Their products with vectors of `transform_images` are cosine similarities, so
        that any nearest-neighbor index can search them.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of float32, shape (n_captions, shared_dim)
            Of length one; zeros if no source knows a word of the caption.
        """
        from .training._predict import run_sequences

        data = self._data(X)
        net, dim = self.net_, self._target.n_outputs
        vectors = run_sequences(net, data, net.module_, dim)
        return np.where(data.known_sequences()[:, None], vectors, np.float32(0))

    def transform_images(self, images: ArrayLike) -> NDArray[np.float32]:
        """Return the vectors of images in the shared space.

        Captions are not needed, so the images of a collection can be mapped once.

        Parameters
        ----------
        images : array-like of shape (n_images, n_features)
            Features, which are standardized as in fit.

        Returns
        -------
        ndarray of float32, shape (n_images, shared_dim)
            Of length one.
        """
        import torch

        check_is_fitted(self, "net_")
        features = check_array(images, dtype=np.float32, input_name="images")
        features = self._target.standardized(features, caller=type(self).__name__)
        net, results = self.net_, []
        net.module_.eval()
        with torch.inference_mode():
            for start in range(0, len(features), _IMAGES_PER_BATCH):
                part = torch.from_numpy(features[start : start + _IMAGES_PER_BATCH])
                vectors = net.module_.image_vectors(part.to(net.device))
                results.append(vectors.cpu().numpy())
        return np.concatenate(results)

    def rank(self, X: Input, images: ArrayLike, n: int = 10) -> NDArray[np.int64]:
        """Return the most similar images of each caption.

        Every caption is compared with every image. For repeated queries over a large
        collection, compute `transform_images` once and search in its output.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks of fit; tokens or texts if fit saw no blocks.
        images : array-like of shape (n_images, n_features)
            The images to search.
        n : int, default=10
            Number of images per caption.

        Returns
        -------
        ndarray of int64, shape (n_captions, min(n, n_images))
            Row numbers of `images`, the most similar first.
        """
        self._check_rank(n, "n")
        return best_matches(self.transform(X), self.transform_images(images), n)

    def rank_captions(
        self, images: ArrayLike, X: Input, n: int = 10
    ) -> NDArray[np.int64]:
        """Return the most similar captions of each image.

        Parameters
        ----------
        images : array-like of shape (n_images, n_features)
            The images to describe.
        X : EmbeddedSequences
            The captions to search, with the blocks of fit; tokens or texts if fit saw
            no blocks.
        n : int, default=10
            Number of captions per image.

        Returns
        -------
        ndarray of int64, shape (n_images, min(n, n_captions))
            Row numbers of X, the most similar first.
        """
        self._check_rank(n, "n")
        return best_matches(self.transform_images(images), self.transform(X), n)

    def recall_at(
        self, X: Input, images: ArrayLike, k: int | Sequence[int] = (1, 5, 10)
    ) -> pd.DataFrame:
        """Return recall at k and the median rank, in both directions.

        They depend on the number of images, so only figures over the same collection
        are comparable.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks of fit; tokens or texts if fit saw no blocks.
        images : array-like of shape (n_captions, n_features)
            The features of each caption's image, as y of `fit`: equal rows are one
            image.
        k : int or tuple of int, default=(1, 5, 10)
            Number of results that are considered.

        Returns
        -------
        pandas.DataFrame
            The row "image by caption" is over captions, each searching its image among
            the distinct images; the row "caption by image" is over images, each
            searching one of its captions among all. Columns are "R@1" and so on, in
            [0, 1], and "median rank", from 1.
        """
        import pandas as pd

        ks = np.atleast_1d(k).tolist()
        for each in ks:
            self._check_rank(each, "k")
        rows = [
            {
                **{f"R@{each}": recall(of_one, each) for each in ks},
                "median rank": float(np.median(of_one)),
            }
            for of_one in ranks(*self._matching(X, images))
        ]
        return pd.DataFrame(rows, index=["image by caption", "caption by image"])

    def score(self, X: Input, y: ArrayLike) -> float:
        """Return the mean of R@1, R@5 and R@10 in both directions.

        Early stopping monitors it and searches compare candidates by it. Scores of
        folds of different sizes are not comparable.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks of fit; tokens or texts if fit saw no blocks.
        y : array-like of shape (n_captions, n_features)
            The features of each caption's image.

        Returns
        -------
        float
            In [0, 1].
        """
        return mean_recall(*self._matching(X, y))

    def _matching(self, X, images):
        """Return vectors of captions and distinct images, and each caption's image."""
        X = self._read(X, type(self).__name__)
        images = read_images(images, len(X), caller=type(self).__name__)
        if len(X) == 0:
            raise ValueError(f"{type(self).__name__}: there are no captions to score.")
        images, codes = image_codes(images)
        return self.transform(X), self.transform_images(images), codes

    def _check_rank(self, value, name):
        if not is_integer(value) or value < 1:
            raise ValueError(
                f"{type(self).__name__}: {name} must be an integer of 1 or more, got "
                f"{value!r}."
            )

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return one name per dimension of the shared space.

        Parameters
        ----------
        input_features : ignored
            The dimensions of the output are new ones.

        Returns
        -------
        ndarray of object
            "shared" and a number.
        """
        check_is_fitted(self, "net_")
        dim = self._target.n_outputs
        return np.asarray([f"shared{i}" for i in range(dim)], dtype=object)

    @property
    def n_image_features_(self) -> int:
        """The number of features of an image in fit."""
        return self._target.n_features

    def _read_target(self, y, X, *, caller):
        if isinstance(X, SequencePairs):
            raise TypeError(
                f"{caller} takes single captions, got {X!r}. Pass X.first or X.second."
            )
        return read_images(y, len(X), caller=caller)

    def _make_target(self, y, classes, weights):
        return ImageTarget(y, self.shared_dim, (self.negatives, self.margin))

    def _check_unchanged(self, X):
        super()._check_unchanged(X)
        loss = (self.negatives, self.margin)
        if loss != self._target.loss:
            raise ValueError(
                f"{type(self).__name__} continues with the net of the last fit, whose "
                f"negatives and margin are {self._target.loss}, but the parameters are "
                f"{loss}. Reset them, use warm_start=False, or fit a clone."
            )

    def _weights(self, y, weights):
        return scaled(weights)

    def _split(self, plan):
        # All captions of an image in one part: its features are in the training data.
        codes, fraction = image_codes(plan.y)[1], self.validation_fraction
        return split_images(codes, plan.weights, fraction, plan.random_state)

    def _torch_parts(self):
        from .nets._ranking import RankingLoss, RankingNet, ValidRecall

        return RankingNet, RankingLoss, ValidRecall()

    def _specific_parameters(self):
        return {
            "encoder": self.encoder,
            "n_features": self._target.n_features,
            "n_outputs": self.shared_dim,
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.transformer_tags.preserves_dtype = []  # no dtype comes in
        return tags
