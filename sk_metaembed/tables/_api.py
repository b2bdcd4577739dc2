"""Names that other subpackages may use, in addition to the public ones."""

from ._cells import read_cells
from ._column_format import choose_column_format
from ._column_reading import read_column
from ._table_encoder import plain_features
from ._table_reader import find_kinds
