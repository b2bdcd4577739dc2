# Sourced by the scripts of this folder: creates a temporary virtual environment with
# the given packages, and runs the Python program on standard input in it.
#     . "$(dirname "$0")/_run.sh"
#     run_with "package==1.0" "other==2.0" <<'PROGRAM'
#     ...
#     PROGRAM
set -eu

run_with() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    "${PYTHON:-python3}" -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    cat >"$folder/program.py"
    (cd "$folder" && venv/bin/python program.py)
}
