"""The test suite; a package, so that no installed one of this name hides it."""
