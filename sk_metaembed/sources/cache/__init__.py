"""The sentence cache of the contextual sources."""
