"""Aligner: from words and texts to the pieces of a model's tokenizer, and back."""

import warnings
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from ..contextual._sentences import OriginalText, overlapping, text_of

_PROBES = ("a", "the", "1", ".")
_PROBE_WORDS = ("The", "sun", "a", "1", "b")  # show whether spaces are lost
_UNKNOWN_WORD = 3 * "\ue000"  # of a private character, which some tokenizers drop
_WORDS_PER_BATCH = 50_000
_EXAMPLES = 5
_BETWEEN = "||"  # texts; no space, and as long as a piece reaches beyond its text
# Whether a character is a space, by its code point; none beyond is.
_SPACES = np.array([chr(code).isspace() for code in range(0x3002)])


class Pieces(NamedTuple):
    """The pieces of a sentence, without the special tokens around it.

    A piece may belong to several words, or to none.
    """

    ids: np.ndarray
    n_prefix: int  # pieces of the prefix, before all others
    at: np.ndarray  # positions of the pieces that belong to words, grouped by word
    words: np.ndarray  # the word of each of these positions


class Frame(NamedTuple):
    """The special tokens around a text, each an ``(id, type)``."""

    left: tuple = ()
    right: tuple = ()
    type: int = 0  # of the text's own pieces
    typed: bool = False  # whether the tokenizer returns types at all
    cls: int | None = None  # index of the classification token, negative in `right`
    cuts_left: bool = False  # whether long texts lose their first pieces


class Aligner:
    """Split sentences into pieces, and find the words of each piece.

    A fast tokenizer is called with whole texts, in which the words of a list are joined
    by spaces. It returns the offsets of each piece, by which pieces are assigned to
    words. A tokenizer that returns no offsets, or does not split texts at spaces, is
    called with single words, each after a space if it preserves spaces.

    Parameters
    ----------
    tokenizer : transformers tokenizer
    prefix : str, default=""
        Text before every sentence, for example "query: ".

    Attributes
    ----------
    frame : Frame
    has_offsets : bool
        Whether pieces are assigned to words by their characters.
    n_prompt : int
        Number of pieces of the prefix and the special tokens before it; 0 without.
    overhead : int
        Maximum number of pieces around a sentence: special tokens and prefix.
    """

    def __init__(self, tokenizer, prefix=""):
        self.tokenizer, self.prefix = tokenizer, prefix
        self.has_offsets = _has_offsets(tokenizer)
        self._space = "" if self.has_offsets else _space_of(tokenizer)
        self.frame = _frame_of(tokenizer)
        [prefix_ids] = _encode(tokenizer, [prefix])["input_ids"]
        self._prefix_ids = np.array(prefix_ids, dtype=np.int64)
        n_prefix = len(self._prefix_ids)
        self.n_prompt = len(self.frame.left) + n_prefix if prefix else 0
        self.overhead = len(self.frame.left) + n_prefix + len(self.frame.right)
        # A cache: all candidates of a search check the words of the same folds.
        self._readable = {}

    def encode(self, sentences, *, as_text=False):
        """Return the Pieces of each sentence.

        Parameters
        ----------
        sentences : list of OriginalText, or of sequences of str
            Original texts with places of tokens require `has_offsets`.
        as_text : bool, default=False
            Whether no pieces are assigned to words. The words of a list are then joined
            by spaces.
        """
        if not sentences:
            return []
        if as_text:
            return self._whole(sentences)
        if self.has_offsets:
            return self._by_characters(sentences)
        return self._word_by_word(sentences)

    def encode_words(self, words):
        """Return the ids of the pieces that each word has within a text."""
        pieces = self.encode([("a", word) for word in words])
        return [p.ids[p.at[p.words == 1]] for p in pieces]

    def readable(self, words):
        """Return per word whether the tokenizer knows a piece of it, (n_words,)."""
        new = [word for word in words if word not in self._readable]
        for start in range(0, len(new), _WORDS_PER_BATCH):
            part = new[start : start + _WORDS_PER_BATCH]
            known = are_readable(self.encode_words(part), self.tokenizer)
            self._readable.update(zip(part, known.tolist(), strict=True))
        return np.array([self._readable[word] for word in words], dtype=bool)

    def _by_characters(self, sentences):
        pairs = [
            (s.text, s.spans) if isinstance(s, OriginalText) else _joined(s)
            for s in sentences
        ]
        texts = [self.prefix + encodable(text) for text, _ in pairs]
        encoded = _encode(self.tokenizer, texts, return_offsets_mapping=True)
        n_pieces = [len(row) for row in encoded["input_ids"]]
        n_words = [len(spans) for _, spans in pairs]
        begins, offsets = _in_one_text(texts, encoded["offset_mapping"], n_pieces)
        begins += len(self.prefix)
        words = np.concatenate([spans for _, spans in pairs]).astype(np.int64)
        shifted = words + np.repeat(begins, n_words)[:, None]
        at, owners = overlapping(np.where(words < 0, -1, shifted), offsets)
        is_prefix = offsets[:, 1] <= np.repeat(begins, n_pieces)
        # The first of each text; the last entry is the number of all.
        first_pieces, first_words = _begins(n_pieces), _begins(n_words)
        n_prefix = np.diff(_begins(is_prefix)[first_pieces])
        cuts = np.searchsorted(owners, first_words)
        return [
            Pieces(np.array(ids, np.int64), n, at[i:j] - piece, owners[i:j] - word)
            for ids, n, piece, word, (i, j) in zip(
                encoded["input_ids"],
                n_prefix.tolist(),
                first_pieces[:-1].tolist(),
                first_words[:-1].tolist(),
                pairwise(cuts.tolist()),
                strict=True,
            )
        ]

    def _whole(self, sentences):
        """Return the pieces of texts, not of their words."""
        texts = [self.prefix + encodable(text_of(s)) for s in sentences]
        none, result = np.zeros(0, dtype=np.int64), []
        for ids in _encode(self.tokenizer, texts)["input_ids"]:
            ids = np.array(ids, dtype=np.int64)
            shared = ids[: len(self._prefix_ids)]
            # The last piece of the prefix may be part of the text's first piece.
            differs = shared != self._prefix_ids[: len(shared)]
            n_prefix = int(differs.argmax()) if differs.any() else len(shared)
            result.append(Pieces(ids, n_prefix, none, none))
        return result

    def _word_by_word(self, sentences):
        texts = [
            self._with_spaces([encodable(w) for w in words]) for words in sentences
        ]
        distinct = list(dict.fromkeys(w for words in texts for w in words if w))
        rows = _encode(self.tokenizer, distinct)["input_ids"] if distinct else []
        pieces = {"": [], **dict(zip(distinct, rows, strict=True))}
        n_prefix, result = len(self._prefix_ids), []
        for words in texts:
            owners = np.arange(len(words)).repeat([len(pieces[word]) for word in words])
            ids = np.array([id_ for word in words for id_ in pieces[word]], np.int64)
            at = np.arange(n_prefix, n_prefix + len(ids))
            ids = np.concatenate([self._prefix_ids, ids])
            result.append(Pieces(ids, n_prefix, at, owners))
        return result

    def _with_spaces(self, words):
        """Return words with a space before all but the first, and the empty ones."""
        first = next((i for i, word in enumerate(words) if word), len(words))
        return [
            self._space + word if word and i > first else word
            for i, word in enumerate(words)
        ]


