"""Commands for a smart home in about 70 languages, sampled from templates."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from ._bunch import make_bunch
from ._files import package_folder

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_INSTALL = "pip install home-assistant-intents==2026.10.27"
_DESCR = """\
Home Assistant intents
======================

Templates of commands and questions to a smart home, such as "turn on the light",
written by speakers of about 70 languages. The class is the intent. Templates that name
a room or device of the user are left out.

https://github.com/OHF-Voice/intents
"""
_PREFIX = "Hass"
_CLOSING = {"(": ")", "[": "]", "<": ">", "{": "}"}
_TRIES = 4  # samples of a template per sentence wanted: many repeat


def load_home_commands(
    language: str = "en",
    *,
    n_per_template: int = 5,
    n_per_intent: int | None = 20,
    random_state: int = 0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | Any:
    """Load commands to a smart home in one of about 70 languages, by intent.

    The classes are the same in all languages, so that a classifier trained in one can
    be tested in another. The sentences are sampled from the templates in the pip
    package ``home-assistant-intents`` (0.8 MB), which are written by speakers of each
    language, not translated. Chinese, Japanese and Thai are written without spaces.

    Parameters
    ----------
    language : str, default="en"
        Code of the language, such as "de", "fr", "ru", "th" or "zh-CN".
    n_per_template : int, default=5
        Maximum number of sentences of a template.
    n_per_intent : int or None, default=20
        Maximum number of sentences of an intent, drawn from all its templates. None
        keeps all; two intents about timers then have a third of the sentences.
    random_state : int, default=0
        Seed of the samples.
    as_frame : bool, default=False
        Whether to return pandas objects instead of a list and an array.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : list of str, length n, or DataFrame of shape (n, 1)
            Sentences; the column of a frame is named "text".
        target : ndarray or Series of str, shape (n,)
            Intent, such as "TurnOn" or "GetCurrentTime".
        target_names : list of str
            The intents of the language: 33 in English, all of them or fewer in others.
        feature_names : list of str
            "text".
        frame : DataFrame of shape (n, 2) or None
            The data and the target, named "intent"; None if not `as_frame`.
        groups : ndarray of int64, shape (n,)
            Number of the template; see Notes.
        DESCR : str
            Description of the data.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``home-assistant-intents`` is not installed, or pandas, if `as_frame`.
    ValueError
        If there is no such language; the message lists all.

    See Also
    --------
    load_bbc_news : Longer texts, in English.

    Notes
    -----
    Sentences of one template differ in a few words. Pass `groups` to ``GroupKFold`` or
    ``StratifiedGroupKFold`` to test on other templates than those of the training set.

    Numbers are drawn from the range of the slot. The languages cover the intents to
    different degrees: English 33, Japanese 4.

    References
    ----------
    Home Assistant intents, https://github.com/OHF-Voice/intents, Apache License 2.0.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_home_commands
    >>> commands = load_home_commands("fr")  # doctest: +SKIP
    >>> commands.data[0], commands.target[0]  # doctest: +SKIP
    """
    language_data = _read_language(language)
    rows = _sentences(language_data, n_per_template, random_state)
    if n_per_intent is not None:
        rows = _balanced(rows, n_per_intent, random_state)
    target = np.array([intent.removeprefix(_PREFIX) for _, intent, _ in rows])
    return make_bunch(
        [text for text, _, _ in rows],
        target,
        ["text"],
        target_name="intent",
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=np.unique(target).tolist(),
        groups=np.array([group for _, _, group in rows], dtype=np.int64),
        DESCR=_DESCR,
    )


def _read_language(language):
    folder = package_folder("home_assistant_intents", "data", install=_INSTALL)
    files = {file.stem: file for file in folder.glob("*.json")}
    if language not in files:
        raise ValueError(
            f"load_home_commands: language must be one of {sorted(files)}; got "
            f"{language!r}."
        )
    return orjson.loads(files[language].read_bytes())


def _sentences(data, n_per_template, seed):
    """Return (text, intent, number of the template) of sampled sentences."""
    rows, group = [], 0
    for intent, content in data["intents"].items():
        for block in content["data"]:
            rules = data["expansion_rules"] | block.get("expansion_rules", {})
            lists = data["lists"] | block.get("lists", {})
            for template in block["sentences"]:
                texts = _samples(template, rules, lists, n_per_template, seed)
                rows += [(text, intent, group) for text in texts]
                group += 1
    return rows


def _samples(template, rules, lists, n, seed):
    """Return up to n distinct sentences of a template; none if a slot has no values."""
    rng = random.Random(f"{seed} {template}")
    texts = {}
    for _ in range(_TRIES * n):
        try:
            text = sample_template(template, rules, lists, rng)
        except MissingValueError:
            continue
        texts[re.sub(r"\s+", " ", text).strip()] = None
        if len(texts) == n:
            break
    texts.pop("", None)
    return list(texts)


def _balanced(rows, n_per_intent, seed):
    """Return at most some random rows of each intent, in the order of rows."""
    by_intent = {}
    for i, (_, intent, _) in enumerate(rows):
        by_intent.setdefault(intent, []).append(i)
    rng = random.Random(int(seed))
    kept = [
        rng.sample(members, min(n_per_intent, len(members)))
        for members in by_intent.values()
    ]
    return [rows[i] for i in sorted(sum(kept, []))]


class MissingValueError(Exception):
    """A slot takes any text, so that it has no value to choose."""


def sample_template(template, rules, lists, rng):
    """Return a random sentence of a template in the language of Home Assistant.

    ``(a|b)`` is one of a and b, ``[a]`` is a or nothing, ``(a;b)`` both in any order,
    ``<rule>`` another template and ``{list:slot}`` one of the values of a list.

    Parameters
    ----------
    template : str
    rules : dict of str to str
        Templates by name.
    lists : dict of str to dict
        Values of slots by name: ``{"values": [str or {"in": str}]}``, ``{"range":
        {"from": int, "to": int}}`` or ``{"wildcard": True}``.
    rng : random.Random

    Raises
    ------
    MissingValueError
        If the sentence has a slot for any text.
    """

    def sample(node):
        if isinstance(node, str):
            return node
        kind, content = node
        if kind == "sequence":
            return "".join(map(sample, content))
        if kind == "choice":
            return sample(rng.choice(content))
        if kind == "permutation":
            return " ".join(map(sample, rng.sample(content, len(content))))
        if kind == "rule":
            return sample(_parsed(rules[content]))
        return _value(content)

    def _value(name):
        values = lists.get(name, {"wildcard": True})
        if "range" in values:
            limits = values["range"]
            return str(rng.randint(limits["from"], limits["to"]))
        if "values" not in values:
            raise MissingValueError(name)
        value = rng.choice(values["values"])
        return sample(_parsed(value if isinstance(value, str) else value["in"]))

    return sample(_parsed(template))


@lru_cache(maxsize=2**14)
def _parsed(template):
    return _parse(template, 0, None)[0]


def _parse(template, start, closing):
    """Return the node of a template up to a closing bracket, and where that is."""
    branches, ordered, i = [[]], True, start
    while i < len(template) and template[i] != closing:
        char = template[i]
        if char in "([":
            node, i = _parse(template, i + 1, _CLOSING[char])
            branches[-1].append(node if char == "(" else ("choice", (node, "")))
        elif char in "<{":
            end = template.index(_CLOSING[char], i)
            name = template[i + 1 : end].partition(":")[0]
            branches[-1].append(("rule" if char == "<" else "slot", name))
            i = end
        elif char in "|;":
            branches.append([])
            ordered = ordered and char == "|"
        else:
            i += char == "\\"
            branches[-1].append(template[i])
        i += 1
    nodes = tuple(("sequence", tuple(branch)) for branch in branches)
    return ("choice" if ordered else "permutation", nodes), i
