"""Public classes name their room, and do not show other code as their source."""

import inspect
import re

import pytest

from ..test_public import OBJECTS

CLASSES = [thing for thing in OBJECTS.values() if isinstance(thing, type)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_source_is_that_of_the_class_or_unavailable(cls):
    assert re.fullmatch(r"sk_metaembed\.[a-z_.]+", cls.__module__)
    try:
        source = inspect.getsource(cls)
    except OSError:
        return
    assert re.search(rf"^class {cls.__name__}\b", source, flags=re.MULTILINE)
