"""Names that other subpackages may use, in addition to the public ones."""

from .static_subword._model import LoadedStaticModel, StaticContent
from .transformer._loaded_model import LoadedModel, LoadedPair
