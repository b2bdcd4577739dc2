"""Commands for a smart home, sampled from templates of Home Assistant.

The templates are in the pip package ``home-assistant-intents``. The class is the
intent; templates that name a room or device of the user are left out.
"""

import json
import random
import re
from functools import lru_cache

import numpy as np

from sk_metaembed.datasets._files import package_folder

_INSTALL = "pip install home-assistant-intents==2026.10.27"
_CLOSING = {"(": ")", "[": "]", "<": ">", "{": "}"}
_TRIES = 4  # samples of a template per sentence wanted: many repeat


def home_commands(n_per_template=5, n_per_intent=20, seed=0):
    """Return English sentences and their intents."""
    folder = package_folder("home_assistant_intents", "data", install=_INSTALL)
    data = json.loads((folder / "en.json").read_bytes())
    rows = _balanced(_sentences(data, n_per_template, seed), n_per_intent, seed)
    intents = [intent.removeprefix("Hass") for _, intent in rows]
    return [text for text, _ in rows], np.array(intents)


def _sentences(data, n_per_template, seed):
    """Return (text, intent) of sampled sentences."""
    rows = []
    for intent, content in data["intents"].items():
        for block in content["data"]:
            rules = data["expansion_rules"] | block.get("expansion_rules", {})
            lists = data["lists"] | block.get("lists", {})
            for template in block["sentences"]:
                texts = _samples(template, rules, lists, n_per_template, seed)
                rows += [(text, intent) for text in texts]
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
    for i, (_, intent) in enumerate(rows):
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
