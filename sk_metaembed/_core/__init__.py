"""Array arithmetic, parameter checks, messages and types that all subpackages share."""
