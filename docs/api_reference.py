"""The API reference as data: every public name of every subpackage, in reading order.

Public names missing from SUBPACKAGES are shown under "More" at the end of theirs;
`tests/test_docs.py` compares both with the `__all__` of each subpackage.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

import sk_metaembed

# Subpackage, its heading, and its sections with their names.
SUBPACKAGES = {
    "sequences": (
        "Tokens and containers",
        {
            "Steps": ["Tokenizer"],
            "Containers": ["TokenSequences", "EmbeddedSequences", "Block"],
            "Pairs and tags": ["SequencePairs", "convert_tags"],
            "For custom steps": [
                "check_tokens",
                "SequencesInputMixin",
                "EmbeddedInputMixin",
                "SequencesOutputMixin",
            ],
        },
    ),
    "vectors": (
        "Word vector files",
        {
            "": [
                "WordVectors",
                "export_vectors",
            ]
        },
    ),
    "sources": (
        "Sources",
        {
            "Static vectors": [
                "PretrainedEmbedding",
                "Word2VecEmbedding",
                "FastTextEmbedding",
            ],
            "Static vectors of subwords": ["StaticSubwordEmbedding"],
            "Contextual vectors": ["ElmoEmbedding", "TransformerEmbedding"],
            "Text vectors learned from texts": [
                "LSAEmbedding",
                "DistilledEmbedding",
            ],
            "Text vectors learned from labels": ["ContrastiveEmbedding"],
            "A language model for ELMo": ["ElmoLanguageModel"],
            "Functions and estimators": ["FunctionEmbedding", "EstimatorEmbedding"],
            "Trained with a Dynamic* estimator": [
                "TrainableTransformer",
                "TrainableCharacters",
                "TrainablePositions",
                "TrainableTokens",
            ],
            "Several sources": [
                "EmbeddingUnion",
                "make_embedding",
                "make_embedding_union",
                "source_subsets",
            ],
            "The sentence cache": ["EmbeddingCache"],
            "From contextual to static": ["contextual_to_static"],
            "For custom sources": ["BaseEmbedding", "BaseWordEmbedding"],
        },
    ),
    "meta": (
        "Meta-embeddings",
        {
            "Without learned parameters": [
                "ConcatMetaEmbedding",
                "AverageMetaEmbedding",
            ],
            "Linear": [
                "SVDMetaEmbedding",
                "GCCAMetaEmbedding",
                "ProcrustesMetaEmbedding",
                "OneToNMetaEmbedding",
            ],
            "Nonlinear": [
                "AutoencodedMetaEmbedding",
            ],
            "With labels": ["StackedMetaClassifier", "StackedMetaRegressor"],
            "Imputation": ["SourceImputer"],
            "Reduction of each source": ["BlockPCA"],
            "For custom meta-embeddings": ["BaseMetaEmbedding"],
        },
    ),
    "dynamic": (
        "Dynamic meta-embeddings: DME, CDME, scalar mix",
        {
            "": [
                "DynamicMetaEmbedding",
                "DynamicMetaClassifier",
                "DynamicMetaRegressor",
                "DynamicMetaTagger",
            ]
        },
    ),
    "pooling": (
        "Pooling",
        {
            "": [
                "Pooling",
                "CommonComponentRemoval",
            ]
        },
    ),
    "adapters": (
        "Tagging and pairs with any scikit-learn estimator",
        {"": ["TokenClassifier", "PairEncoder"]},
    ),
    "tables": (
        "Tables, and columns of texts",
        {
            "": [
                "TableEncoder",
                "TableClassifier",
                "TableRegressor",
                "TextMetaEncoder",
                "make_table_pipeline",
                "make_text_pipeline",
            ]
        },
    ),
    "out_of_core": ("Data larger than memory", {"": ["transform_in_batches"]}),
    "metrics": (
        "Metrics",
        {
            "Scores": [
                "word_similarity_score",
                "sentence_similarity_score",
                "coverage_report",
            ],
            "Scores for tags": ["span_f1_score"],
        },
    ),
    "inspection": (
        "Inspection",
        {
            "": [
                "compare_sources",
                "SourceComparisonDisplay",
                "SourceWeightsDisplay",
                "TokenWeightsDisplay",
                "explain",
                "Explanation",
            ]
        },
    ),
    "persistence": (
        "Saving and loading",
        {"": ["save", "load", "UntrustedError"]},
    ),
    "datasets": (
        "Data sets",
        {
            "Tables, texts and models, installed with pip": [
                "load_birds",
                "load_bbc_news",
                "load_glove_6b_50d",
                "encoder_path",
            ],
            "Read from files": ["load_conll"],
            "Downloaded once and cached": [
                "fetch_wnut17",
                "fetch_sentence_pairs",
            ],
            "Evaluation sets, installed with gensim": ["load_word_similarity"],
        },
    ),
    "utils.estimator_checks": (
        "Checks of your own steps",
        {"": ["check_estimator"]},
    ),
}

HEAD = """\
.. Written by docs/api_reference.py when the site is built.

API reference

All public classes and functions, by topic. Names listed under ``sk_metaembed`` are
imported from the top level, the others from their subpackage.

