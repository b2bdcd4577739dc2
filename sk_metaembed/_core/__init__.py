"""Array arithmetic, parameter checks, decorators and types that all rooms share."""
