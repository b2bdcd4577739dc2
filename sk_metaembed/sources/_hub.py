"""Models in folders and on the Hugging Face hub."""

import os


def find_folder(spec, expected, *, local, **options):
    """Return a spec of a model and the folder of its files, downloaded if necessary.

    Its path is absolute, or its revision a commit: pickles and saved files refer to it.

    Parameters
    ----------
    spec : NamedTuple
        With the fields `model`, a path or a name, and `revision`.
    expected : str
        What a folder should contain.
    local : bool
        Whether nothing is downloaded.
    **options
        Of `huggingface_hub.snapshot_download`.

    Raises
    ------
    FileNotFoundError
        If there is no such model, or it cannot be downloaded.
    """
    folder = os.path.abspath(os.path.expanduser(spec.model))
    if os.path.isdir(folder):
        return spec._replace(model=folder), folder
    try:
        if looks_like_path(spec.model):
            raise FileNotFoundError(
                f"there is no folder {spec.model!r}. It should contain {expected}."
            )
        options |= {"revision": spec.revision, "local_files_only": local}
        folder = download(spec.model, expected, **options)
    except FileNotFoundError as error:
        if not local:
            raise
        raise FileNotFoundError(
            f"{spec.model!r} is not on this machine, and loading a file downloads "
            "nothing."
        ) from error
    # The hub's folder is named after the commit.
    return spec._replace(revision=os.path.basename(folder)), folder


def download(name, expected, *, revision=None, **options):
    """Return the folder of a model on the hub, downloaded if it is not on this machine.

    Parameters
    ----------
    name : str
    expected : str
        What a local folder should contain.
    revision : str, default=None
    **options
        Of `huggingface_hub.snapshot_download`.

    Raises
    ------
    FileNotFoundError
        If the model cannot be downloaded.
    """
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(name, revision=revision, **options)
    except Exception as error:  # the client's errors share no base class
        at = "" if revision is None else f" (revision {revision!r})"
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise FileNotFoundError(
            f"{name!r}{at} is not a local folder and could not be downloaded "
            f"from the Hugging Face hub: {type(error).__name__}: {reason.rstrip('.')}. "
            f"Without a network, pass the path of a folder with {expected}, as on "
            f"https://huggingface.co/{name}/tree/{revision or 'main'}."
        ) from error


def looks_like_path(name):
    """Return whether a str is a path rather than the name of a model on the hub."""
    return name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1
