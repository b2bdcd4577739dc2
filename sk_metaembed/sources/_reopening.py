"""What becomes of the reference to a model that a pickle holds."""


def reopened(shared, spec, fingerprint, *, what, where, parts):
    """Return the handle on the model of a pickle, on a device of this machine.

    Parameters
    ----------
    shared : callable
        Takes the spec, returns the process's handle.
    spec : NamedTuple
        With a field `device`.
    fingerprint : str
        Of the model that was pickled.
    what, where, parts : str
        Name the model, its files and what they hold, in the error message.

    Raises
    ------
    ValueError
        If the files hold another model by now.
    """
    import torch

    if spec.device.startswith("cuda") and not torch.cuda.is_available():
        spec = spec._replace(device="cpu")
    handle = shared(spec)
    if handle.fingerprint != fingerprint:
        raise ValueError(
            f"The {what} pickled here had fingerprint {fingerprint}, but {where} now "
            f"have {handle.fingerprint}: {parts} changed. Bring back what was there, "
            "or fit again."
        )
    return handle
