"""Order of the examples in the gallery, from basic to advanced."""

from pathlib import Path

FIRST = (
    "plot_quickstart.py",
    "plot_bird_strikes.py",
    "plot_grid_search.py",
    "plot_halving_search.py",
    "plot_mixed_columns.py",
    "plot_transformer_layers.py",
    "plot_sentence_meta_embeddings.py",
    "plot_does_combining_pay.py",
    "plot_explanations.py",
    "plot_nli_pairs.py",
    "plot_not_language.py",
    "plot_export.py",
    # reproductions
    "plot_dynamic_meta_embeddings.py",
    "plot_scalar_mix.py",
    "plot_word_senses.py",
    "plot_ner_tweets.py",
    "plot_static_vs_contextual.py",
    "plot_keras_bbc.py",
)


class GalleryOrder:
    """Sorts the examples of a folder; those not in `FIRST` come last, by name.

    Parameters
    ----------
    src_dir : str
        The folder.
    """

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __call__(self, filename):
        """Return the sort key of a file."""
        name = Path(filename).name
        place = FIRST.index(name) if name in FIRST else len(FIRST)
        return place, name
