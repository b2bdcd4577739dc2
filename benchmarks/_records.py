"""Results that are written line by line, so that an interrupted run resumes."""

import json
from pathlib import Path


def read_records(path):
    """Return the records of a file, none if there is no file."""
    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append_record(path, record):
    """Write a record as the last line of a file."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
