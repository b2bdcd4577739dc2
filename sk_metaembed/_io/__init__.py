"""Files, downloads, locks and caches of open handles, for all subpackages."""
