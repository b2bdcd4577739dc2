"""The torch device that a parameter names."""


def chosen_device(name, *, whose):
    """Return the torch device for "auto" or a name of torch's.

    Parameters
    ----------
    name : str
        "auto" takes a GPU if there is one.
    whose : str
        Begins the error messages.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        If there is no such device.
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(
            f"{whose}: device={name!r} is no torch device. Use 'auto', 'cpu', 'cuda' "
            "or 'cuda:1'."
        ) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"{whose}: device={name!r} was asked for, but torch sees no GPU (torch "
            f"{torch.__version__}). Use device='auto' or 'cpu'."
        )
    return device
