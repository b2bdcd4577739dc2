"""Sphinx configuration; `make docs` builds the site."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import api_reference
import ratio_history

# Without running the examples, the gallery looks up the names that they use.
from sklearn.experimental import enable_halving_search_cv  # noqa: F401

import sk_metaembed

project = "sk_metaembed"
author = "the sk_metaembed developers"
copyright = author  # noqa: A001
release = version = sk_metaembed.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_generated/*.md", "api/generated/*.bak"]
default_role = "py:obj"
suppress_warnings = ["config.cache"]  # autosummary gets functions
nitpicky = True
# Single backticks in docstrings mark parameters as well as classes.
nitpick_ignore_regex = [("py:obj", r".*")]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

# The reference: one page per object, written from api_reference.SUBPACKAGES.
autosummary_generate = True
autosummary_context = {
    "is_step": api_reference.is_step,
    "kind": api_reference.kind,
    "own_methods": api_reference.own_methods,
}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# `-D plot_gallery=0` builds the gallery without running the examples. Examples whose
# data no package contains are shown without output if the data are missing: the build
# needs no network.
NEEDS_DATA = "(?!ner_tweets|nli_pairs)"
HAS_DATA = bool(os.environ.get("SK_METAEMBED_DATA"))
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_" + ("" if HAS_DATA else NEEDS_DATA),
    "within_subsection_order": "gallery_order.GalleryOrder",
    "ignore_pattern": r"(demo|__init__)\.py",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("sk_metaembed",),
    "reference_url": {"sk_metaembed": None},
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "sk_metaembed"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# The menu of versions, whose entries tools/docs_versions.py writes.
if site := os.environ.get("DOCS_URL"):
    html_theme_options |= {
        "switcher": {"json_url": f"{site}/versions.json", "version_match": version},
        "check_switcher": False,  # the first version has no list yet
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
# Pages without siblings need no left column.
html_sidebars = {
    page: []
    for page in (
        *("index", "start", "faq", "glossary", "extending", "changelog"),
        "ratio_history",
    )
}


def setup(app):
    """Write generated pages and resolve abbreviated names in docstrings."""
    app.connect("config-inited", api_reference.write)
    app.connect("config-inited", ratio_history.write)
    app.connect("missing-reference", api_reference.resolve)
    app.connect("autodoc-process-docstring", api_reference.escape, priority=900)
    app.connect("autodoc-process-docstring", api_reference.mark_experimental)
