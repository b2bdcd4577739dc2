"""Save estimators to files that contain no code, and load them: `save` and `load`.

`save` encodes an estimator as a list of nodes (`_structure`). Each node has a kind, and
each kind has a codec (`_codecs`). Vectors and models are stored by reference. The names
in the nodes are compared with those of classes that run no code (`_trust`). Then the
nodes and the arrays are written to a zip file (`_archive`).

`load` takes the same steps in reverse, and nothing is created before trust is decided.
The numbers of a model are not checked: compiled code that reads them may crash.

Other subpackages are used only through `Handle` and through four methods that an
estimator may have:

- `_saved_attributes()` returns the attributes to save, instead of all
  (`DistilledEmbedding`, and estimators with a parameter `model`);
- `_net_parts()` returns a trained network as plain values and tensors, and
  `_set_net(plain, tensors)` restores it (`Dynamic*` estimators, `ElmoLanguageModel`);
- `_load_network()` loads a pretrained network once the file is read
  (`TransformerEmbedding`, `ElmoEmbedding`).
"""

from ._archive import UntrustedError
from ._save_load import load, save

__all__ = ["UntrustedError", "load", "save"]
