"""flair's SequenceTagger for `tagging_speed.py`; runs in a Python that has flair.

Each input line starts one training epoch and the tagging of all sentences.
"""

import json
import resource
import sys
import time
from pathlib import Path

import flair
import numpy as np
import torch
from flair.data import Corpus, Sentence
from flair.embeddings import WordEmbeddings
from flair.models import SequenceTagger


def spans(tags):
    """Yield (start, stop, label) of IOB2 tags."""
    start = None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and not tag.startswith("I-"):
            yield start, i, tags[start][2:]
            start = None
        if tag.startswith("B-"):
            start = i


def sentence(words, tags=()):
    """Return a flair Sentence with its spans."""
    made = Sentence(words)
    for start, stop, label in spans(list(tags)):
        made[start:stop].add_label("ner", label)
    return made


def make_tagger(words, vectors, training, sizes):
    """Return the tagger with the same vectors and sizes."""
    vocab = {word: i for i, word in enumerate(words)}
    embedding = WordEmbeddings(
        None, vocab=vocab, embedding_length=vectors.shape[1], name="given"
    )
    embedding.embedding.weight.data[:-1] = torch.from_numpy(vectors)
    corpus = Corpus(training, sample_missing_splits=False)
    return SequenceTagger(
        embedding,
        corpus.make_label_dictionary("ner"),
        "ner",
        hidden_size=sizes["encoder_dim"],
        tag_format="BIO",
    )


def train(tagger, training, batch_size):
    """Train for one epoch."""
    tagger.train()
    optimizer = torch.optim.Adam(
        [p for p in tagger.parameters() if p.requires_grad], lr=1e-3
    )
    order = torch.randperm(len(training)).tolist()
    for start in range(0, len(order), batch_size):
        batch = [training[i] for i in order[start : start + batch_size]]
        optimizer.zero_grad()
        loss, n_tokens = tagger.forward_loss(batch)
        (loss / n_tokens).backward()
        torch.nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
        optimizer.step()
        for one in batch:
            one.clear_embeddings()


def main():
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    flair.device = torch.device("cpu")
    torch.set_num_threads(threads)
    data = json.loads((folder / "data.json").read_text())
    training = [
        sentence(*pair) for pair in zip(data["train"], data["tags"], strict=True)
    ]
    vectors = np.load(folder / "vectors.npy")
    tagger = make_tagger(data["words"], vectors, training, data["sizes"])
    for _ in sys.stdin:
        times = [time.perf_counter(), time.process_time()]
        train(tagger, training, data["sizes"]["batch_size"])
        times += [time.perf_counter(), time.process_time()]
        tagger.predict([sentence(row) for row in data["test"]], mini_batch_size=32)
        times += [time.perf_counter(), time.process_time()]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"times": times, "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
