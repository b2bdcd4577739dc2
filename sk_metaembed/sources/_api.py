"""What other rooms may use of this one, in addition to its public names."""

from .transformer._loaded_model import LoadedModel
from .transformer._loaded_pair import is_pair
