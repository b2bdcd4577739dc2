"""OccurrencesDisplay: what displays of a word's occurrences begin with."""

from ._chosen import check_embedded, last_embedded
from ._occurrences import in_context, occurrence_vectors, occurrences
from ._senses import check_number_of


class OccurrencesDisplay:
    """Ways to choose whose occurrences are shown; a leaf has `from_vectors`."""

    @classmethod
    def from_estimator(cls, estimator, X, words, **options):
        """Embed sequences with a fitted estimator, and show a word's occurrences.

        Whole texts are embedded, so that a contextual source sees what stands beside
        the word. For several words in turn embed once and take `from_embedded`.

        Parameters
        ----------
        estimator : fitted estimator
            A source, a union, a meta-embedder; or a Pipeline with such steps, a search
            (its ``best_estimator_`` is taken), or a ColumnTransformer or FeatureUnion
            with one such branch. Shown is the last EmbeddedSequences on the way: steps
            after it, such as `Pooling` and a classifier, are ignored.
        X : what the estimator takes
            Such as texts, token lists or TokenSequences. If the estimator takes a
            table, the texts alone are enough.
        words : str, collection of str, or callable
            As for `from_embedded`.
        **options
            Passed on to `from_embedded`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        TypeError
            If there are no EmbeddedSequences.
        ValueError
            If several branches give some; the message says how to pass one of them.

        See Also
        --------
        from_embedded : Takes what is embedded already.
        SenseProjectionDisplay : What a leaf draws.

        Examples
        --------
        >>> from sk_metaembed import FunctionEmbedding
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> texts = ["river bank", "bank loan"]
        >>> words = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
        >>> words = words.fit(texts)
        >>> SenseProjectionDisplay.from_estimator(words, texts, "bank").labels
        ['river bank', 'bank loan']
        """
        embedded = last_embedded(estimator, X, cls.__name__)
        return cls.from_embedded(embedded, words, **options)

    @classmethod
    def from_embedded(
        cls, embedded, words, *, senses=None, blocks=None, labels=None, **options
    ):
        """Show the occurrences of a word in embedded sequences.

        Senses are given by hand, in the order of the text: call it without them first,
        and read the occurrences off `labels`.

        Parameters
        ----------
        embedded : EmbeddedSequences
            With one block or more.
        words : str, collection of str, or callable
            The word, letter by letter; or several, such as its inflections, each of
            which must occur; or a function that takes a word and tells whether it is
            meant. All their occurrences are taken, 1000 at most, in the order of the
            text, several of one sequence too.
        senses : sequence of length n, default=None
            The sense of each occurrence.
        blocks : sequence of str, default=None
            The blocks to show, in this order. None takes all.
        labels : sequence of str, length n, default=None
            What to call the occurrences. None takes each with the words beside it, and
            adds (sequence, position) where these are there more than once.
        **options
            Passed on to `from_vectors`.

        Returns
        -------
        SenseProjectionDisplay
            Plotted.

        Raises
        ------
        ValueError
            If a word does not occur or a source does not know it, or senses and
            occurrences differ in number.

        See Also
        --------
        from_estimator : Embeds texts first.
        SimilarityDisplay.from_embedded : Each occurrence against each other.

        Examples
        --------
        >>> from sk_metaembed import FunctionEmbedding
        >>> from sk_metaembed.inspection import SenseProjectionDisplay
        >>> texts = ["river bank", "bank loan"]
        >>> words = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
        >>> display = SenseProjectionDisplay.from_embedded(
        ...     words.fit_transform(texts), "bank", senses=["shore", "money"]
        ... )
        >>> display.frame()[["label", "sense"]]
                label  sense
        0  river bank  shore
        1   bank loan  money
        """
        whose = cls.__name__
        check_embedded(embedded, whose)
        places = occurrences(embedded.tokens, words, whose)
        shown = in_context(embedded.tokens, places)
        vectors = occurrence_vectors(embedded, blocks, places, shown, whose)
        check_number_of("senses", senses, shown, whose)
        check_number_of("labels", labels, shown, whose)
        labels = shown if labels is None else labels
        return cls.from_vectors(vectors, labels, senses=senses, **options)
