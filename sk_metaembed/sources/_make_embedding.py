"""make_embedding: the source that reads a model, whatever its kind."""

from __future__ import annotations

import os
from typing import Any

from .._core._errors import prefix_errors
from ..vectors import WordVectors
from ._base import BaseEmbedding
from ._encoder_modules import MODULES, ROUTES
from ._loaded_encoder import is_sentence_encoder, is_static_model, loaded_modules
from ._model_folder import STATIC_MODULES, download, looks_like_path, source_of_folder
from .elmo._embedding import ElmoEmbedding
from .elmo._model_files import is_archive
from .static_subword._embedding import StaticSubwordEmbedding
from .static_subword._model import StaticContent
from .transformer._embedding import TransformerEmbedding
from .words._pretrained import PretrainedEmbedding

_CLASSES = {
    "ElmoEmbedding": ElmoEmbedding,
    "TransformerEmbedding": TransformerEmbedding,
    "StaticSubwordEmbedding": StaticSubwordEmbedding,
    "PretrainedEmbedding": PretrainedEmbedding,
}
# Small files that determine the class of a model on the hub.
_DECIDING = [MODULES, "config.json", "*/config.json", ROUTES, f"*/{ROUTES}"]
# Files of networks. Those of .bin may be vectors of fastText.
_WEIGHTS = (".safetensors", ".gguf", ".onnx", ".pt", ".pth", ".ckpt", ".hdf5", ".th")
_WORD_PACKAGES = ("spacy", "fasttext", "floret", "gensim")
_GENSIM = ("glove-", "word2vec-", "fasttext-", "conceptnet-", "__testing_")


@prefix_errors
def make_embedding(model: Any, **options: Any) -> BaseEmbedding:
    """Make the source for a model, with the class that its files require.

    Use it where models are chosen by name or folder, for example in a search or a
    configuration, and the kind of model should not matter.

    Parameters
    ----------
    model : str, path-like or a loaded model
        A folder, a file of word vectors, a zip archive of ELMo, a name on the Hugging
        Face hub or of a gensim-downloader model, or a model in memory: a (model,
        tokenizer) pair of transformers, a SentenceTransformer, a StaticModel of
        model2vec, `WordVectors`, KeyedVectors of gensim, or its Word2Vec and FastText.
    **options
        Parameters of the class. For a sentence encoder with a Router, the class may
        depend on `task`, such as ``task="query"``.

    Returns
    -------
    source
        The unfitted source: a `TransformerEmbedding` for transformers and sentence
        encoders; a `StaticSubwordEmbedding` with ``output="mean"`` for model2vec and
        the sentence encoders that begin with StaticEmbedding or WordEmbeddings; an
        `ElmoEmbedding` for folders and archives of ELMo; a `PretrainedEmbedding` for
        vectors of words.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder, or the name cannot be looked up.
    ValueError
        If a folder has no model of a known kind.

    See Also
    --------
    EmbeddingUnion : Combines several sources.

    Notes
    -----
    Names that begin as in gensim-downloader, such as "glove-", are looked up
    there, and other names on the hub, from which a few small files are downloaded.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import WordVectors, make_embedding
    >>> vectors = WordVectors.from_arrays(["tea", "cup"], np.eye(2))
    >>> make_embedding(vectors, oov="mean")
    PretrainedEmbedding(oov='mean', vectors=WordVectors(...))
    """
    # The models of gensim keep their vectors apart from the network.
    model = getattr(model, "wv", model)
    name = _class_name(model, options.get("revision"), options.get("task"))
    if name == "StaticSubwordEmbedding":
        options = {"output": "mean", **options}
    return _CLASSES[name](model, **options)


def _class_name(model, revision, task):
    if isinstance(model, str | os.PathLike):
        return _class_of_path(os.path.expanduser(os.fspath(model)), revision, task)
    if isinstance(model, WordVectors) or hasattr(model, "key_to_index"):
        return "PretrainedEmbedding"
    package = type(model).__module__.partition(".")[0]
    if isinstance(model, dict) or package in _WORD_PACKAGES:
        return "PretrainedEmbedding"  # its error says what to pass
    if isinstance(model, StaticContent) or is_static_model(model):
        return "StaticSubwordEmbedding"
    if is_sentence_encoder(model):
        (first, _), *_ = loaded_modules(model, task)
        if first in STATIC_MODULES:
            return "StaticSubwordEmbedding"
    return "TransformerEmbedding"


def _class_of_path(path, revision, task):
    if os.path.isdir(path):
        name = source_of_folder(path, task)
        if name is None:
            found = sorted(os.listdir(path))[:10]
            raise ValueError(
                f"the folder {path} has no model of a known kind: no "
                "modules.json or config.json, and it is not a store of word vectors. "
                f"Its files are {found}."
            )
        return name
    if os.path.isfile(path):
        if path.endswith(_WEIGHTS):
            raise ValueError(
                f"{path} is a file of weights, not of word vectors. Pass the folder of "
                "the model, with its configuration and its tokenizer."
            )
        return "ElmoEmbedding" if is_archive(path) else "PretrainedEmbedding"
    if looks_like_path(path) or path.startswith(_GENSIM):
        return "PretrainedEmbedding"  # raises if the model is missing
    # Without a table to read, the type in config.json decides.
    options = {"revision": revision, "allow_patterns": _DECIDING}
    folder = download(path, "modules.json or config.json", **options)
    return source_of_folder(folder, task) or "TransformerEmbedding"
