"""What a SourceSelector tells of its choice: a mask, a table, names."""

import numpy as np
from sklearn.utils.validation import check_is_fitted


class Selection:
    """What is read off the attributes of a fitted SourceSelector."""

    def get_support(self, indices=False):
        """Return which sources are kept.

        The name is that of scikit-learn's selectors, so that what reads these reads
        this one.

        Parameters
        ----------
        indices : bool, default=False
            Positions in `source_names_in_` rather than a mask.

        Returns
        -------
        ndarray of bool, shape (n_sources_in,), or of int
            The mask, or the positions of what is kept.

        See Also
        --------
        SourceSelector.transform : Keeps them.
        SourceSelector.frame : What the choice rests on.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> from sk_metaembed import SourceSelector, TokenClassifier
        >>> tokens = TokenSequences.from_lists([["in", "Rome"]] * 5)
        >>> blocks = [Block("a", [[1], [1]], "type"), Block("name", [[0], [1]], "type")]
        >>> X, y = EmbeddedSequences(tokens, blocks), [["O", "B"]] * 5
        >>> selector = SourceSelector(TokenClassifier(LogisticRegression())).fit(X, y)
        >>> selector.get_support(), selector.get_support(indices=True)
        (array([False,  True]), array([1]))
        """
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def frame(self):
        """Return the order of choice and the score at each step as a table.

        It tells whether the last sources were worth their while: where the mean score
        hardly rises, fewer sources would do. `history_` holds the scores of those not
        taken, too.

        Returns
        -------
        pandas.DataFrame
            One row a step, numbered from 1, with the columns "source", "n_sources"
            (left after the step), "mean_score", "std_score", "taken" and "sources".

        See Also
        --------
        SourceSelector.fit : Makes the choice.
        sk_metaembed.inspection.grid_results : The same for a grid search.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> from sk_metaembed import SourceSelector, TokenClassifier
        >>> tokens = TokenSequences.from_lists([["in", "Rome"]] * 5)
        >>> blocks = [Block("a", [[1], [1]], "type"), Block("name", [[0], [1]], "type")]
        >>> X, y = EmbeddedSequences(tokens, blocks), [["O", "B"]] * 5
        >>> selector = SourceSelector(TokenClassifier(LogisticRegression())).fit(X, y)
        >>> selector.frame()[["source", "mean_score", "taken"]]
             source  mean_score  taken
        step
        1      name         1.0   True
        """
        import pandas as pd

        check_is_fitted(self)
        columns = ("source", "n_sources", "mean_score", "std_score", "taken", "sources")
        rows = [{**step, "n_sources": len(step["sources"])} for step in self.history_]
        index = pd.RangeIndex(1, len(rows) + 1, name="step")
        return pd.DataFrame(rows, index=index, columns=list(columns))

    def get_feature_names_out(self, input_features=None):
        """Return a name for each dimension that is kept.

        A Pipeline passes what the sources call their dimensions, and so the names that
        come out tell where a column stems from.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all dimensions that come in, as the sources give them. None makes
            them of the block's name and a number, ``block__0``.

        Returns
        -------
        ndarray of str objects
            Those of the blocks that are kept.

        See Also
        --------
        SourceSelector.get_support : Sources in place of dimensions.
        EmbeddingUnion.get_feature_names_out : Where the names come from.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> from sk_metaembed import SourceSelector, TokenClassifier
        >>> tokens = TokenSequences.from_lists([["in", "Rome"]] * 5)
        >>> blocks = [Block("a", [[1], [1]], "type"), Block("name", [[0], [1]], "type")]
        >>> X, y = EmbeddedSequences(tokens, blocks), [["O", "B"]] * 5
        >>> selector = SourceSelector(TokenClassifier(LogisticRegression())).fit(X, y)
        >>> selector.get_feature_names_out()
        array(['name__0'], dtype=object)
        """
        check_is_fitted(self)
        if input_features is None:
            names = [
                f"{b}__{i}" for b, dim in self.dims_in_.items() for i in range(dim)
            ]
        else:
            names = list(input_features)
        width = sum(self.dims_in_.values())
        if len(names) != width:
            raise ValueError(
                f"SourceSelector: input_features should have length equal to the "
                f"number of dimensions, {width}; got {len(names)}."
            )
        mask = np.repeat(
            [block in self.blocks_ for block in self.dims_in_],
            list(self.dims_in_.values()),
        )
        return np.array(names, dtype=object)[mask]
