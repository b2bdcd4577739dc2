"""Notebooks show the sources that are trained along."""

from sk_metaembed import (
    CharEmbedding,
    DynamicMetaClassifier,
    FineTuned,
    TransformerEmbedding,
)


def test_named_sources_are_shown_side_by_side():
    several = [("char", CharEmbedding()), ("letters", CharEmbedding(char_dim=8))]
    html = DynamicMetaClassifier(trainable=several)._repr_html_()
    for text in ("DynamicMetaClassifier", "char", "letters", "CharEmbedding"):
        assert text in html
    assert "sk-parallel" in html


def test_a_single_source_is_shown_with_what_it_is_made_of():
    tuned = FineTuned(TransformerEmbedding("a-model"))
    html = DynamicMetaClassifier(trainable=tuned)._repr_html_()
    assert "trainable: FineTuned" in html
    assert "TransformerEmbedding" in html
