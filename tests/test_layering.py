"""Imports between the package's subpackages go down only, and modules form no circle.

The table and the diagram of CONTRIBUTING.md show which imports from which.
"""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path

import pytest

import sk_metaembed

PACKAGE = "sk_metaembed"
ROOT = Path(sk_metaembed.__file__).parent

GUIDE = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)/` \|.*\| (.*) \|$", GUIDE, flags=re.MULTILINE)
SUBPACKAGES = {
    subpackage: set(re.findall(r"`(\w+)`", below)) for subpackage, below in ROWS
}
# What a subpackage may import from. The top imports lazily, by name.
BELOW = {
    **SUBPACKAGES,
    "": {"_version"},
    "_version": set(),
    "__main__": {"_command_line"},
}

# The layers of a subpackage, each of which imports from itself and those before it.
LAYERS = {
    "dynamic": (
        # Without torch.
        "_inputs",
        "_linear_model",
        "_batches",
        "_encoders _network _crf",
        "_skorch_net _predict",
        "_base _embedding _predictors _tagger",
    ),
    "sources": (
        "_base _encoder_modules _fingerprint _model_folder _loaded_encoder "
        "_sentences _text_streams _word_rule",
        "_cache _contextual _encoder_head static_subword words",
        "elmo transformer",
        "_estimator _function trainable",
        "distillation",
        "_api _make_embedding _union",
    ),
}

# Subpackages whose private files others may import: collections of small independent
# files, which one interface would load together.
FOUNDATION = {"_core", "_io", "_kernels", "_linear", "_training"}
# Other private modules that a subpackage may import, each with the reason.
OPEN = {
    "sequences._split_numba": "compiled code, loaded where it is called",
}

# Private attributes that other subpackages read of an object, each with the reason.
OPEN_ATTRIBUTES = {
    "_active_sources": "compare_sources takes the sources of a union apart",
    "_files": "of handles, for saved files",
    "_load_network": "saved files load networks after their objects",
    "_net_parts": "saved files contain networks without code",
    "_parameters": "of torch.nn.Module",
    "_reference": "of handles, for saved files",
    "_row_info": "steps that build sequences keep the index, texts and missing rows",
    "_select_tokens": "explain reads sequences without some tokens, without embedding",
    "_table_rows": "pooling does not gather the rows of a mapped table",
    "_with_row_info": "PairEncoder gives texts the index of their pairs",
}


@cache
def modules():
    """Return the source of each module, by its dotted name below the package."""
    sources = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        sources[name, path.name == "__init__.py"] = path.read_text(encoding="utf-8")
    return sources


@cache
def imports(source, name, is_package):
    """Return the dotted names below the package that a module imports, also late."""
    package = name.split(".") if is_package else name.split(".")[:-1]
    results = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            results += _from_import(node, [part for part in package if part])
        elif isinstance(node, ast.Import):
            results += _below(*[alias.name for alias in node.names])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            results += _below(getattr(node.args[0], "value", ""))
    return results


def _below(*dotted):
    for name in dotted:
        first, _, rest = str(name).partition(".")
        if first == PACKAGE:
            yield rest


def _from_import(node, package):
    base = (node.module or "").split(".")
    if node.level:
        base = package[: len(package) - node.level + 1] + base
    elif base[0] == PACKAGE:
        base = base[1:]
    else:
        return
    base = [part for part in base if part]
    if base:
        yield ".".join(base)
    for alias in node.names:
        home = sk_metaembed._HOMES.get(alias.name) or alias.name
        yield ".".join([*base, alias.name] if base else [home])


def violations(sources):
    """Return a sentence for each import that does not go down."""
    results = []
    for (name, is_package), source in sources.items():
        subpackage = name.partition(".")[0]
        if subpackage not in BELOW:
            results.append(f"{name or PACKAGE} is in no known subpackage")
            continue
        for target in imports(source, name, is_package):
            other = target.partition(".")[0]
            if other not in BELOW and subpackage == "" and is_package:
                continue
            if other not in {subpackage, *BELOW[subpackage]}:
                results.append(f"{name or PACKAGE} imports {target}")
    return sorted(set(results))


def subpackages_below(sources):
    """Return the subpackages that each subpackage imports from."""
    below = {subpackage: set() for subpackage in SUBPACKAGES}
    for (name, is_package), source in sources.items():
        subpackage = name.partition(".")[0]
        if subpackage in below:
            targets = imports(source, name, is_package)
            subpackages = {target.partition(".")[0] for target in targets}
            below[subpackage] |= subpackages & {*SUBPACKAGES, "_version"} - {subpackage}
    return below


def arrows(below):
    """Return pairs of subpackages, without those that follow from others.

    Raises CycleError if subpackages import from each other.
    """
    reached, results = {}, set()
    for subpackage in TopologicalSorter(below).static_order():
        further = set().union(*(reached[other] for other in below[subpackage]))
        results |= {(subpackage, other) for other in below[subpackage] - further}
        reached[subpackage] = below[subpackage] | further
    return results


def climbs(sources, subpackage, layers):
    """Return a sentence for each import of a subpackage's files from a higher layer."""
    height = {n: i for i, names in enumerate(layers) for n in names.split()}
    results = []
    for (name, is_package), source in sources.items():
        own = name.split(".")[1:2]
        if not name.startswith(f"{subpackage}.") or not own:
            continue
        if own[0] not in height:
            results.append(f"{name} is in no known layer")
            continue
        for target in imports(source, name, is_package):
            if target.startswith(f"{subpackage}."):
                other = target.split(".")[1]
                if height.get(other, 0) > height[own[0]]:
                    results.append(f"{name} imports {target}")
    return sorted(set(results))


def trespasses(sources):
    """Return a sentence for each import past the interface of another subpackage.

    The interfaces are `_api` and the names without underscore.
    """
    results = []
    for (name, is_package), source in sources.items():
        for target in imports(source, name, is_package):
            subpackage, *rest = target.split(".")
            if subpackage == name.partition(".")[0] or subpackage not in SUBPACKAGES:
                continue
            rest = (
                rest[1:] if subpackage in FOUNDATION or rest[:1] == ["_api"] else rest
            )
            is_open = any(f"{target}.".startswith(f"{home}.") for home in OPEN)
            private = [part for part in rest if re.match("_(?!_)", part)]
            if private and not is_open:
                results.append(f"{name} imports {target}")
    return sorted(set(results))


def private_reads(sources):
    """Return private attributes that subpackages read of objects and do not define.

    Those of ``self``, ``cls`` and ``super()`` are inherited, and other packages' are
    not defined anywhere.
    """
    defined, read = {}, set()
    for (name, _), source in sources.items():
        subpackage = name.partition(".")[0]
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.FunctionDef(name=own) | ast.Name(id=own, ctx=ast.Store()):
                    defined.setdefault(own, set()).add(subpackage)
                case ast.Attribute(attr=own, ctx=ast.Store()) | ast.keyword(arg=own):
                    defined.setdefault(own, set()).add(subpackage)
                case ast.Attribute(value=value, attr=attribute):
                    if ast.unparse(value) not in ("self", "cls", "super()"):
                        read.add((attribute, subpackage))
    private = [(a, subpackage) for a, subpackage in read if re.match("_(?!_)", a)]
    return {
        a for a, subpackage in private if subpackage not in defined.get(a, {subpackage})
    }


def exported(sources):
    """Return the module of each name that a package's ``__init__`` imports."""
    return {
        f"{name}.{alias.asname or alias.name}": f"{name}.{node.module}"
        for (name, is_package), source in sources.items()
        if is_package
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }


def circle(sources):
    """Return modules that import each other in a circle, late imports included."""
    names, homes = dict(sources.keys()), exported(sources)
    graph = {}
    for (name, is_package), source in sources.items():
        targets = {homes.get(t, t) for t in imports(source, name, is_package)}
        # A package's __init__ loads its modules: only they can form circles.
        graph[name] = {t for t in targets - {name} if not names.get(t, True)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


def test_imports_go_down_only():
    assert violations(modules()) == []


def test_no_private_module_or_name_is_imported_from_another_room():
    assert trespasses(modules()) == []
    assert len(OPEN) < 10


def test_private_attributes_of_other_rooms_are_listed():
    assert private_reads(modules()) == OPEN_ATTRIBUTES.keys()


def test_interfaces_have_only_names_that_other_subpackages_import():
    sources = modules()
    used = set()
    for (name, is_package), source in sources.items():
        subpackage = name.partition(".")[0]
        targets = imports(source, name, is_package)
        used.update(t for t in targets if t.partition(".")[0] != subpackage)
    for name, is_package in sources:
        is_public = is_package and name in ("_pipelines", "_stacking", "_targets")
        if is_public or name.endswith("._api"):
            interface = vars(import_module(f"{PACKAGE}.{name}"))
            # Classes may be there for saved files.
            named = {
                n
                for n, v in interface.items()
                if not isinstance(v, type) or not is_public
            }
            unused = [n for n in named if f"{name}.{n}" not in used]
            assert [n for n in unused if not n.startswith("_")] == [], name


def test_no_modules_import_each_other():
    assert circle(modules()) == []


@pytest.mark.parametrize("subpackage", LAYERS)
def test_the_layers_of_a_subpackage_import_down_only(subpackage):
    assert climbs(modules(), subpackage, LAYERS[subpackage]) == []


def test_planted_imports_are_caught():
    late = "def late():\n    from "
    for place in ("..sequences import _block", "..sequences._split import split_texts"):
        assert trespasses({("sources._planted", False): late + place})
    sources = {("sequences._a", False): "class A:\n    def _f(self):\n        pass"}
    assert private_reads({**sources, ("meta._b", False): "a._f()"}) == {"_f"}
    assert not private_reads({**sources, ("meta._b", False): "self._f(), a._g()"})
    for subpackage in ("sequences", "pooling", "attic"):
        assert violations(
            {(f"{subpackage}._planted", False): late + "..vectors import x"}
        )
    sources = {("meta._a", False): "from . import _b"}
    assert not circle(sources)
    assert circle({**sources, ("meta._b", False): late + "._a import f"})


def test_the_table_lists_the_imports_of_each_room():
    assert subpackages_below(modules()) == SUBPACKAGES


def test_the_drawing_shows_every_room_and_all_imports_that_do_not_follow_from_others():
    drawn = GUIDE.partition("```mermaid")[2].partition("```")[0]
    subpackages = set(re.findall(r"^        (\w+)$", drawn, flags=re.MULTILINE))
    assert subpackages == SUBPACKAGES.keys()
    shown = set()
    for line in re.findall(r"^    (\w.*-->.*)$", drawn, flags=re.MULTILINE):
        stops = [stop.split(" & ") for stop in line.split(" --> ")]
        for above, below in pairwise(stops):
            shown |= set(product(above, below))
    assert shown == arrows(
        {
            subpackage: SUBPACKAGES[subpackage] & SUBPACKAGES.keys()
            for subpackage in SUBPACKAGES
        }
    )


def test_arrows_leave_out_what_follows():
    below = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert arrows(below) == {("a", "b"), ("b", "c")}
    with pytest.raises(CycleError):
        arrows({**below, "c": {"a"}})


def test_the_guide_names_files_that_exist():
    paths = re.findall(r"`(\w+/[\w/]+(?:\.py|/))`", GUIDE)
    assert len(paths) > 20
    for path in paths:
        assert any((root / path).exists() for root in (ROOT, ROOT.parent)), path
