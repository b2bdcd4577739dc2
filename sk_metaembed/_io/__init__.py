"""Files, caches of open handles and compiled code, for all rooms."""
