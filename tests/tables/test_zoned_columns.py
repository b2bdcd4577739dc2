"""Columns of dates and times with a time zone, without one, and with both."""

import datetime
import warnings
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_metaembed import TableEncoder

START = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
STEP = datetime.timedelta(hours=31, minutes=7)
# Summer time begins on the way, so that there are two offsets.
PARIS = [(START + i * STEP).astimezone(ZoneInfo("Europe/Paris")) for i in range(60)]
NAIVE = [each.astimezone(datetime.UTC).replace(tzinfo=None) for each in PARIS]
ARROW = pd.ArrowDtype(pa.timestamp("us", "Europe/Paris"))
ZONED = {
    "pandas": pd.Series(PARIS),
    "objects": pd.Series(PARIS, dtype=object),
    "fixed offsets": pd.Series(
        [each.replace(tzinfo=datetime.timezone(each.utcoffset())) for each in PARIS],
        dtype=object,
    ),
    "arrow in pandas": pd.Series(PARIS).astype(ARROW),
    "polars": pl.Series(NAIVE)
    .dt.replace_time_zone("UTC")
    .dt.convert_time_zone("Europe/Paris"),
    "arrow": pa.array(NAIVE, pa.timestamp("us", "Europe/Paris")),
    "ISO": pd.Series([each.isoformat() for each in PARIS]),
    "names": pd.Series([f"{each:%Y-%m-%d %H:%M:%S} Europe/Paris" for each in PARIS]),
    "abbreviations": pd.Series([f"{each:%Y-%m-%d %H:%M:%S %Z}" for each in PARIS]),
    "web server": pd.Series([f"{each:%d/%b/%Y:%H:%M:%S %z}" for each in PARIS]),
    "compact": pd.Series([f"{each:%Y%m%dT%H%M%SZ}" for each in NAIVE]),
}
WITHOUT = {
    "pandas": pd.Series(NAIVE),
    "objects": pd.Series(NAIVE, dtype=object),
    "polars": pl.Series(NAIVE),
    "arrow": pa.array(NAIVE),
    "text": pd.Series([str(each) for each in NAIVE]),
}


def table(column):
    """Return a table of one column, in the library of the column."""
    if isinstance(column, pl.Series):
        return pl.DataFrame({"seen": column})
    if isinstance(column, pa.Array):
        return pa.table({"seen": column})
    return pd.DataFrame({"seen": column})


@pytest.fixture(scope="module", name="features")
def features_of_typed_dates():
    return TableEncoder().fit_transform(table(ZONED["pandas"]))


@pytest.mark.parametrize("container", ZONED)
def test_zones_are_converted_to_utc_whatever_the_container(container, features):
    encoder = TableEncoder()
    with warnings.catch_warnings(action="error"):
        found = encoder.fit_transform(table(ZONED[container]))
        new = encoder.transform(table(ZONED["pandas"]))
    np.testing.assert_allclose(found, features, rtol=1e-6)
    np.testing.assert_allclose(new, features, rtol=1e-6)


@pytest.mark.parametrize("container", WITHOUT)
def test_a_zone_in_fit_or_predict_alone_is_named_in_a_warning(container):
    zoned, without = table(ZONED["objects"]), table(WITHOUT[container])
    encoder = TableEncoder().fit(zoned)
    with pytest.warns(UserWarning, match="'seen' was written as .*Z' in fit, but has"):
        encoder.transform(without)
    encoder = TableEncoder().fit(without)
    for other in ("pandas", "ISO", "names"):
        with pytest.warns(UserWarning, match="'seen' was written as '.*, but has '20"):
            encoder.transform(table(ZONED[other]))


@pytest.mark.parametrize("as_cell", [str, lambda date: date])
def test_cells_with_and_without_a_zone_in_one_column(as_cell):
    cells = pd.Series(map(as_cell, PARIS[:50] + NAIVE[50:]), dtype=object)
    with pytest.warns(UserWarning, match="has '.*with a time zone, and .*read as UTC"):
        found = TableEncoder().fit_transform(table(cells))
    np.testing.assert_allclose(found[:, 0], [_days(each) for each in PARIS], rtol=1e-6)


def _days(date):
    return date.timestamp() / 86400


@pytest.mark.parametrize(
    "texts",
    [
        [f"2024-08-{i % 28 + 1:02} {i % 24:02}:15 IST" for i in range(60)],
        [f"2024-08-{i % 28 + 1:02} {i % 24:02}:15 Mars/Olympus" for i in range(60)],
        [f"{i % 24:02}:{i % 60:02} PT" for i in range(60)],
    ],
)
def test_zones_of_unknown_offset_are_named(texts):
    zone = texts[0].split()[-1]
    with pytest.warns(UserWarning, match=f"'seen' has .*offset of '{zone}' from UTC"):
        encoder = TableEncoder().fit(table(pd.Series(texts)))
    without = [text.removesuffix(f" {zone}") for text in texts]
    with pytest.warns(UserWarning, match="'seen' was written as"):
        found = encoder.transform(table(pd.Series(without)))
    np.testing.assert_array_equal(found, encoder.transform(table(pd.Series(texts))))


def test_zones_in_columns_of_words_are_not_named():
    texts = pd.Series(["soon", "later", "2024-08-01 10:15 IST", "2024-08-01"] * 20)
    with warnings.catch_warnings(action="error"):
        TableEncoder().fit(table(texts))


@pytest.mark.parametrize("date", [datetime.datetime.max, datetime.datetime.min])
def test_the_last_and_the_first_dates_may_have_an_offset(date):
    zones = [datetime.timezone(datetime.timedelta(hours=h)) for h in (-5, 5)]
    cells = pd.Series([date.replace(tzinfo=zone) for zone in zones] * 5, dtype=object)
    texts = cells.map(str)
    found = [TableEncoder().fit_transform(table(each)) for each in (cells, texts)]
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all()
