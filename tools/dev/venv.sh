#!/usr/bin/env bash
# Makes a virtual environment and installs into it; says in one line all that is missing.
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
# INSTALLER=uv installs with uv, which takes a third of pip's time and reads no settings of pip's.
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

missing=()
packages=() # of Debian
lacks() { # WHAT PACKAGE
  missing+=("$1")
  packages+=("$2")
}

python=
find_python() { # sets python, or what is missing
  local name found='no python3 is on PATH'
  if [[ -n ${PYTHON:-} ]]; then
    if is_new_enough "$PYTHON"; then
      python=$PYTHON
    elif command -v "$PYTHON" >/dev/null; then
      lacks "Python 3.11 or newer (PYTHON names $("$PYTHON" --version 2>&1))" python3
    else
      lacks "Python 3.11 or newer (PYTHON names $PYTHON, which isn't there)" python3
    fi
    return
  fi
  for name in python3 python3.11 python3.12 python3.13 python3.14; do
    if is_new_enough "$name"; then
      python=$name
      return
    fi
  done
  if command -v python3 >/dev/null; then
    found="python3 is $(python3 --version 2>&1)"
  fi
  lacks "Python 3.11 or newer ($found)" python3
}

check_java() {
  local program=java text version
  if [[ -n ${JAVA_HOME:-} ]]; then
    program=$JAVA_HOME/bin/java
  fi
  if ! command -v "$program" >/dev/null; then
    lacks "Java 17 or newer, for Spark ($program isn't there)" default-jre-headless
  elif ! text=$("$program" -version 2>&1); then
    lacks "Java 17 or newer, for Spark ($program doesn't run)" default-jre-headless
  else
    version=$(sed -nE '/ version "/{s/.* version "(1\.)?([0-9]+).*/\2/p;q;}' <<<"$text")
    if [[ -z $version ]]; then
      lacks "Java 17 or newer, for Spark ($program doesn't tell its version)" default-jre-headless
    elif ((version < 17)); then
      lacks "Java 17 or newer, for Spark ($program is version $version)" default-jre-headless
    elif ! "$program" --add-modules=jdk.incubator.vector -version >/dev/null 2>&1; then
      # Spark asks for it at its start; a runtime that was made of some modules may lack it.
      lacks "a whole Java, for Spark ($program lacks the module jdk.incubator.vector)" default-jre-headless
    fi
  fi
}

command -v make >/dev/null || lacks make make
make_folder=
if ! "$folder/bin/python" -c 'import pip' >/dev/null 2>&1; then
  make_folder=yes
  find_python
  if [[ -n $python ]] && ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    lacks "the module venv of $python" python3-venv
  fi
fi
[[ -z $java ]] || check_java

if ((${#missing[@]})); then
  text=$(printf '; %s' "${missing[@]}")
  stop "missing: ${text:2}. On Debian: apt-get install ${packages[*]}"
fi

if [[ -n $make_folder ]]; then
  echo "setup: making $folder with $("$python" --version)" >&2
  rm -rf "$folder"
  "$python" -m venv "$folder" || stop "$python could not make a virtual environment in $folder"
fi

log=$folder/setup.log
echo "setup: installing into $folder (log: $log)" >&2
install() {
  "${installer[@]}" install "$@" >>"$log" 2>&1 && return
  if grep -qiE 'connection (broken|refused|reset)|from versions: none|timed out|name resolution|unreachable|ProxyError|SSLError' "$log"; then
    stop "no network: packages could not be fetched; is a package index reachable? ($log has the details)"
  fi
  tail -n 5 "$log" >&2
  stop "${installer[2]} could not install the packages; $log has the details"
}
rm -f "$log"
installer=("$folder/bin/python" -m pip --disable-pip-version-check)
if [[ ${INSTALLER:-pip} == uv ]]; then
  install uv
  installer=("$folder/bin/python" -m uv pip)
else
  install --upgrade 'pip>=25.1' # the first that reads dependency groups
fi
install --editable "$root$extra" ${groups[@]+"${groups[@]}"}
touch "$stamp"
