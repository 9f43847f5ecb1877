#!/usr/bin/env bash
# Every image that docker-compose.yml names, where none can be pulled: made from one base by debootstrap, our own by the
# Dockerfiles beside this script. For trying a deployment out; the databases are Debian's, without pgvector.
#
#   docker/local-images.sh [CACHE_DIRECTORY]
#
# Needs root, debootstrap, a Docker daemon, a Debian mirror (MIRROR), package indexes, and Node.js with npm on this host
# (for the web UI). PIP_FIND_LINKS may name a folder of wheels that goes into the base. ONLY=databases makes the base and
# the databases only: a minute or two, which CACHE_DIRECTORY saves the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${1:-}
mirror=${MIRROR:-http://deb.debian.org/debian}
release=$(. /etc/os-release && echo "${VERSION_CODENAME:?this machine is no Debian}")
base=kernelwright/local-base:1
[ -n "$cache" ] && mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kernelwright-images-XXXXXX")
trap 'rm -rf "$work"' EXIT
archive=${cache:-$work}/local-base-$release-1.tar

if [ ! -e "$archive" ]; then
    debootstrap --variant=minbase --include=ca-certificates,g++,python3,python3-venv,postgresql,redis-server \
        "$release" "$work/root" "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
    # Whose Python lies below /root can show it to containers; whoever may not read it there cannot anyway.
    chmod 0755 "$work/root/root"
    cp /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/ca-certificates.crt"
    if [ -n "${PIP_FIND_LINKS:-}" ] && [ -d "$PIP_FIND_LINKS" ]; then
        mkdir -p "$work/root$PIP_FIND_LINKS" && cp "$PIP_FIND_LINKS"/*.whl "$work/root$PIP_FIND_LINKS/"
    fi
    tar -C "$work/root" --numeric-owner --exclude='./dev/*' --exclude='./var/cache/*' --exclude='./var/lib/apt/*' \
        --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./var/lib/postgresql/*' \
        -cf "$work/partial" .
    mv "$work/partial" "$archive"
fi
docker import --change "ENV PIP_FIND_LINKS=${PIP_FIND_LINKS:-}" --change 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt' \
    --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$archive" "$base" >/dev/null

# As the official images behave, as far as docker-compose.yml relies on it.
cat >"$work/postgres.sh" <<'ENTRY'
#!/bin/bash
set -euo pipefail
data=/var/lib/postgresql/data programs=$(echo /usr/lib/postgresql/*/bin)
mkdir -p "$data" && chown postgres:postgres "$data" && chmod 0700 "$data"
if [ ! -s "$data/PG_VERSION" ]; then
    install -o postgres -m 0600 "$POSTGRES_PASSWORD_FILE" /tmp/password
    setpriv --reuid postgres --regid postgres --clear-groups "$programs/initdb" -D "$data" -U "$POSTGRES_USER" \
        --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust --encoding UTF8 >/dev/null
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
    as() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
    as "$programs/pg_ctl" -D "$data" -o '-c listen_addresses= -k /tmp' -w -s start
    as "$programs/createdb" -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB" || true
    as "$programs/pg_ctl" -D "$data" -m fast -w -s stop
fi
mkdir -p /var/run/postgresql && chown postgres:postgres /var/run/postgresql
exec setpriv --reuid postgres --regid postgres --clear-groups "$programs/postgres" -D "$data" -c 'listen_addresses=*'
ENTRY
cat >"$work/redis.sh" <<'ENTRY'
#!/bin/bash
set -euo pipefail
mkdir -p /data && chown redis:redis /data && cd /data
exec setpriv --reuid redis --regid redis --clear-groups "$@" --protected-mode no --bind '*'
ENTRY
chmod 0755 "$work/postgres.sh" "$work/redis.sh"
printf 'FROM %s\nENV PGPORT=5432\nCOPY postgres.sh /entry\nENTRYPOINT ["/entry"]\n' "$base" >"$work/Dockerfile.postgres"
printf 'FROM %s\nCOPY redis.sh /entry\nENTRYPOINT ["/entry"]\n' "$base" >"$work/Dockerfile.redis"
mkdir "$work/context" && cp "$work/postgres.sh" "$work/redis.sh" "$work/context"
docker build --quiet --tag "$(sed -n 's/^ *image: \(pgvector.*\)/\1/p' docker-compose.yml)" --file "$work/Dockerfile.postgres" "$work/context"
docker build --quiet --tag "$(sed -n 's/^ *image: \(redis.*\)/\1/p' docker-compose.yml)" --file "$work/Dockerfile.redis" "$work/context"

[ "${ONLY:-}" = databases ] && exit

mkdir -p "$work/node/usr/bin"
cp -rL --parents "$(command -v node)" "$work/node"
cp -r --parents "$(npm root --global)/npm" "$work/node"
ln -s "$(npm root --global)/npm/bin/npm-cli.js" "$work/node/usr/bin/npm"
printf 'FROM %s\nCOPY . /\n' "$base" | docker build --quiet --tag node:20.19.4-bookworm-slim --file - "$work/node"

make images BASE="$base" TORCH_INDEX="${TORCH_INDEX:-https://pypi.org/simple}" \
    DOCKER_ARGS="--network=host --build-arg NODE=node:20.19.4-bookworm-slim ${DOCKER_ARGS:-}"
