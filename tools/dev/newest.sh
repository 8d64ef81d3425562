#!/usr/bin/env bash
# Prints the path of the newest Python, on PATH or of pyenv, that is newer than python3; fails if there is none.
set -euo pipefail

number() { "$1" -c 'import sys; print("%d%02d" % sys.version_info[:2])' 2>/dev/null; }

least=$(number python3)
for minor in 14 13 12; do
  for python in "$(command -v "python3.$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python3; do
    if [[ -x $python ]] && found=$(number "$python") && ((found > least)); then
      echo "$python"
      exit
    fi
  done
done
exit 1
