"""StaticSubwordEmbedding: tables of model2vec and of sentence-transformers."""

from __future__ import annotations

import os
from typing import Any, Literal

from ..._core._inherited_docs import inherit_docs
from ..._core._sklearn import COUNT, HasMethods, StrOptions
from ..._core._typing import StrPath
from ..._io._handle import shared_handle
from ...sequences import Block
from .._base import BaseEmbedding, Preprocess, SourceDocs
from .._fingerprint import fingerprint_of
from .._loaded_encoder import ModelParameterMixin
from ._model import LoadedStaticModel, StaticContent, StaticModel, StaticSpec


@inherit_docs(SourceDocs)
class StaticSubwordEmbedding(ModelParameterMixin, BaseEmbedding):
    r"""Embed words or whole texts with a static table of subwords or words.

    For models of model2vec (such as potion) and the sentence encoders of
    sentence-transformers that begin with StaticEmbedding or WordEmbeddings (averaged
    GloVe). These models have one vector per subword of a transformer's tokenizer, or
    per word, and need no network: hundreds of times as fast as the transformer that
    they were distilled from. Only words without any subword are unknown.

    Parameters
    ----------
    model : str, path-like, StaticModel or SentenceTransformer
        A folder of model2vec or sentence-transformers, or a name on the Hugging Face
        hub, of which no code is executed; or a loaded model, which pickles contain.
    output : {"words", "mean"}, default="words"
        "words" returns one vector per distinct token, the mean of its subwords, like
        every source of word vectors. "mean" returns the vector of each whole text that
        the model's own library returns, at the sequence level.
    dim : int, default=None
        Number of leading dimensions to use, for models whose dimensions are ordered
        (PCA, Matryoshka). None for all, or for texts the ``truncate_dim`` in the files
        of a sentence encoder.
    max_length : int, None or "model", default="model"
        Number of subwords of a text that ``output="mean"`` reads: its first ones, or
        its last ones if the tokenizer of a sentence encoder truncates on the left. None
        for all, "model" for what the model's library does by default: 512 in model2vec.
    prompt : str, default=None
        Text to prepend to each text with ``output="mean"``, such as "query: ". None for
        the prompt called `prompt_name`, or the default prompt in the encoder's files,
        if there is one.
    prompt_name : str, default=None
        Name of a prompt in a sentence encoder's files, such as "query".
    task : str, default=None
        Kind of the texts, such as "query" or "document": selects the modules of a
        Router in the model's files, and the prompt of that name, as `encode_query` and
        `encode_document` of sentence-transformers do. None for the default route and
        the default prompt.
    revision : str, default=None
        Branch, tag or commit on the hub.

    Attributes
    ----------
    fingerprint_ : str
        Digest of weights, tokenizer and options.

    Raises
    ------
    FileNotFoundError
        If the model is missing; the message names the expected files.
    ValueError
        If the files belong to another kind of model, or do not fit together.
    ImportError
        If tokenizers is not installed.

    Warns
    -----
    UserWarning
        Once per process, if texts are longer than `max_length`.

    See Also
    --------
    PretrainedEmbedding : Vectors of whole words.
    TransformerEmbedding : Contextual vectors from slower models.

    Notes
    -----
    The vector of a subword t is :math:`w_t E_{m(t)}`: a row of the table, which several
    subwords share if the vocabulary is quantized, times a weight if the model has any
    [1]_. A text has the mean over its subwords, scaled to unit length if the model says
    so. As in its own library, model2vec cuts a text to `max_length` times the median
    number of characters of a subword, then to `max_length` subwords, and leaves out
    unknown subwords; sentence-transformers counts them. An empty text is unknown, also
    to a model with a prompt, for which sentence-transformers returns the vector of the
    prompt. Sums are float64 and vectors float32; model2vec rounds to float16 if the
    table is float16.

    With ``output="mean"`` the original texts are read, with case and punctuation,
    however they were tokenized; token lists are joined by spaces. With "words", the
    tokens are read: for a cased model, use ``Tokenizer(lowercase=False)``.

    With BERT's tokenizer, which most models have, each distinct word is split once and
    its subwords are remembered. With other tokenizers, and in texts with special
    tokens, the subwords of a word may depend on its neighbors, so whole texts are
    split. The subwords are the same.

    A process reads a table once. Pickles contain the path and the fingerprint, not the
    table. `dim` cuts the table of model2vec, as its ``dimensionality`` does, and the
    vectors of texts that sentence-transformers returns, as its ``truncate_dim`` does,
    after they are scaled to unit length.

    The vectors of texts without known words are zero, also if modules of a sentence
    encoder map zeros to other vectors. WordEmbeddings split a text at whitespace,
    without stop words, and a word that is not in the vocabulary is looked up without
    punctuation and in lowercase.

    References
    ----------
    .. [1] S. Tulkens and T. van Dongen (2024). Model2Vec: fast state-of-the-art static
       embeddings. https://github.com/MinishLab/model2vec

    Examples
    --------
    A tiny model:

    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> from safetensors.numpy import save_file
    >>> from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    >>> from sk_metaembed import StaticSubwordEmbedding
    >>> subwords = {"[UNK]": 0, "tea": 1, "cup": 2, "##s": 3}
    >>> tokenizer = Tokenizer(models.WordPiece(subwords, unk_token="[UNK]"))
    >>> tokenizer.normalizer = normalizers.BertNormalizer()
    >>> tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name)
    >>> tokenizer.save(str(path / "tokenizer.json"))
    >>> table = np.array([[0, 0], [4, 0], [0, 4], [0, 2]], dtype=np.float32)
    >>> save_file({"embeddings": table}, path / "model.safetensors")
    >>> _ = (path / "config.json").write_text(json.dumps({"normalize": False}))
    >>> source = StaticSubwordEmbedding(path)
    >>> source.fit_transform(["Cups, tea"]).blocks[0].values
    array([[0., 3.],
           [4., 0.]], dtype=float32)
    >>> source.set_params(output="mean").fit_transform(["Cups, tea"]).blocks[0].values
    array([[1.3333334, 2.       ]], dtype=float32)
    >>> folder.cleanup()
    """

    _parameter_constraints: dict = {
        "model": [str, os.PathLike, StaticContent, HasMethods("encode")],
        "output": [StrOptions({"words", "mean"})],
        "dim": [COUNT, None],
        "max_length": [COUNT, None, StrOptions({"model"})],
        "prompt": [str, None],
        "prompt_name": [str, None],
        "task": [str, None],
        "revision": [str, None],
    }

    def __init__(
        self,
        model: StrPath | Any,
        *,
        output: Literal["words", "mean"] = "words",
        dim: int | None = None,
        max_length: int | Literal["model"] | None = "model",
        prompt: str | None = None,
        prompt_name: str | None = None,
        task: str | None = None,
        revision: str | None = None,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.model = model
        self.output = output
        self.dim = dim
        self.max_length = max_length
        self.prompt = prompt
        self.prompt_name = prompt_name
        self.task = task
        self.revision = revision
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        try:
            import tokenizers  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "Static subword models require tokenizers: "
                "pip install 'sk_metaembed[subwords]'."
            ) from error
        model = self._model = self._open_model()
        prompt = model.settings.prompt(self.prompt, self.prompt_name, self.task)
        self._options = self.output, self.max_length, prompt
        self.fingerprint_ = fingerprint_of({"model": model.fingerprint, "text": prompt})

    def _open_model(self):
        """Return the process's handle on the model."""
        if isinstance(self.model, str | os.PathLike):
            path = os.fspath(self.model)
            spec = StaticSpec(path, self.revision, self.dim, self.task)
            return shared_handle(StaticModel, spec)
        content = StaticContent.of(self.model, self.task)
        if content is None:
            raise TypeError(
                "model must be a folder, a name on the Hugging Face hub, a StaticModel "
                f"of model2vec or a SentenceTransformer; got {type(self.model)}."
            )
        return LoadedStaticModel.of(content, self.dim)

    def _portable_model(self):
        """Return the files of a loaded model, the fitted ones if they are equal."""
        if isinstance(self.model, str | os.PathLike):
            return None
        content = StaticContent.of(self.model, self.task)
        fitted = getattr(getattr(self, "_model", None), "content", None)
        same = content and fitted and fitted.files == content.files
        return fitted if same else content

    def _embed(self, tokens):
        output, max_length, prompt = self._options
        model = self._model
        if output == "words":
            values, known = model.embed_words(tokens.types.tolist())
            return Block(self.block_name, values, "type", known, copy=False)
        if tokens.texts is None:
            texts = [" ".join(words) for words in tokens.to_list()]
        else:
            texts = tokens.texts.tolist()
        values, known = model.embed_texts(texts, max_length, prompt)
        return Block(self.block_name, values, "sequence", known, copy=False)
