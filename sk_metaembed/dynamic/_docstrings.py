"""The parameters' description, once for all Dynamic* estimators."""

import re
from inspect import cleandoc

_COMMON = """attention : {"word", "context", "task", "uniform"}, default="word"
    What a source's weight may see. "word": the word (DME). "context": a small
    BiLSTM over the sequence (CDME). "task": nothing, one weight a source, and a
    factor gamma (ELMo's scalar mix). "uniform": no weights, a plain sum.
trainable : FineTuned, CharEmbedding, or list of (str, source), default=None
    Sources whose own weights are trained too, at their own learning rates, beside
    the blocks of X or alone. X may then be texts, token lists or TokenSequences; it
    must hold blocks if it did in fit. `FineTuned` wraps a `TransformerEmbedding`;
    `CharEmbedding` learns words' vectors from their characters.
gate : {"softmax", "sigmoid"}, default="softmax"
    Weights that sum to 1 over the sources that know the word, or each by itself.
projection_dim : int or None, default=256
    Dimension all sources are projected to. None mixes the vectors as they come;
    their dimensions must then agree.
activation : {"relu"} or None, default="relu"
    Applied to the mixed vectors.
layer_norm : bool, default=False
    Bring each word's vector of each source, projected, to mean 0 and variance 1
    before it is weighed, so that no source counts more for being longer.
mix_penalty : float, default=0.0
    Pulls the weights of ``attention="task"`` towards equal ones: lambda of the
    penalty lambda * abs(s)^2 on what goes into their softmax. 0.001 lets them differ,
    1 comes near to the mean. Other attentions do not use it.
encoder : {"bilstm-max", "gru", "mean", "max", "attention"}, default="%(encoder)s"
    Turns a sequence's mixed vectors into one vector: a bidirectional LSTM and the
    maximum over time, a GRU's last state, the mean, the maximum, or a learned
    weighted mean. The last three leave out tokens that no source knows, as `Pooling`
    does; a recurrent layer reads them as zeros. A sequence without known tokens gives
    zeros.
encoder_dim : int or tuple of int, default=512
    Size of the recurrent layer (one direction), or of several stacked ones.
hidden_dims : tuple of int, default=%(hidden_dims)s
    Sizes of the head's hidden layers; empty for a linear head.
embedding_dropout, encoder_dropout, head_dropout : float, default=0.2, 0.0, 0.2
    Dropout on mixed vectors, on the input of recurrent layers, and in the head.
lr : float, default=%(lr)s
    Adam's learning rate.
batch_size : int, default=%(batch_size)s
    About how many sequences make a step. A batch holds sequences of about equal
    length.
micro_batch_size : int or None, default=None
    The most sequences whose gradient is computed at once, where memory is short. A
    step adds up the gradients of its batch's parts, and learns the same as from the
    batch as a whole.
max_epochs : int, default=100
    Passes over the data, if early stopping does not end training before.
weight_decay : float, default=0.0
    Adam's L2 penalty on the weights.
gradient_clip : float or None, default=5.0
    Largest norm of the gradient.
early_stopping : bool, default=True
    Hold a part of the data out, follow its accuracy (its loss for numbers and for
    label sets), and keep the weights of the best epoch. False trains on all data for
    `max_epochs` at one learning rate.
validation_fraction : float, default=0.1
    Size of that part, in proportion to the classes. ``fit`` also takes `X_val`.
patience : int, default=%(patience)s
    Epochs without a gain before training stops.
lr_factor : float, default=%(lr_factor)s
    What the learning rate is multiplied by after `lr_patience` epochs without gain.
lr_patience : int, default=%(lr_patience)s
    Epochs without a gain before the learning rate falls.
class_weight : dict, list of dict, "balanced" or None, default=None
    How much each label counts in the loss and in the held-out score; labels not
    named count 1, and "balanced" makes rare ones count more. For label sets and several
    columns of labels a list, one dict a column; a sequence's weights are multiplied.
    Must be None where y holds numbers.
device : str, default="auto"
    "auto" takes a GPU if torch sees one; else a torch device name. "cuda:auto" gives
    each process of joblib a GPU in turn. "accelerate" trains in all processes that
    ``accelerate launch`` started, each batch shared among them.
dtype : {"float32", "bfloat16"}, default="float32"
    "bfloat16" computes matrix products in mixed precision; weights stay float32.
compile : bool, default=False
    Compile the network with ``torch.compile``. Worth it for long trainings only.
callbacks : list of skorch callbacks, default=None
    Further callbacks, or (name, callback) pairs. scikit-learn's own callbacks are
    set by ``set_callbacks``.
checkpoint : str or path-like, default=None
    Folder that training is written to after each epoch, and taken up from: the same
    fit again then goes on where the process was killed, to the same weights. Each fit
    has a file of its own, known by the parameters and the data, so that the candidates
    of a search may share the folder; it is removed when the fit is over. `callbacks`
    of yours begin anew.
warm_start : bool, default=False
    Go on from the weights of the last fit, at `lr` again. What the network is made
    of must not have changed.
random_state : int, RandomState or None, default=None
    Seeds the weights, the order of batches, dropout and the held-out part.
verbose : int, default=0
    1 prints a row an epoch."""

_ATTRIBUTES = """dims_in_ : dict of str to int
    Dimension of each block in fit, by its name. Predicting wants the same.
layer_weights_ : dict of str to float
    Weight of each layer or source where `attention` is "task"; under the softmax gate
    they sum to 1. Others depend on the word, see `attention_weights`.
gamma_ : float
    What their sum is multiplied by, where `attention` is "task".
trained_ : dict of str to torch Module
    The networks of `trainable`, by the names of the sources ("finetuned" for a
    single one). ``save(folder)`` writes a transformer for others to load.
net_ : skorch.NeuralNet
    The trained net. ``net_.module_.mixer`` holds projections and attention.
history_ : skorch History
    One record an epoch: losses, held-out score, duration.
n_iter_ : int
    Epochs trained.
classes_ : ndarray of shape (n_classes,), or list of them
    Only where y holds labels; a list where these are several columns."""


_DEFAULTS = {"batch_size": "64", "patience": "3", "lr_factor": "0.2"}
_DEFAULTS |= {"encoder": "bilstm-max", "hidden_dims": "(512, 512)", "lr_patience": "0"}


def describe(entries=None, **defaults):
    """Return a class decorator that fills the docstring's placeholders.

    Parameters
    ----------
    entries : dict of str to (str or None), default=None
        Other descriptions, by the first name they describe; None leaves one out.
    **defaults
        Defaults that differ between the estimators.

    Returns
    -------
    callable
    """

    def fill(cls):
        if cls.__doc__ is None:  # python -OO
            return cls
        common = _common(entries or {}, _DEFAULTS | defaults)
        # Python 3.13 compiles docstrings without their indentation.
        text = cleandoc(cls.__doc__).replace("%(common)s", common)
        cls.__doc__ = text.replace("%(attributes)s", _ATTRIBUTES) + "\n"
        return cls

    return fill


def _common(entries, defaults):
    """Return the common parameters' entries, which begin where nothing is indented."""
    texts = re.split(r"\n(?=\w)", _COMMON % defaults)
    texts = {re.match(r"\w+", text).group(): text for text in texts} | entries
    return "\n".join(text for text in texts.values() if text is not None)
