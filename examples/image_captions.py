"""
Rank images by captions, and captions by images
===============================================

This is the fourth task of the paper on dynamic meta-embeddings: captions and images are
mapped to a shared space, in which captions retrieve images and vice versa.
Images are given by features computed with an image network. Run the example on your own
files with::

    python examples/image_captions.py captions.tsv features.npy

``captions.tsv`` has one line per caption: the name of the image, a tab, the caption.
The part of a name after ``#`` is ignored, so Flickr30k's ``results_20130124.token`` can
be used. ``features.npy`` is an array with one row per image, in the order in which the
names first appear. It can be computed with torchvision, for example::

    weights = torchvision.models.ResNet152_Weights.DEFAULT
    network = torchvision.models.resnet152(weights=weights).eval()
    network.fc = torch.nn.Identity()  # 2048 features per image
    prepare = weights.transforms()
    with torch.inference_mode():
        rows = [network(prepare(PIL.Image.open(name).convert("RGB"))[None])[0]
                for name in names]
    numpy.save("features.npy", torch.stack(rows).numpy())

Without files, the example generates data: scenes with coloured things and a place, each
described partially by three captions, and features that encode the scene.
"""

# %%
# Captions and features
# ---------------------
import sys
import tempfile
from pathlib import Path

import numpy as np


def read_captions(path):
    """Return the captions, and the row of the image of each caption."""
    rows, captions, images = {}, [], []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        name, tab, caption = line.partition("\t")
        if not tab:
            raise SystemExit(
                f"{path}, line {number}: expected a name, a tab, a caption."
            )
        captions.append(caption)
        images.append(rows.setdefault(name.partition("#")[0], len(rows)))
    return captions, np.array(images)


def generate(folder, n_images=1000):
    """Write generated captions and features; return the paths."""
    rng = np.random.default_rng(0)
    colours = ["red", "green", "blue", "white", "black", "brown", "yellow", "grey"]
    things = ["dog", "cat", "boat", "car", "bird", "horse", "ball", "hat", "child"]
    places = ["beach", "street", "park", "house", "river", "field", "market", "bridge"]
    directions = {word: rng.normal(size=64) for word in colours + things + places}
    lines, features = [], []
    for i in range(n_images):
        scene = [(rng.choice(colours), rng.choice(things)) for _ in range(2)]
        place = rng.choice(places)
        seen = sum(
            directions[thing] + directions[c] * directions[thing] for c, thing in scene
        )
        features.append(seen + directions[place] + rng.normal(size=64))
        for k in range(3):
            first, second = (" ".join(scene[j]) for j in rng.permutation(2))
            caption = f"a {first} and a {second} at the {place}".split()
            left_out = rng.choice([1, 5, 9], size=rng.integers(0, 2), replace=False)
            caption = [w for j, w in enumerate(caption) if j not in left_out]
            lines.append(f"{i}.jpg#{k}\t{' '.join(caption)}")
    paths = Path(folder, "captions.tsv"), Path(folder, "features.npy")
    paths[0].write_text("\n".join(lines), "utf-8")
    np.save(paths[1], np.array(features, dtype=np.float32))
    return paths


with tempfile.TemporaryDirectory() as folder:
    paths = sys.argv[1:] if len(sys.argv) == 3 else generate(folder)
    captions, images = read_captions(paths[0])
    features = np.load(paths[1])
if len(features) != images.max() + 1:
    raise SystemExit(f"{len(features)} rows for {images.max() + 1} images.")
print(f"{len(captions)} captions of {len(features)} images, such as {captions[0]!r}")

# %%
# All captions of an image are in the same part. The last images, a tenth and at most a
# thousand, form the test set; the ranker holds out some of the others for early
# stopping.
n_test = min(1000, len(features) // 10)
test = images >= len(features) - n_test
texts = {
    part: [c for c, t in zip(captions, test, strict=True) if t == part]
    for part in (False, True)
}

# %%
# Sources, and a ranker
# ---------------------
# Two sources are trained on the captions, and a third is learned from characters
# together with the ranker. For real captions, use `PretrainedEmbedding` with large
# files instead.
import pandas as pd

from sk_metaembed import (
    CharEmbedding,
    DynamicMetaRanker,
    EmbeddingUnion,
    FastTextEmbedding,
    Tokenizer,
    Word2VecEmbedding,
)

gensim = {
    "vector_size": 50,
    "min_count": 1,
    "epochs": 10,
    "preprocess": "unit-center-unit",
    "random_state": 0,
}
sources = EmbeddingUnion(
    [
        ("word2vec", Word2VecEmbedding(**gensim)),
        ("fasttext", FastTextEmbedding(**gensim, bucket=20_000)),
    ]
)
tokenizer = Tokenizer()
X = sources.fit_transform(tokenizer.fit_transform(texts[False]))
X_test = sources.transform(tokenizer.transform(texts[True]))
y, y_test = features[images[~test]], features[images[test]]

options = {
    "encoder": "max",
    "projection_dim": 128,
    "shared_dim": 128,
    "lr": 2e-3,
    "max_epochs": 30,
    "random_state": 0,
}
rankers = {
    "word2vec": (["word2vec"], DynamicMetaRanker(**options)),
    "fasttext": (["fasttext"], DynamicMetaRanker(**options)),
    "unweighted sum": (None, DynamicMetaRanker("uniform", **options)),
    "DME": (None, DynamicMetaRanker(**options)),
    "DME and characters": (
        None,
        DynamicMetaRanker(trainable=[("char", CharEmbedding())], **options),
    ),
}
rows = {}
for name, (used, ranker) in rankers.items():
    used = used or ["word2vec", "fasttext"]
    ranker.fit(X.select(used), y)
    recall = ranker.recall_at(X_test.select(used), y_test)
    rows[name] = recall.drop(columns="median rank").stack()
table = pd.DataFrame(rows).T
print((100 * table).round(1).to_string())

# %%
# Show the first images for a caption, with another caption of each.
distinct = features[-n_test:]
query = X_test.select(["word2vec", "fasttext"])[:1]
print("query:", texts[True][0])
for row in ranker.rank(query, distinct, n=3)[0]:
    caption = captions[np.flatnonzero(images == len(features) - n_test + row)[0]]
    print("  image:", caption)

# %%
# Result on the generated files, with 100 images: R@1 is 83 to 87 % by caption and 91 to
# 94 % by image, where chance has 1 %; the correct image is nearly always among the
# first five. The sources do not differ, because each of them distinguishes all thirty
# words, and no combination is better than the best source. Captions without a colour or
# the place match several scenes.
