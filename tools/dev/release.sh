#!/usr/bin/env bash
# Builds the sdist, and the wheel from the sdist; installs the wheel into a clean environment, and uses it there.
#
#   tools/dev/release.sh PYTHON FOLDER
#
# PYTHON  an interpreter with pip
# FOLDER  where the two files go
set -euo pipefail

python=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install --quiet --disable-pip-version-check build twine
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
"$scratch/tools/bin/python" -m build --outdir "$folder" "$root" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log" >&2; exit 1; }
"$scratch/tools/bin/twine" check --strict "$folder"/*

"$python" -m venv "$scratch/clean"
"$scratch/clean/bin/pip" install --quiet --disable-pip-version-check "$folder"/*.whl
cd "$scratch"
clean/bin/amqp-sansio --version
clean/bin/python - <<'PYTHON'
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker, connect(broker.url) as connection:
    print("a confirmed publish:", connection.open_channel(confirm=True).publish(b"hello", routing_key="jobs"))
PYTHON
ls -l "$folder"
