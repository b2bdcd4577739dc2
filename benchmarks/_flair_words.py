"""flair's word vectors for `transformer_speed.py`; runs in a Python that has flair.

Each input line starts the embedding of all sentences; the output is the time.
"""

import json
import sys
import time
from pathlib import Path

import flair
import numpy as np
import torch
from flair.data import Sentence
from flair.embeddings import TransformerWordEmbeddings

BATCH = 32  # the default of flair's trainers


def main():
    path, sentences, out, device, threads = sys.argv[1:]
    flair.device = torch.device(device)
    torch.set_num_threads(int(threads))
    rows = json.loads(Path(sentences).read_text(encoding="utf-8"))
    embedding = TransformerWordEmbeddings(
        path, layers="-1", subtoken_pooling="mean", fine_tune=False
    ).eval()
    say({"version": flair.__version__})
    for _ in sys.stdin:
        texts = [Sentence(row) for row in rows]
        wall, cpu = time.perf_counter(), time.process_time()
        for start in range(0, len(texts), BATCH):
            embedding.embed(texts[start : start + BATCH])
        vectors = [token.embedding for text in texts for token in text]
        vectors = torch.stack(vectors).cpu().numpy()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        np.save(out, vectors)
        say({"wall": wall, "cpu": cpu})


def say(what):
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
