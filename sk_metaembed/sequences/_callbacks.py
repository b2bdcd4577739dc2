"""The skorch callbacks that a user hands to an estimator."""


def check_callbacks(callbacks, *, whose):
    """Raise for what is no skorch callback.

    Parameters
    ----------
    callbacks : sequence or None
        Of skorch callbacks, or of pairs (name, callback).
    whose : str
        Begins the error message.

    Raises
    ------
    TypeError
        With what came and what is allowed.
    """
    for callback in callbacks or []:
        named = isinstance(callback, tuple) and len(callback) == 2
        if not hasattr(callback[1] if named else callback, "on_epoch_end"):
            raise TypeError(
                f"{whose}: callbacks must hold skorch callbacks or pairs (name, "
                f"callback), got {callback!r}."
            )
