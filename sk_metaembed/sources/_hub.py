"""Downloads from the Hugging Face hub, with errors that say what to pass instead."""


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
