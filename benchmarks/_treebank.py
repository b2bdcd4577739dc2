"""SST-2 as plain text: its tokens are those of the Penn treebank."""

import re

# Treebank replacements of punctuation marks, then spaces around punctuation marks.
SIGNS = {"-lrb-": "(", "-rrb-": ")", "``": '"', "''": '"', "`": "'", "\\/": "/"}
SPACES = (
    (r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1"),
    (r" ([.,:;?!)%]|\.\.\.)", r"\1"),
    (r"([($]) ", r"\1"),
    (r'" ([^"]*?) ?"', r'"\1"'),
    (r"' ([^']*?) '", r"'\1'"),
)
# Tokens of plain text that split off what a treebank splits off, such as "n't".
TREEBANK = r"n't\b|'(?:s|re|ve|ll|d|m)\b|\w+?(?=n't\b)|\w+(?:[-./]\w+)*|[^\w\s]"


def detokenized(words):
    """Return a treebank sentence as plain text."""
    text = " ".join(SIGNS.get(word, word).replace("\\/", "/") for word in words)
    for pattern, to in SPACES:
        text = re.sub(pattern, to, text)
    return text
