"""What other rooms may use of this one, in addition to its public names.

They import `_stacked_folds` and `_stacked_models` by their own names: these load
modules of scikit-learn that only `fit` needs.
"""

from ._stacked import reads_texts
