"""Sources that are trained along read the texts as they were written."""

import pickle

import numpy as np
import pytest
import torch

from sk_metaembed import (
    DynamicMetaClassifier,
    Tokenizer,
    TrainableTransformer,
    TransformerEmbedding,
)

from .. import tiny_bert
from ..sources.contextual.test_original_texts import LONG, TEXTS, cased_tokenizer
from .test_trainable import OPTIONS

OPTIONS = OPTIONS | {"early_stopping": False}
CASED = ["The king!", "the king.", "THE KING?"] * 6
Y = [0, 1, 2] * 6


@pytest.fixture(scope="module")
def pair():
    tokenizer = cased_tokenizer()
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 64}
    return tiny_bert.network(**size), tokenizer


@pytest.mark.parametrize(
    ("output", "max_length"), [("words", 8), ("mean", None), ("cls", 8)]
)
def test_subwords_are_those_of_the_frozen_source(pair, max_length, output):
    source = TransformerEmbedding(pair, (1, 2), output=output, max_length=max_length)
    tokens = Tokenizer().transform([*TEXTS, LONG])
    opened = TrainableTransformer(source).prepare(tokens)
    inputs = opened.inputs(tokens)
    rows = np.array([5, 1, 0, 2, 3])
    with torch.inference_mode():
        result = opened.network().eval()(inputs.batch(rows, torch.from_numpy))
    whole = source.fit_transform(tokens)
    for (values, known), block in zip(result, whole[rows].blocks, strict=True):
        np.testing.assert_array_equal(known.numpy(), block.known)
        np.testing.assert_allclose(values.numpy(), block.values, atol=1e-5)
    level = "token" if output == "words" else "sequence"
    np.testing.assert_array_equal(inputs.known[level], whole.blocks[0].known)


def test_a_cased_model_is_trained_on_case(pair):
    """Only case and punctuation tell the texts apart."""
    tuned = TrainableTransformer(TransformerEmbedding(pair, output="words"), lr=1e-3)
    tokens = Tokenizer().transform(CASED)
    clf = DynamicMetaClassifier(trainable=tuned, **OPTIONS).fit(tokens, Y)
    expected = clf.predict_proba(tokens[:3])
    assert np.ptp(expected, axis=0).max() > 1e-3
    blind = clf.predict_proba(tokens[:3].to_list())
    np.testing.assert_allclose(blind, blind[:1].repeat(3, 0), atol=1e-5)
    for texts in (CASED[:3], tokens[[0, 1, 2]], np.array(CASED[:3])):
        np.testing.assert_allclose(clf.predict_proba(texts), expected, atol=1e-5)
    again = pickle.loads(pickle.dumps(clf))
    alone = [again.predict_proba(tokens[[i]])[0] for i in range(3)]
    np.testing.assert_allclose(alone, expected, atol=1e-5)


@pytest.mark.parametrize("output", ["words", "mean"])
def test_texts_without_tokens(pair, output):
    tuned = TrainableTransformer(TransformerEmbedding(pair, output=output), lr=1e-3)
    tokens = Tokenizer().transform([*CASED, "", "?!", "?"])
    clf = DynamicMetaClassifier(trainable=tuned, **OPTIONS).fit(tokens, [*Y, 0, 1, 2])
    empty, signs, sign = clf.predict_proba(["", "?!", "?"])
    assert np.isfinite([empty, signs, sign]).all()
    # Only vectors of whole texts are there without tokens.
    assert (abs(empty - signs).max() > 1e-5) == (output == "mean")
    assert (abs(sign - signs).max() > 1e-5) == (output == "mean")
