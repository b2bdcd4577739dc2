"""Properties of a TokenSequences: facts about its rows, and counts."""

import numpy as np


class TokenCounts:
    """Facts about the rows, and numbers that follow from types, codes and offsets."""

    __slots__ = ()

    @property
    def index(self):
        """Labels of the rows, the index of the Series or DataFrame they came from.

        None if they came from anything else. With ``set_output(transform="pandas")``
        it is the index of every DataFrame made of the sequences, so that columns are
        joined row by row.

        See Also
        --------
        TokenSequences : Takes an index of your own.

        Examples
        --------
        >>> import pandas as pd
        >>> from sk_metaembed import Tokenizer
        >>> texts = pd.Series(["to be", "or not"], index=["b", "a"])
        >>> Tokenizer().transform(texts)[1:].index
        Index(['a'], dtype=...)
        """
        return self._rows.index

    @property
    def missing(self):
        """Which rows were missing, bool of shape (n_sequences,), or None if unknown.

        Missing rows are empty sequences. They are recorded by steps with
        ``missing="empty"``.

        See Also
        --------
        Pooling : Makes a column of it, with ``add_indicator=True``.

        Examples
        --------
        >>> from sk_metaembed import Tokenizer
        >>> Tokenizer(missing="empty").transform(["to be", None]).missing
        array([False,  True])
        """
        return self._rows.missing

    @property
    def texts(self):
        """The texts that the tokens were split from, as they were written, or None.

        Sources whose vectors depend on case, punctuation or context read these in
        place of the tokens. Token lists have no texts.

        See Also
        --------
        TokenSequences.spans : Where the tokens are in them.

        Examples
        --------
        >>> from sk_metaembed import Tokenizer
        >>> Tokenizer().transform(["To be!"]).texts
        array(['To be!'], dtype=object)
        """
        return self._rows.texts

    def spans(self):
        """Return where each token is in `texts`.

        They are computed at each call. A token that a callable `tokenizer` invented
        and that does not occur in the text has none.

        Returns
        -------
        ndarray of int32, shape (n_tokens, 2), or None
            First character and the one after the last; -1 where there is none. None if
            `texts` is None.

        See Also
        --------
        TokenSequences.texts : The texts.

        Examples
        --------
        >>> from sk_metaembed import Tokenizer
        >>> tokens = Tokenizer().transform(["To be!"])
        >>> [tokens.texts[0][start:end] for start, end in tokens.spans()]
        ['To', 'be']
        """
        return None if self.texts is None else self._rows.spans(self)

    @property
    def shape(self):
        """``(n_sequences,)``, as scikit-learn's splitters ask for it.

        There is no second number, since sequences differ in length.

        See Also
        --------
        TokenSequences.lengths : The number of tokens of each.
        TokenSequences.n_tokens : The sum of these.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> TokenSequences.from_lists([["to", "be"], ["be"]]).shape
        (2,)
        """
        return (len(self),)

    @property
    def n_types(self):
        """Number of rows of `types`; a subset may leave some unused.

        A subset shares the table of the whole, so that codes and type-level vectors
        stay valid.

        See Also
        --------
        TokenSequences.type_counts : Tells which are used.
        TokenSequences.compact : Leaves out the others.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> tokens = TokenSequences.from_lists([["to", "be"], ["be"]])
        >>> tokens.n_types, tokens[1:].n_types
        (2, 2)
        """
        return len(self.types)

    @property
    def n_tokens(self):
        """Number of tokens over all sequences.

        A token counts as often as it occurs; what does not depend on context is
        computed `n_types` times instead.

        See Also
        --------
        TokenSequences.n_types : Number of distinct tokens.
        TokenSequences.lengths : Number of tokens by sequence.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> TokenSequences.from_lists([["to", "be"], ["be"]]).n_tokens
        3
        """
        return len(self.codes)

    @property
    def lengths(self):
        """Number of tokens of each sequence, int64 of shape (n_sequences,).

        Empty sequences have length 0. It is computed from `offsets` at each call.

        See Also
        --------
        TokenSequences.n_tokens : The sum.
        TokenSequences.segment_ids : For each token, its sequence.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> TokenSequences.from_lists([["to", "be"], [], ["be"]]).lengths
        array([2, 0, 1])
        """
        return np.diff(self.offsets)

    def type_counts(self):
        """Count the occurrences of each type.

        Word frequencies, for weights by frequency and to see what a corpus is made of.

        Returns
        -------
        ndarray of int64, shape (n_types,)
            Zero for types that a subset leaves unused.

        See Also
        --------
        TokenSequences.n_types : The length of the result.
        TokenSequences.compact : Leaves out types that do not occur.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> tokens = TokenSequences.from_lists([["to", "be"], ["be"]])
        >>> dict(zip(tokens.types, tokens.type_counts().tolist()))
        {'to': 1, 'be': 2}
        """
        return np.bincount(self.codes, minlength=self.n_types)

    def segment_ids(self):
        """Return the row of the sequence that each token stands in.

        For sums over sequences in one go: ``np.bincount`` takes it as it is.

        Returns
        -------
        ndarray of int64, shape (n_tokens,)
            Ascending.

        See Also
        --------
        TokenSequences.lengths : How often each row occurs.
        Pooling : Means and other summaries of each sequence.

        Examples
        --------
        >>> from sk_metaembed import TokenSequences
        >>> TokenSequences.from_lists([["to", "be"], ["be"]]).segment_ids()
        array([0, 0, 1])
        """
        return np.repeat(np.arange(len(self)), self.lengths)
