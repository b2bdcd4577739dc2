"""The maximum over windows' means."""

from ._bags import run_kernel


def write_window_max(bags, out, at, *, window_size):
    """Write the largest value of each dimension among the means of all windows.

    A window begins at every token that has ``window_size - 1`` tokens behind it, so
    the last one ends with the sequence. A shorter sequence is a single window.

    Parameters
    ----------
    bags : Bags
        Its weights are not used.
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    window_size : int
    """
    run_kernel("window_max_rows", bags, (window_size,), out, at)
