"""Time to answer Google's 19,544 analogy questions over 100,000 words of 300 d.

The vectors are generated, because the time does not depend on their meaning. gensim
answers questions one by one, so it is timed on a few of them and its time is scaled up.
It searches the same words; the share of equal answers is printed too.

Run: python benchmarks/analogy_speed.py [--words 100000] [--dim 300] [--peer 100]
"""

import argparse
import time

import numpy as np
from gensim.models import KeyedVectors

from sk_metaembed.datasets import load_analogies
from sk_metaembed.metrics import analogy_score


def generated(questions, n_words, dim):
    """Return vectors of the questions' words and of additional words."""
    requested = list(dict.fromkeys(questions.ravel().tolist()))
    words = requested + [f"w{i}" for i in range(n_words - len(requested))]
    np.random.default_rng(0).shuffle(words)
    vectors = KeyedVectors(dim)
    values = np.random.default_rng(1).standard_normal((n_words, dim), np.float32)
    vectors.add_vectors(words, values)
    return vectors


def ours(vectors, questions, method):
    """Return wall seconds, CPU seconds and the report."""
    options = {"method": method, "ignore_case": False, "return_report": True}
    analogy_score(vectors, questions[:600], **options)  # compiles
    start, processor = time.perf_counter(), time.process_time()
    report = analogy_score(vectors, questions, **options)
    return time.perf_counter() - start, time.process_time() - processor, report


def theirs(vectors, questions, method):
    """Return wall and CPU seconds per question, and gensim's answers."""
    name = "most_similar" if method == "3cosadd" else "most_similar_cosmul"
    ask = getattr(vectors, name)
    vectors.fill_norms()
    answers = []
    start, processor = time.perf_counter(), time.process_time()
    for a, b, c, _ in questions:
        answers.append(ask(positive=[b, c], negative=[a], topn=1)[0][0])
    spent = time.perf_counter() - start, time.process_time() - processor
    return *(seconds / len(questions) for seconds in spent), answers


def main():
    """Measure both methods and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--peer", type=int, default=100, help="questions for gensim")
    options = parser.parse_args()
    questions = load_analogies("google").questions
    vectors = generated(questions, options.words, options.dim)
    some = questions[:: max(1, len(questions) // options.peer)][: options.peer]
    print(f"{len(questions):,} questions, {options.words:,} words x {options.dim}\n")
    print("| method | s | CPU s | gensim s, scaled | CPU s | ratio | same answers |")
    print("|---|---|---|---|---|---|---|")
    for method in ("3cosadd", "3cosmul"):
        wall, processor, report = ours(vectors, questions, method)
        assert report.n_missing == 0
        each, each_processor, answers = theirs(vectors, some, method)
        known = dict(zip(map(tuple, questions), report.answers, strict=True))
        same = sum(known[tuple(q)] == a for q, a in zip(some, answers, strict=True))
        whole = each * len(questions)
        print(
            f"| {method} | {wall:.1f} | {processor:.1f} | {whole:.0f} "
            f"| {each_processor * len(questions):.0f} | {whole / wall:.0f} "
            f"| {same} of {len(some)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
