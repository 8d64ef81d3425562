#!/usr/bin/env bash
# Makes what a maintainer uploads, and tries it: docs/releasing.md says what a release does.
#
#   tools/dev/release.sh PYTHON FOLDER
#
# PYTHON  the interpreter of an environment with the tests' packages
# FOLDER  where the sdist and the wheel go
#
# The sdist and the wheel are built twice, with equal octets; twine and check-wheel-contents look at them; each is
# installed into a clean environment and used, the wheel with each Python from 3.11 to 3.14 that is there; the oldest
# packages that pip may choose are used with the wheel; the sdist has each file of the tree, and its tests run in it, all
# of them, or the folders in SDIST_TESTS.
set -euo pipefail

python=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Nothing of this tree is found but by an installation.
unset PYTHONPATH

use() { # NAME PYTHON: a client, the broker and the command, as a new user has them
  cd "$scratch"
  "$2" - <<'PYTHON'
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker, connect(broker.url) as connection:
    outcome = connection.open_channel(confirm=True).publish(b"hello", routing_key="jobs")
assert type(outcome).__name__ == "Accepted", outcome
PYTHON
  "$(dirname "$2")/amqp-sansio" replay "$root/tests/data/captures/o091_pika_basic.pcap" --table messages \
    --output "$scratch/used.jsonl" 2>"$scratch/said" || { cat "$scratch/said"; exit 1; }
  echo "$1: a confirmed publish and a replay with $("$2" --version) and $("$(dirname "$2")/amqp-sansio" --version)"
}

pythons=()
for minor in 11 12 13 14; do
  for each in "$(command -v "python3.$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python3; do
    # pyenv's shims are there for versions that aren't.
    if [[ -x $each ]] && "$each" -c '' 2>/dev/null; then
      pythons+=("$each")
      break
    fi
  done
done

"${pythons[0]}" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install --quiet uv
"$scratch/tools/bin/uv" pip install --quiet --python "$scratch/tools/bin/python" build twine check-wheel-contents
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for out in "$folder" "$scratch/again"; do
  # Both builds have an environment of their own, each of which uv makes sooner than pip.
  PATH="$scratch/tools/bin:$PATH" "$scratch/tools/bin/python" -m build --installer uv --outdir "$out" "$root" >"$scratch/log" 2>&1 ||
    { tail -n 20 "$scratch/log" >&2; exit 1; }
done
for each in "$folder"/*; do
  cmp "$each" "$scratch/again/$(basename "$each")" || { echo "${each##*/} is another one each time" >&2; exit 1; }
done
"$scratch/tools/bin/twine" check --strict "$folder"/*
# Several packages stand at the top of the wheel.
"$scratch/tools/bin/check-wheel-contents" --ignore W009 "$folder"/*.whl

wheel=$(echo "$folder"/*.whl)
sdist=$(echo "$folder"/*.tar.gz)
# As most people do; what pip does with another Python is pip's. The wheel was made of the sdist, so one Python that
# makes it again is enough.
for made in "$sdist" "$wheel"; do
  rm -rf "$scratch/clean"
  "${pythons[0]}" -m venv "$scratch/clean"
  "$scratch/clean/bin/pip" install --quiet "$made"
  use "${made##*/}" "$scratch/clean/bin/python"
done
for each in "${pythons[@]:1}"; do
  rm -rf "$scratch/clean"
  "$scratch/tools/bin/uv" venv --quiet --python "$each" "$scratch/clean"
  "$scratch/tools/bin/uv" pip install --quiet --python "$scratch/clean/bin/python" "$wheel"
  use "${wheel##*/}" "$scratch/clean/bin/python"
done

"$scratch/tools/bin/uv" venv --quiet --python "${pythons[0]}" "$scratch/oldest"
"$scratch/tools/bin/uv" pip install --quiet --python "$scratch/oldest/bin/python" --resolution lowest-direct \
  "$wheel[arrow,spark,testing,plots]"
use 'the oldest packages' "$scratch/oldest/bin/python"
cd "$scratch"
oldest/bin/amqp-sansio replay "$root/tests/data/captures/o091_pika_basic.pcap" --table messages --output oldest.parquet
oldest/bin/amqp-sansio demo >demo.log 2>&1 || { tail -n 20 demo.log >&2; exit 1; }

mkdir "$scratch/sdist"
tar -xzf "$folder"/*.tar.gz -C "$scratch/sdist" --strip-components 1
cd "$scratch/sdist"
# What has each file of the tree, octet for octet, has what any test reads.
if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
  while IFS= read -r name; do
    cmp "$root/$name" "$name" || { echo "the sdist lacks $name, or has another" >&2; exit 1; }
  done < <(git -C "$root" ls-files)
fi
run=("$python" -m pytest -q -p no:randomly -p no:cacheprovider)
read -ra chosen <<<"${SDIST_TESTS:-}"
"${run[@]}" -n "${WORKERS:-2}" --dist loadscope --no-loadscope-reorder "${chosen[@]}" >"$scratch/tests.log" 2>&1 ||
  { tail -n 60 "$scratch/tests.log" >&2; exit 1; }
echo "the tests of the sdist: $(tail -n 1 "$scratch/tests.log")"

if grep -q 'github.com/OWNER/' "$root/pyproject.toml"; then
  echo "the project's address is still github.com/OWNER: fill it in before a release (docs/releasing.md)"
fi
ls -l "$folder"