def _encode(tokenizer, texts, **options):
    return tokenizer(
        texts,
        add_special_tokens=False,
        verbose=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        **options,
    )


def _begins(sizes):
    """Return where each of some parts begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _in_one_text(texts, offsets, n_pieces):
    """Return where each text begins in a text of all, and the offsets of pieces there.

    Texts are so far apart that a piece of one and a word of another never overlap.
    """
    begins = _begins([len(text) + len(_BETWEEN) for text in texts])[:-1]
    flat = chain.from_iterable(chain.from_iterable(offsets))
    pieces = np.fromiter(flat, np.int64).reshape(-1, 2)
    pieces += np.repeat(begins, n_pieces)[:, None]
    return begins, _with_next(_BETWEEN.join(texts), pieces)


def _joined(words):
    """Return words joined by spaces, and their spans; -1 for empty words."""
    sizes = np.array([len(word) for word in words], dtype=np.int64)
    ends = np.cumsum(sizes + (sizes > 0)) - 1
    spans = np.column_stack([ends - sizes, ends])
    spans[sizes == 0] = -1
    return " ".join(word for word in words if word), spans


def _has_offsets(tokenizer):
    """Return whether a text's pieces can be assigned to words by their characters.

    This requires a fast tokenizer that splits texts at spaces. Some tokenizers that
    drop unknown characters return offsets that are too small after them.
    """
    if not tokenizer.is_fast:
        return False
    text, spans = _joined([_UNKNOWN_WORD, *_PROBE_WORDS])
    offsets = _encode(tokenizer, text, return_offsets_mapping=True)["offset_mapping"]
    offsets = _with_next(text, np.array(offsets, dtype=np.int64).reshape(-1, 2))
    at, _ = overlapping(spans, offsets)
    in_one_word = len(np.unique(at)) == len(at)
    return in_one_word and len(at) > 0 and offsets[-1, 1] == len(text)


def _space_of(tokenizer):
    """Return "" or " ": the string before a word that gives its pieces in a text."""
    whole = list(_encode(tokenizer, " ".join(_PROBE_WORDS))["input_ids"])
    for space in ("", " "):
        parts = [_PROBE_WORDS[0], *(space + word for word in _PROBE_WORDS[1:])]
        ids = _encode(tokenizer, parts)["input_ids"]
        if [piece for row in ids for piece in row] == whole:
            return space
    return ""


def _frame_of(tokenizer):
    """Return the Frame of a tokenizer, read off an encoded probe."""
    probe, inner = _probe(tokenizer)
    encoded = tokenizer(probe, verbose=False)
    ids = list(encoded["input_ids"])
    types = encoded.get("token_type_ids") or [0] * len(ids)
    framed = list(zip(ids, types, strict=True))
    starts = (i for i in range(len(ids)) if ids[i : i + len(inner)] == inner)
    start = next(starts, None)
    if start is None:
        raise ValueError(
            f"{type(tokenizer).__name__} returns different pieces for a text with "
            "special tokens than without, so that the pieces of a word cannot be found."
        )
    stop = start + len(inner)
    cls = tokenizer.cls_token_id
    place = ids.index(cls) if cls is not None and cls in ids else None
    if place is not None and place >= stop:
        place -= len(ids)
    return Frame(
        left=tuple(framed[:start]),
        right=tuple(framed[stop:]),
        type=types[start],
        typed="token_type_ids" in encoded,
        cls=place,
        cuts_left=tokenizer.truncation_side == "left",
    )


def _probe(tokenizer):
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    for probe in (*_PROBES, *list(tokenizer.get_vocab())[:1000]):
        inner = _encode(tokenizer, probe)["input_ids"]
        if inner and not special.intersection(inner):
            return probe, list(inner)
    raise ValueError(
        f"{type(tokenizer).__name__} returns no pieces for any of {_PROBES} or of the "
        "words of its own vocabulary. Check that it belongs to the model."
    )


def _with_next(text, offsets):
    """Return offsets in which a piece that is a space extends to the next word.

    Some tokenizers trim spaces from offsets, so that such a piece is empty.
    """
    starts, stops = offsets.T
    stops = np.maximum(stops, starts + 1)
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    is_space = _SPACES[np.minimum(codes, len(_SPACES) - 1)]
    others = _begins(~is_space)  # characters before each position
    first, last = (np.minimum(places, len(text)) for places in (starts, stops))
    is_space = (others[first] == others[last]) & (first < last)
    return np.column_stack([starts, stops + is_space])


def encodable(text):
    """Replace lone surrogates, which tokenizers reject; keep the length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def are_readable(pieces, tokenizer):
    """Return per word, an array of piece ids, whether one is not the unknown piece."""
    unknown = tokenizer.unk_token_id
    # SentencePiece splits off the mark of a space before an unknown word.
    nothing = [unknown, *tokenizer.convert_tokens_to_ids(["\u2581", "\u0120"])]
    nothing = [id_ for id_ in nothing if id_ is not None]
    return np.array(
        [
            len(ids) > 0 and not (unknown in ids and np.isin(ids, nothing).all())
            for ids in pieces
        ],
        dtype=bool,
    )


