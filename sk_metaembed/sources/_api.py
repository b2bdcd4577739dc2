"""What other rooms may use of this one, in addition to its public names."""

from .static_subword._model import LoadedStaticModel, StaticContent
from .transformer._loaded_model import LoadedModel
from .transformer._loaded_pair import LoadedPair
