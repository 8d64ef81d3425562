#!/usr/bin/env bash
# Makes a virtual environment and installs into it; says in one line what is missing.
#
#   tools/dev/venv.sh FOLDER STAMP [--java] [--spark] [--group NAME]...
#
# FOLDER  the environment; made when it isn't there or its interpreter doesn't run any more
# STAMP   file that is touched at the end, for make
# --java  a Java runtime, 17 or newer, has to be there
# --spark installs the package's extra `spark`
# --group installs a dependency group of pyproject.toml
#
# PYTHON names the interpreter to use (default: the first of python3.11 to python3.14 and python3 that is 3.11 or newer).
set -euo pipefail

folder=$1
stamp=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
java=
extra=
groups=()
while (($#)); do
  case $1 in
    --java) java=yes ;;
    --spark) extra='[spark]' ;;
    --group)
      groups+=(--group "$root/pyproject.toml:$2")
      shift
      ;;
    *)
      echo "venv.sh: unknown option $1" >&2
      exit 2
      ;;
  esac
  shift
done

stop() {
  echo "setup: $1" >&2
  exit 1
}

is_new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local name
  if [[ -n ${PYTHON:-} ]]; then
    command -v "$PYTHON" >/dev/null || stop "PYTHON names $PYTHON, which isn't there"
    is_new_enough "$PYTHON" || stop "Python 3.11 or newer is needed; PYTHON names $("$PYTHON" --version 2>&1)"
    echo "$PYTHON"
    return
  fi
  for name in python3 python3.11 python3.12 python3.13 python3.14; do
    if is_new_enough "$name"; then
      echo "$name"
      return
    fi
  done
  if command -v python3 >/dev/null; then
    stop "Python 3.11 or newer is needed; python3 is $(python3 --version 2>&1)"
  fi
  stop "Python 3.11 or newer is needed; no python3 was found on PATH"
}

check_java() {
  local program=java text version
  if [[ -n ${JAVA_HOME:-} ]]; then
    program=$JAVA_HOME/bin/java
  fi
  command -v "$program" >/dev/null || stop "Java 17 or newer is needed (for Spark); $program wasn't found"
  text=$("$program" -version 2>&1) || stop "Java 17 or newer is needed (for Spark); $program doesn't run"
  version=$(sed -nE '/ version "/{s/.* version "(1\.)?([0-9]+).*/\2/p;q;}' <<<"$text")
  [[ -n $version ]] || stop "Java 17 or newer is needed (for Spark); $program doesn't tell its version"
  ((version >= 17)) || stop "Java 17 or newer is needed (for Spark); $program is version $version"
}

[[ -z $java ]] || check_java

if ! "$folder/bin/python" -c 'import pip' >/dev/null 2>&1; then
  python=$(find_python)
  echo "setup: making $folder with $("$python" --version)" >&2
  rm -rf "$folder"
  "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
    stop "$python has no venv module; on Debian: apt-get install python3-venv"
  "$python" -m venv "$folder" || stop "$python could not make a virtual environment in $folder"
fi

log=$folder/setup.log
echo "setup: installing into $folder (log: $log)" >&2
install() {
  "$folder/bin/python" -m pip install --disable-pip-version-check "$@" >>"$log" 2>&1 && return
  if grep -qiE 'connection (broken|refused|reset)|from versions: none|timed out|name resolution|unreachable|ProxyError|SSLError' "$log"; then
    stop "no network: packages could not be fetched; is a package index reachable? ($log has the details)"
  fi
  tail -n 5 "$log" >&2
  stop "pip could not install the packages; $log has the details"
}
rm -f "$log"
install --upgrade 'pip>=25.1' # the first that reads dependency groups
install --editable "$root$extra" ${groups[@]+"${groups[@]}"}
touch "$stamp"