def readable_types(tokens, aligner):
    """Return per type whether the tokenizer knows a piece of it, (n_types,) bool.

    A type is readable as it is or as its text spells it. Warns if most tokens are not.
    """
    readable = aligner.readable(tokens.types.tolist())
    if tokens.texts is not None and not readable.all():
        rest = np.flatnonzero(~readable)
        readable[rest] = aligner.readable(_spellings(tokens, rest))
    n_unreadable = int((~readable[tokens.codes]).sum())
    if n_unreadable * 2 > tokens.n_tokens:
        counts = np.where(readable, 0, tokens.type_counts())
        most = np.argsort(-counts, kind="stable")[:_EXAMPLES]
        examples = ", ".join(repr(str(tokens.types[i])) for i in most if counts[i])
        warnings.warn(
            f"TransformerEmbedding: {n_unreadable:,} of {tokens.n_tokens:,} tokens of "
            f"the training fold, such as {examples}, are unknown to "
            f"{type(aligner.tokenizer).__name__}: the model reads all of them as the "
            "same piece. Check that the tokenizer belongs to the model, and that the "
            "texts are in its language and case.",
            stacklevel=2,
        )
    return readable


def _spellings(tokens, types):
    """Return types, given as numbers, as the texts spell their first occurrence."""
    first = np.unique(tokens.codes, return_index=True)[1][types]
    rows = np.searchsorted(tokens.offsets, first, "right") - 1
    part = tokens[rows]
    spans = part.spans()[part.offsets[:-1] + first - tokens.offsets[rows]]
    return [
        text[start:end] if start >= 0 else word
        for text, (start, end), word in zip(
            part.texts, spans.tolist(), tokens.types[types].tolist(), strict=True
        )
    ]
