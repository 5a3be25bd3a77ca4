#!/bin/sh
# Build the image `tablewatch`, or where no docker answers, its layers in a folder, and run the product once:
#   image.sh [FOLDER]                 FOLDER is build/image by default, and is made anew
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if docker info > /dev/null 2>&1; then
  docker build --tag tablewatch --file "$here/Dockerfile" "$root"
  docker run --rm tablewatch --version
else
  folder=${1:-$root/build/image}
  echo "no docker answers: the layers are built in $folder"
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  sh "$here/layers.sh" dependencies "$folder"
  sh "$here/layers.sh" product "$folder"
fi
