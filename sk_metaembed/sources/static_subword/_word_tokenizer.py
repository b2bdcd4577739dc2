"""WordTokenizer: the words of texts that a table of word vectors contains.

These are the rules of the tokenizers that sentence-transformers saves with its modules
WordEmbeddings and BoW.
"""

from string import punctuation

import numpy as np

from .._encoder_modules import read_json
from ._piece_tokenizer import SubwordIds

# File of a tokenizer by its class.
CONFIGS = {
    "WhitespaceTokenizer": "whitespacetokenizer_config.json",
    "PhraseTokenizer": "phrasetokenizer_config.json",
}
_MOST_WORDS = 1 << 17  # that are remembered


class WordTokenizer:
    """Split texts at whitespace and look up words: as written, bare, in lowercase.

    A word has the row of the first of these forms that the vocabulary contains, unless
    a form before it is a stop word.

    Parameters
    ----------
    vocabulary : list of str
    stop_words : iterable of str
    do_lower_case : bool
        Whether texts are lower-cased first.

    Attributes
    ----------
    truncation, unknown : None
        Texts have no limit, and unknown words no row.
    n_ids : int
        Number of rows that the vocabulary requires.
    lead : str
    """

    truncation = unknown = None
    lead = ""

    def __init__(self, vocabulary, stop_words=(), do_lower_case=False):
        # As in the library, the last row of a repeated word counts.
        self._rows = {word: row for row, word in enumerate(vocabulary)}
        self._stop_words, self._lowercase = frozenset(stop_words), bool(do_lower_case)
        self.n_ids = len(vocabulary)
        self._found = {}

    def pieces(self, texts):
        """Return the `SubwordIds` of a list of texts: the rows of their known words."""
        found, lists = self._found, []
        for text in texts:
            rows = []
            for word in self._split(text):
                if word in found:
                    row = found[word]
                else:
                    row = self._row(word)
                    if len(found) < _MOST_WORDS:
                        found[word] = row
                if row is not None:
                    rows.append(row)
            lists.append(rows)
        return SubwordIds.of_lists(lists)

    def _split(self, text):
        return (text.lower() if self._lowercase else text).split()

    def _row(self, word):
        """Return the row of a word, None if it has none."""
        for form in self._forms(word):
            if form in self._stop_words:
                return None
            if form in self._rows:
                return self._rows[form]
        return None

    @staticmethod
    def _forms(word):
        """Return the forms in which a word is looked up, in order."""
        bare = word.strip(punctuation)
        return word, bare, bare.lower()


class PhraseTokenizer(WordTokenizer):
    """Split texts as NLTK does, and join words to phrases of the vocabulary.

    Parameters
    ----------
    vocabulary, stop_words
        See `WordTokenizer`.
    separator : str
        Between the words of a phrase in the vocabulary.
    longest : int
        Number of words of the longest phrases.
    """

    def __init__(self, vocabulary, stop_words, separator, longest):
        super().__init__(vocabulary, stop_words)
        try:
            from nltk import word_tokenize
        except ImportError as error:
            raise ImportError(
                "the PhraseTokenizer of this model splits texts with NLTK, which is "
                "not installed: pip install nltk."
            ) from error
        self._words, self._separator = word_tokenize, separator
        self._phrases, lengths = set(), set()
        for word in vocabulary:
            size = word.count(separator) + 1
            if 1 < size <= longest and 2 * separator not in word:
                self._phrases.add(word)
                lengths.add(size)
        self._lengths = sorted(lengths, reverse=True)

    def _split(self, text):
        words = self._words(text, preserve_line=True)
        for size in self._lengths:
            start = 0
            while start <= len(words) - size:
                phrase = self._separator.join(words[start : start + size])
                for form in (phrase, phrase.lower()):
                    if form in self._phrases:
                        words[start : start + size] = [form]
                        break
                start += 1
        return words

    @staticmethod
    def _forms(word):
        low = word.lower()
        bare = low.strip(punctuation)
        return (word, low, bare) if bare else (word, low)


def read_word_tokenizer(path):
    """Return the tokenizer of a file that sentence-transformers saved.

    Raises
    ------
    ValueError
        If the file is corrupt.
    ImportError
        If it needs NLTK, which is not installed.
    """
    content = read_json(path, dict)
    vocabulary, stop_words = content.get("vocab"), content.get("stop_words")
    for name, words in (("vocab", vocabulary), ("stop_words", stop_words)):
        check_words(words, name, path)
    if path.name == CONFIGS["WhitespaceTokenizer"]:
        return WordTokenizer(vocabulary, stop_words, content.get("do_lower_case"))
    separator = content.get("ngram_separator", "_")
    longest = content.get("max_ngram_length", 5)
    if not isinstance(separator, str) or not separator or type(longest) is not int:
        raise ValueError(
            f"{path} is corrupt: expected ngram_separator, a str, and "
            "max_ngram_length, an int."
        )
    return PhraseTokenizer(vocabulary, stop_words, separator, longest)


def check_words(words, name, path):
    """Raise ValueError unless something in a file is a list of str."""
    if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise ValueError(f"{path} is corrupt: {name!r} must be a list of strings.")


def word_weights(options, vocabulary, path):
    """Return the weight of each word of a vocabulary, float64 (n_words,).

    `options` are those of WordWeights or BoW in the file at `path`. A word without a
    weight has that of its lowercase, or the weight of unknown words. The options of a
    loaded model have the weights themselves.
    """
    weights = options.get("word_weights") or {}
    other = options.get("unknown_word_weight", 1)
    try:
        if "weights" in options:
            return np.array(options["weights"], dtype=np.float64).reshape(-1)
        found = [weights.get(w, weights.get(w.lower(), other)) for w in vocabulary]
        return np.array(found, dtype=np.float64)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is corrupt: 'word_weights' must be numbers by word."
        ) from error
