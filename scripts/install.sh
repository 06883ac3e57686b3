#!/bin/sh
# Installs acquit from a release: downloads the package of this machine and SHA256SUMS, checks them, and copies one file.
#
#   sh install.sh https://example.org/acquit/0.1.0          # to ~/.local/bin
#   sh install.sh target/packages /usr/local/bin            # from a folder, to another place
#
# The first argument is where the files of scripts/release.sh are: an https address or a folder.
set -eu

from=${1:?usage: install.sh <address or folder of the release> [<folder to install to>]}
to=${2:-${HOME:?}/.local/bin}
case $(uname -s) in
Linux) ;;
*) echo "install: acquit runs on Linux" >&2; exit 1 ;;
esac
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

get() {
    case $from in
    https://*) curl --proto '=https' --tlsv1.2 -fsSL "$from/$1" -o "$place/$1" ;;
    *://*) echo "install: $from is not an https address" >&2; exit 1 ;;
    *) cp "$from/$1" "$place/$1" ;;
    esac
}

get SHA256SUMS
package=$(sed -n "s/^[0-9a-f]\{64\}  \(acquit-[0-9A-Za-z.+_-]*-$(uname -m)-unknown-linux-[a-z]*\.tar\.gz\)\$/\1/p" "$place/SHA256SUMS" | tail -n 1)
if [ -z "$package" ]; then
    echo "install: this release has no package for $(uname -m)" >&2
    exit 1
fi
get "$package"
(cd "$place" && grep " $package\$" SHA256SUMS | sha256sum --check --status) || {
    echo "install: $package does not have the checksum that SHA256SUMS says; nothing was installed" >&2
    exit 1
}
tar -xzf "$place/$package" -C "$place"
mkdir -p "$to"
# A binary that runs cannot be written to, but it can be replaced.
cp "$place/${package%.tar.gz}/acquit" "$to/.acquit.new"
chmod 755 "$to/.acquit.new"
mv "$to/.acquit.new" "$to/acquit"
"$to/acquit" --version
case :$PATH: in
*:"$to":*) ;;
*) echo "install: add $to to PATH" >&2 ;;
esac
