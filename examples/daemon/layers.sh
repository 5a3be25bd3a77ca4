#!/bin/sh
# The two layers of the image, in an environment of Python: what Tablewatch needs, which seldom changes, and Tablewatch.
# Dockerfile runs it; so does image.sh where there is no docker.
#   layers.sh requirements            print what is needed, one requirement a line
#   layers.sh dependencies FOLDER     make the environment FOLDER with what is needed
#   layers.sh product FOLDER          add Tablewatch to it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=${TABLEWATCH_SOURCE:-$(cd "$here/../.." && pwd)}
EXTRAS=${EXTRAS:-apprise,postgres,web}

requirements() {
  EXTRAS=$EXTRAS python3 - "$source/pyproject.toml" <<'PY'
import os
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)
extras = project["project"]["optional-dependencies"]
wanted = [project["build-system"]["requires"], project["project"]["dependencies"]]
wanted += [extras[name] for name in filter(None, os.environ["EXTRAS"].split(","))]
print(*sorted({line for lines in wanted for line in lines}), sep="\n")
PY
}

case $1 in
  requirements)
    requirements
    ;;
  dependencies)
    python3 -m venv "$2"
    requirements > "$2/requirements.txt"
    "$2/bin/python" -m pip install --quiet --no-cache-dir --constraint "$source/constraints.txt" --requirement "$2/requirements.txt"
    ;;
  product)
    # without dependencies: the layer below has them, and a missing one is an error here
    "$2/bin/python" -m pip install --quiet --no-cache-dir --no-deps --no-build-isolation "$source"
    "$2/bin/python" -m pip check
    "$2/bin/tablewatch" --version
    ;;
  *)
    echo "layers.sh: '$1' is none of requirements, dependencies, product" >&2
    exit 2
    ;;
esac
