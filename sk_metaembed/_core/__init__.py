"""Array arithmetic, parameter checks and message text that all rooms share."""