"""


def path(subpackage, name):
    """Return the dotted name that users import."""
    if name in sk_metaembed.__all__:
        return f"sk_metaembed.{name}"
    return f"sk_metaembed.{subpackage}.{name}"


def subpackages():
    """Return the public names of SUBPACKAGES, and all others under "More"."""
    layout = {}
    for subpackage in (*SUBPACKAGES, *sk_metaembed._SUBPACKAGES):
        home = "utils.estimator_checks" if subpackage == "utils" else subpackage
        title, sections = SUBPACKAGES.get(home, (home.capitalize(), {}))
        public = import_module(f"sk_metaembed.{home}").__all__
        shown = {
            section: [name for name in names if name in public]
            for section, names in sections.items()
        }
        named = {name for names in shown.values() for name in names}
        rest = [name for name in public if name not in named]
        layout[home] = title, {**shown, **({"More": rest} if rest else {})}
    return layout


def entries():
    """Return every public object by its dotted path."""
    return {
        path(subpackage, name): getattr(
            import_module(f"sk_metaembed.{subpackage}"), name
        )
        for subpackage, (_, sections) in subpackages().items()
        for names in sections.values()
        for name in names
    }


def table(subpackage, names):
    """Return a table of links and summaries."""
    lines = [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*lines, *(f"   ~{path(subpackage, name)}" for name in names), ""]


def page():
    """Return the index of the reference as reStructuredText."""
    lines = [HEAD]
    for subpackage, (title, sections) in subpackages().items():
        lines += [f".. _api-{subpackage}:", "", title, "-" * len(title), ""]
        doc = import_module(f"sk_metaembed.{subpackage}").__doc__.splitlines()[0]
        lines += [f"``sk_metaembed.{subpackage}``: {doc}", ""]
        for section, names in sections.items():
            if section:
                lines += [f".. rubric:: {section}", ""]
            lines += table(subpackage, names)
    return "\n".join(lines)


def write(app, config=None):
    """Write the index, if it has changed, and remove pages of removed names."""
    file = Path(app.srcdir, "api", "index.rst")
    file.parent.mkdir(exist_ok=True)
    for old in file.parent.glob("generated/*.rst"):
        if old.stem not in entries():
            old.unlink()
    if not file.exists() or file.read_text("utf-8") != page():
        file.write_text(page(), "utf-8")


def own_methods(fullname):
    """Return the public methods of a class that are defined in this package."""
    home, _, name = fullname.rpartition(".")
    cls = getattr(import_module(home), name)
    ours = {
        method
        for owner in cls.__mro__
        if owner.__module__.startswith("sk_metaembed.")
        for method, member in vars(owner).items()
        if not method.startswith("_")
        and (
            inspect.isfunction(member)
            or isinstance(member, property | classmethod | staticmethod)
        )
    }
    first = ["fit", "transform", "fit_transform", "predict", "predict_proba"]
    return sorted(ours, key=lambda m: (first.index(m) if m in first else 9, m))


def kind(fullname, method):
    """Return the autodoc type of a member: a method or a property."""
    home, _, name = fullname.rpartition(".")
    member = inspect.getattr_static(getattr(import_module(home), name), method)
    return "property" if isinstance(member, property) else "method"


def is_step(fullname):
    """Return whether a class also has scikit-learn's own methods."""
    home, _, name = fullname.rpartition(".")
    return hasattr(getattr(import_module(home), name), "get_params")


TRAILING = re.compile(r"(``.*?``|`[^`]*`|\w+?_+(?=[\s,.;:)*\"']|$))")


STABILITY = Path(__file__).with_name("stability.rst").read_text("utf-8")
EXPERIMENTAL = {
    *re.findall(
        r"`~([\w.]+)`",
        STABILITY.partition("Experimental\n---")[2].partition("\nDeprecation\n")[0],
    )
}


def mark_experimental(app, what, name, obj, options, lines):
    """Add a note, below the summary, to names that the page on stability lists."""
    if name in EXPERIMENTAL:
        end = lines.index("") if "" in lines else len(lines)
        lines[end:end] = ["", ".. note:: Experimental, see :doc:`/stability`."]


def escape(app, what, name, obj, options, lines):
    """Escape names such as ``components_``, which would be read as references.

    numpydoc has already converted the docstring to reStructuredText. Examples come last
    and are left as they are.
    """
    for i, line in enumerate(lines):
        if line.startswith(".. rubric:: Examples"):
            break
        line = re.sub(r"(?<=\w)@(?=\d)", r"\\@", line)  # R@10 is not an address
        lines[i] = TRAILING.sub(_escaped, line)


def _escaped(match):
    text = match[0]
    name = text.rstrip("_")
    return text if text[0] == "`" else name + r"\_" * (len(text) - len(name))


SHORT = {dotted.rpartition(".")[2]: dotted for dotted in entries()}


def resolve(app, env, node, contnode):
    """Link `Name` and `Name.method` of public objects from any page."""
    if node.get("refdomain") != "py":
        return None
    requested = node.get("reftarget", "").removeprefix("sk_metaembed.")
    name, _, rest = requested.partition(".")
    if name not in SHORT:
        return None
    target = SHORT[name] + (f".{rest}" if rest else "")
    if target == node["reftarget"]:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, contnode
    )
