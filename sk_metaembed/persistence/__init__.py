"""Save estimators to files that contain no code, and load them: `save` and `load`.

`save` encodes an estimator as a list of nodes (`_structure`). Each node has a kind,
and each kind a codec: of plain values (`_codecs`), of trees, splines and losses
(`_trees`), of functions, types and objects by name (`_named`); vectors and models
are referred to (`_handles`). What the nodes require trust for is read from them
(`_requirements`) and compared with the classes that run no code (`_trusted`). Then the
nodes and the arrays are written to a zip file (`_archive`).

`load` takes the same steps in reverse, and nothing is created before trust is decided.
The numbers of a model are not checked: compiled code that reads them may crash.

Other rooms are used only through `Handle` and through four methods that an estimator
may have:

- `_saved_attributes()` returns the attributes to save, instead of all
  (`DistilledEmbedding`, and estimators with a parameter `model`);
- `_net_parts()` returns a trained network as plain values and tensors, and
  `_set_net(plain, tensors)` restores it (`Dynamic*` estimators, `ElmoLanguageModel`);
- `_load_network()` loads a pretrained network after the file (`TransformerEmbedding`,
  `ElmoEmbedding`).
"""

from .._core._public_module import set_public_module
from ._errors import SavedFileError, UntrustedError
from ._load import load
from ._save import save

__all__ = ["SavedFileError", "UntrustedError", "load", "save"]

set_public_module(globals())
