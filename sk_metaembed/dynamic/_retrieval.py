"""What can be asked where captions and images have vectors in one space."""

import numpy as np

from ..sequences._parameters import is_integer
from ._image_target import image_codes, read_images
from ._ranks import best_matches, mean_recall, ranks, recall


class RetrievalMixin:
    """Ranks, recalls and the score of an estimator that embeds captions and images."""

    def rank(self, X, images, n=10):
        """Return the images that are most like each caption.

        Every caption is compared with every image. For collections that are asked
        often, keep what `transform_images` gives and search in it.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks that fit saw; tokens or texts if it saw none.
        images : array-like of shape (n_images, n_features)
            The images to choose from.
        n : int, default=10
            How many of them.

        Returns
        -------
        ndarray of int64, shape (n_captions, min(n, n_images))
            Row numbers of `images`, the most alike first.

        See Also
        --------
        recall_at : How good the ranks are, where the right images are known.
        transform_images : Vectors of images alone.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed import DynamicMetaRanker, FunctionEmbedding
        >>> source = FunctionEmbedding(
        ...     lambda words: [[w == "dog", w == "cat"] for w in words]
        ... )
        >>> X, images = source.fit_transform(["dog", "cat"]), np.eye(2)
        >>> ranker = DynamicMetaRanker(
        ...     encoder="mean", shared_dim=4, lr=0.05, max_epochs=10,
        ...     early_stopping=False, random_state=0,
        ... )
        >>> ranker.fit(X, images).rank(X, images, n=1).ravel()
        array([0, 1])
        """
        self._check_rank(n, "n")
        return best_matches(self.transform(X), self.transform_images(images), n)

    def rank_captions(self, images, X, n=10):
        """Return the captions that are most like each image.

        The other direction of `rank`: to tell what is seen in an image by what others
        have said.

        Parameters
        ----------
        images : array-like of shape (n_images, n_features)
            The images that captions are looked for.
        X : EmbeddedSequences
            The captions to choose from, with the blocks that fit saw; tokens or texts
            if it saw none.
        n : int, default=10
            How many of them.

        Returns
        -------
        ndarray of int64, shape (n_images, min(n, n_captions))
            Row numbers of X, the most alike first.

        See Also
        --------
        rank : Images for captions.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed import DynamicMetaRanker, FunctionEmbedding
        >>> source = FunctionEmbedding(
        ...     lambda words: [[w == "dog", w == "cat"] for w in words]
        ... )
        >>> X, images = source.fit_transform(["dog", "cat"]), np.eye(2)
        >>> ranker = DynamicMetaRanker(
        ...     encoder="mean", shared_dim=4, lr=0.05, max_epochs=10,
        ...     early_stopping=False, random_state=0,
        ... )
        >>> ranker.fit(X, images).rank_captions(images[1:], X, n=1).tolist()
        [[1]]
        """
        self._check_rank(n, "n")
        return best_matches(self.transform_images(images), self.transform(X), n)

    def _check_rank(self, value, name):
        if not is_integer(value) or value < 1:
            raise ValueError(
                f"{type(self).__name__}: {name} must be an integer of 1 or more, got "
                f"{value!r}."
            )

    def recall_at(self, X, images, k=(1, 5, 10)):
        """Return how often what belongs together is among the first k, both ways.

        The usual figures of image retrieval. They fall with the number of images, so
        that only those over the same collection compare.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks that fit saw; tokens or texts if it saw none.
        images : array-like of shape (n_captions, n_features)
            The features of each caption's image, as y of `fit`: equal rows are one
            image.
        k : int or tuple of int, default=(1, 5, 10)
            The ranks that are asked for.

        Returns
        -------
        pandas.DataFrame
            A row "image by caption", where each caption looks for its image among
            the distinct ones, and a row "caption by image", where each image looks
            for one of its captions among all. Columns "R@1" and so on, shares in
            [0, 1], and "median rank", from 1.

        See Also
        --------
        score : One number of it.
        rank : The images that are found.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed import DynamicMetaRanker, FunctionEmbedding
        >>> source = FunctionEmbedding(
        ...     lambda words: [[w == "dog", w == "cat"] for w in words]
        ... )
        >>> X, images = source.fit_transform(["dog", "cat"]), np.eye(2)
        >>> ranker = DynamicMetaRanker(
        ...     encoder="mean", shared_dim=4, lr=0.05, max_epochs=10,
        ...     early_stopping=False, random_state=0,
        ... )
        >>> ranker.fit(X, images).recall_at(X, images, k=[1, 2])
                          R@1  R@2  median rank
        image by caption  1.0  1.0          1.0
        caption by image  1.0  1.0          1.0
        """
        import pandas as pd

        ks = np.atleast_1d(k).tolist()
        for each in ks:
            self._check_rank(each, "k")
        columns = [
            {
                **{f"R@{each}": recall(found, each) for each in ks},
                "median rank": float(np.median(found)),
            }
            for found in ranks(*self._belonging(X, images))
        ]
        return pd.DataFrame(columns, index=["image by caption", "caption by image"])

    def score(self, X, y):
        """Return the mean of R@1, R@5 and R@10 in both directions.

        Early stopping follows it, and searches compare candidates by it. Folds of
        different size have scores that do not compare.

        Parameters
        ----------
        X : EmbeddedSequences
            Captions, with the blocks that fit saw; tokens or texts if it saw none.
        y : array-like of shape (n_captions, n_features)
            The features of each caption's image.

        Returns
        -------
        float
            In [0, 1]. It depends on how many images there are to choose from.

        See Also
        --------
        recall_at : The same figures one by one.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed import DynamicMetaRanker, FunctionEmbedding
        >>> source = FunctionEmbedding(
        ...     lambda words: [[w == "dog", w == "cat"] for w in words]
        ... )
        >>> X, images = source.fit_transform(["dog", "cat"]), np.eye(2)
        >>> ranker = DynamicMetaRanker(
        ...     encoder="mean", shared_dim=4, lr=0.05, max_epochs=10,
        ...     early_stopping=False, random_state=0,
        ... )
        >>> ranker.fit(X, images).score(X, images)
        1.0
        """
        return mean_recall(*self._belonging(X, y))

    def _belonging(self, X, images):
        """Return vectors of captions and distinct images, and each caption's image."""
        X = self._read(X, type(self).__name__)
        images = read_images(images, len(X), whose=type(self).__name__)
        if len(X) == 0:
            raise ValueError(f"{type(self).__name__}: there are no captions to score.")
        images, codes = image_codes(images)
        return self.transform(X), self.transform_images(images), codes
