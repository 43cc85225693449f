# The Python package, as a new user has it: installed into a fresh virtual environment.
load support

# Once a file: the environment, or why there is none. NumPy and pandas are those of this machine; HOGRING_LONG=1 gets them.
setup_file() {
  cd "$BATS_TEST_DIRNAME/../.."
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) echo "the release build only" >"$BATS_FILE_TMPDIR/why"; return ;; esac
  venv=$BATS_FILE_TMPDIR/venv
  export PIP_DISABLE_PIP_VERSION_CHECK=1
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "no Python 3.9" >"$BATS_FILE_TMPDIR/why"; return; }
  [ -n "${HOGRING_LONG:-}" ] || python3 -c 'import numpy, pandas' 2>/dev/null || { echo "no NumPy and pandas" >"$BATS_FILE_TMPDIR/why"; return; }
  python3 -m venv --system-site-packages "$venv" >"$BATS_FILE_TMPDIR/log" 2>&1 || { echo "no python3-venv" >"$BATS_FILE_TMPDIR/why"; return; }
  timeout 100 "$venv/bin/pip" install --quiet --no-compile --retries 1 numpy pandas 'setuptools>=70.1' >"$BATS_FILE_TMPDIR/log" 2>&1 ||
    { echo "pip has no NumPy, pandas and setuptools" >"$BATS_FILE_TMPDIR/why"; return; }
  "$venv/bin/pip" install --quiet --no-compile --no-build-isolation ./src/python >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log"; return 1; }
}

in_venv() {
  [ ! -e "$BATS_FILE_TMPDIR/why" ] || skip "$(<"$BATS_FILE_TMPDIR/why")"
  PATH=$BATS_FILE_TMPDIR/venv/bin:$PATH
}

# examples FILE: its blocks of Python, one behind the other.
examples() { sed -n '/^```python$/,/^```$/p' "$1" | grep -v '^```'; }

@test "the package's README runs as it stands" {
  in_venv
  examples src/python/README.md >"$TMP/readme.py"
  [ "$(grep -c hogring "$TMP/readme.py")" -ge 5 ]
  (cd "$TMP" && python readme.py) >"$TMP/said" 2>&1 || { cat "$TMP/said"; return 1; }
  grep -q "^--learning-rate: unknown option; did you mean --lr? 2$" "$TMP/said"
  [ -d "$TMP/runs/points" ]
}

@test "hogring help python runs as it stands" {
  in_venv
  hogring help python | sed -n 's/^    //p' | grep -v '^pip install' >"$TMP/help.py"
  [ "$(grep -c hogring "$TMP/help.py")" -ge 5 ]
  (cd "$TMP" && python help.py) >"$TMP/said" 2>&1 || { cat "$TMP/said"; return 1; }
}

@test "arrays of any kind, digests, errors, Ctrl-C and a killed child" {
  in_venv
  (cd "$TMP" && HOGRING_COMMAND="$BATS_TEST_DIRNAME/../../${HOGRING:-build/hogring}" python "$BATS_TEST_DIRNAME/python_check.py") >"$TMP/said" 2>&1 ||
    { cat "$TMP/said"; return 1; }
}

@test "python -m hogring is the command" {
  in_venv
  cd "$TMP"
  python -m hogring train --epochs 1 --quiet --workers 2 | grep -q '^weights digest  [0-9a-f]\{32\} '
  code=0
  python -m hogring train --nonsense 2>"$TMP/err" || code=$?
  [ $code = 2 ]
  command hogring --version | grep -q "^hogring 0"
}

@test "the notebook's code runs" {
  in_venv
  python - src/python/examples/digits.ipynb >"$TMP/cells.py" <<'PY'
import json, sys
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        print("".join(cell["source"]))
PY
  (cd "$TMP" && python cells.py) >"$TMP/said" 2>&1 || { cat "$TMP/said"; return 1; }
}
