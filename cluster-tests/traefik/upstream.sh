#!/usr/bin/env bash
# Makes the folder testdata/upstream, by which go.mod replaces the module of Traefik: the packages of Traefik as they are, from Go's
# cache of modules, but for two things. Its providers and tests are left out, and the folder static here takes the place of
# pkg/config/static: that one brings in all providers, and with them modules of hundreds of services, of which no proxy of
# modules has all.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p testdata

version=v3.7.13
sum=h1:T8wy9KuaFzCkmXCqAzDy7t73pBDR1DHrJe3pqXpNXTw=
wanted=$(cat upstream.sh static/*.go | sha256sum)
[[ "$(cat testdata/upstream/made-from 2>/dev/null || true)" == "$wanted" ]] && exit 0

found=$(cd / && GOFLAGS=-mod=mod go mod download -json "github.com/traefik/traefik/v3@$version")
[[ "$found" == *"\"Sum\": \"$sum\""* ]] || { echo "Traefik $version is not what it was: want $sum" >&2 && exit 1; }
from=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$found")
rm -rf testdata/upstream testdata/new
mkdir testdata/new
tar -C "$from" --exclude='*_test.go' --exclude=pkg/provider --exclude=pkg/config/static --mode=u+w -cf - go.mod pkg | tar -C testdata/new -xf -
mkdir testdata/new/pkg/config/static
cp static/*.go testdata/new/pkg/config/static
echo "$wanted" >testdata/new/made-from
mv testdata/new testdata/upstream
