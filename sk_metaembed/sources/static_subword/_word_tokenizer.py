"""WordTokenizer: the words of texts that a table of word vectors contains.

These are the rules of the WhitespaceTokenizer that sentence-transformers saves with its
module WordEmbeddings.
"""

from functools import lru_cache
from string import punctuation

from .._encoder_modules import read_json
from ._piece_tokenizer import SubwordIds

CONFIG = "whitespacetokenizer_config.json"


class WordTokenizer:
    """Split texts at whitespace and look up words: as written, bare, in lowercase.

    A word has the row of the first of these forms that the vocabulary contains, unless
    a form before it is a stop word.

    Parameters
    ----------
    vocabulary : list of str
    stop_words : list of str
    do_lower_case : bool
        Whether texts are lower-cased first.
    """

    truncation = unknown = None  # texts have no limit, and unknown words no row
    lead = ""

    def __init__(self, vocabulary, stop_words, do_lower_case):
        # As in the library, the last row of a repeated word counts.
        self._rows = {word: row for row, word in enumerate(vocabulary)}
        self._stop_words, self._lowercase = frozenset(stop_words), bool(do_lower_case)
        self.n_ids = len(vocabulary)
        self._row = lru_cache(1 << 17)(self._find)

    def pieces(self, texts):
        """Return the `SubwordIds` of a list of texts: the rows of their known words."""
        if self._lowercase:
            texts = [text.lower() for text in texts]
        rows = [map(self._row, text.split()) for text in texts]
        return SubwordIds.of_lists(
            [[r for r in each if r is not None] for each in rows]
        )

    def _find(self, word):
        """Return the row of a word, None if it has none."""
        bare = word.strip(punctuation)
        for form in (word, bare, bare.lower()):
            if form in self._stop_words:
                return None
            if form in self._rows:
                return self._rows[form]
        return None


def read_word_tokenizer(path):
    """Return the tokenizer of a file of sentence-transformers."""
    content = read_json(path, dict)
    for name in ("vocab", "stop_words"):
        words = content.get(name)
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
            raise ValueError(f"{path} is corrupt: {name!r} must be a list of strings.")
    lowercase = content.get("do_lower_case")
    return WordTokenizer(content["vocab"], content["stop_words"], lowercase)
