"""Errors begin with the name of the public call that raised them, once."""

import ast
import re
from pathlib import Path

import pytest

import sk_metaembed
from sk_metaembed.sequences import SequencesInputMixin


def reject():
    """Raise an error of this package."""
    code = compile("raise ValueError('value must be 1')", "file", "exec")
    exec(code, vars(sk_metaembed))


class Base(SequencesInputMixin):
    @classmethod
    def make(cls):
        reject()

    def check(self):
        """Refuse everything."""
        reject()


class Child(Base):
    def other(self):
        self.check()

    def foreign(self):
        int("x")


class Outer(Base):
    def call(self):
        Child().check()


@pytest.mark.parametrize(
    "call", [Child.make, Child().check, Child().other, Outer().call]
)
def test_methods_name_the_class_of_the_innermost_object_once(call):
    with pytest.raises(ValueError, match=r"^Child: value must be 1$"):
        call()
    assert (Base.check.__name__, Base.check.__doc__) == ("check", "Refuse everything.")


def test_errors_of_other_packages_are_not_named():
    with pytest.raises(ValueError, match="^invalid literal"):
        Child().foreign()


def messages(path):
    """Yield the first word of each message that a file raises, if a colon follows."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for part in ast.walk(node) if isinstance(node, ast.Raise) else ():
            if isinstance(part, ast.Constant | ast.JoinedStr):
                yield from re.findall(r"^f?.([A-Z]\w+[a-z]): ", ast.unparse(part))


def test_messages_do_not_begin_with_the_name_of_a_public_class():
    for path in Path(sk_metaembed.__file__).parent.rglob("*.py"):
        assert not {*sk_metaembed.__all__}.intersection(messages(path)), path
