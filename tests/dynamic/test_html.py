"""Notebooks show the sources that are trained along."""

from sk_metaembed import DynamicMetaClassifier, TrainableCharacters


def test_named_sources_are_shown_side_by_side():
    several = [
        ("char", TrainableCharacters()),
        ("letters", TrainableCharacters(char_dim=8)),
    ]
    html = DynamicMetaClassifier(trainable=several)._repr_html_()
    for text in ("DynamicMetaClassifier", "char", "letters", "TrainableCharacters"):
        assert text in html
    assert "sk-parallel" in html
