"""WordRule: whether a fast tokenizer splits a word alike in every text."""

import json
from typing import NamedTuple

# Pre-tokenizers that split texts at any whitespace.
_AT_SPACES = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_WITHIN = {*_AT_SPACES, "ByteLevel", "Digits", "Metaspace", "Punctuation"}
# Normalizers that do not let the text on one side of a space change the other side.
_NORMALIZERS = {
    *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Precompiled"),
    "StripAccents",
}
# A normalizer that changes only texts with several spaces in a row.
_OF_SPACES = {"Regex": " {2,}"}
_MODELS = {"BPE", "Unigram", "WordLevel", "WordPiece"}
# Steps that read each character independently of the others.
_BY_CHARACTER = {"BertPreTokenizer", "WhitespaceSplit", "BertNormalizer", "Lowercase"}


class WordRule(NamedTuple):
    """How texts are divided into words that are split alike in every text."""

    marks: list  # added tokens as written and normalized, which a word must not contain
    any_space: bool  # whether whitespace of any kind and amount separates words
    by_character: bool  # whether each character is normalized and divided by itself
    isolates: bool  # whether punctuation marks are words


def find_word_rule(backend):
    """Return the `WordRule` of a tokenizers.Tokenizer, or None.

    The result is None if the normalizer, the pre-tokenizer or an added token may depend
    on more than a word and the space before it.
    """
    splits = _parts(backend.pre_tokenizer, "pretokenizers")
    forms = _parts(backend.normalizer, "normalizers")
    split_kinds = {part["type"] for part in splits}
    form_kinds = {part["type"] for part in forms}
    replaces = [part for part in forms if part["type"] == "Replace"]
    added = backend.get_added_tokens_decoder().values()
    marks = [token.content for token in added]
    if backend.normalizer is not None:
        marks += list(map(backend.normalizer.normalize_str, marks))
    model = type(backend.model).__name__
    at_spaces = bool(splits) and splits[0]["type"] in _AT_SPACES
    at_spaces = at_spaces and split_kinds <= _WITHIN
    if not (
        (at_spaces or (len(splits) == 1 and _keeps_spaces(splits[0])))
        and form_kinds - {"Replace"} <= _NORMALIZERS
        and all(part["pattern"] == _OF_SPACES for part in replaces)
        and model in _MODELS
        and not getattr(backend.model, "dropout", None)
        and not any(character.isspace() for character in "".join(marks))
    ):
        return None
    return WordRule(
        marks=list(filter(None, marks)),
        any_space=at_spaces and not replaces,
        by_character=model == "WordPiece"
        and split_kinds | form_kinds <= _BY_CHARACTER
        # Normalized tokens are found in normalized texts.
        and not any(token.normalized for token in added),
        isolates="BertPreTokenizer" in split_kinds,
    )


def _keeps_spaces(part):
    """Return whether a pre-tokenizer makes each space the first character of a word."""
    kind = part["type"]
    if kind == "ByteLevel":
        return part.get("use_regex", True)
    return kind == "Metaspace" and part.get("split", True)


def _parts(component, key):
    """Return the settings of the parts of a normalizer or pre-tokenizer."""
    if component is None:
        return []
    state = json.loads(component.__getstate__())
    return state[key] if state["type"] == "Sequence" else [state]
