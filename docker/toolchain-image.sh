#!/usr/bin/env bash
# A sandbox image that is only a toolchain (g++, Python), made by debootstrap where no image can be pulled:
#
#   docker/toolchain-image.sh TAG [CACHE_DIRECTORY]
#
# It has the Debian release of this machine and runs with KERNELWRIGHT_SANDBOX_PYTHON=host: the host's Python
# installation, torch included, is shown inside, read-only. Needs root, debootstrap, a Docker daemon and a Debian mirror
# (MIRROR). CACHE_DIRECTORY keeps the file system for the next time.
set -euo pipefail
tag=${1:?usage: docker/toolchain-image.sh TAG [CACHE_DIRECTORY]}
cache=${2:-}
mirror=${MIRROR:-http://deb.debian.org/debian}
release=$(. /etc/os-release && echo "${VERSION_CODENAME:?this machine is no Debian: set BASE to an image instead}")
version=1

[ -n "$cache" ] && mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kernelwright-toolchain-XXXXXX")
trap 'rm -rf "$work"' EXIT
archive=${cache:-$work}/toolchain-$release-$version.tar

if [ ! -e "$archive" ]; then
    debootstrap --variant=minbase --include=g++,python3-minimal "$release" "$work/root" "$mirror" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" "$work/root/debootstrap/debootstrap.log" >&2 2>/dev/null; exit 1; }
    # A Python installation may lie below /root; whoever may not read it there cannot anyway.
    chmod 0755 "$work/root/root"
    tar -C "$work/root" --numeric-owner --exclude='./dev/*' --exclude='./var/cache/*' --exclude='./var/lib/apt/*' \
        --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
        -cf "$work/partial" .
    mv "$work/partial" "$archive"
fi
docker import --change 'LABEL kernelwright.toolchain=debian' "$archive" "$tag" >/dev/null
