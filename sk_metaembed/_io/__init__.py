"""Files, handles and compiled code that every room may use."""
