"""A progress bar over tokens."""

from ._sentence_rows import distinct_sentences


def token_bar(source, tokens, read=distinct_sentences):
    """Return a bar that counts tokens of distinct sequences, shown if verbose.

    Parameters
    ----------
    source : estimator
        With parameters `verbose` and `cache`.
    tokens : TokenSequences
    read : callable, default=distinct_sentences
        From tokens to distinct sentences and their places.

    Returns
    -------
    tqdm
        Without a total where a cache may have some of the sequences.
    """
    from tqdm import tqdm

    total = None
    if source.verbose and source.cache is None:
        _, sentences = read(tokens)
        total = sum(map(len, sentences))
    name = type(source).__name__
    return tqdm(total=total, desc=name, unit=" tokens", disable=not source.verbose)
