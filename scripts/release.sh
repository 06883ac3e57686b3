#!/bin/sh
# Builds a static acquit for this machine's architecture, tries it, and packs it with checksums:
#
#   scripts/release.sh              # target/packages/acquit-<version>-<target>.tar.gz and SHA256SUMS
#   scripts/release.sh --dev        # the same steps with a debug build, to try the script
#
# The binary is linked with musl where that target is installed (rustup target add x86_64-unknown-linux-musl, and a musl C compiler),
# otherwise with the static glibc of this machine (libc6-dev 2.34 or newer, whose resolver needs no other file). It fails if the
# result still needs a shared library. scripts/install.sh installs what this makes.
set -eu

cd "$(dirname "$0")/.."
profile=dist
folder=dist
case ${1:-} in
--dev) profile=dev folder=debug ;;
'') ;;
*) echo "usage: scripts/release.sh [--dev]" >&2; exit 2 ;;
esac

host=$(rustc -vV | sed -n 's/^host: //p')
musl=$(printf '%s' "$host" | sed 's/-gnu$/-musl/')
target=$host
if rustup target list --installed 2> /dev/null | grep -qx "$musl"; then
    target=$musl
fi
# With a target of its own, the flag holds for acquit and not for build scripts and macros, which must stay dynamic.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static"
export RUSTFLAGS
echo "release: building $target" >&2
cargo build --locked --package acquit --bin acquit --profile "$profile" --target "$target"

binary=target/$target/$folder/acquit
if ldd "$binary" 2>&1 | grep -q '=>'; then
    echo "release: $binary is not static:" >&2
    ldd "$binary" >&2
    exit 1
fi
"$binary" --version >&2

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=acquit-$version-$target
out=target/packages
rm -rf "${out:?}/$name"
mkdir -p "$out/$name"
cp "$binary" README.md LICENSE-APACHE LICENSE-MIT "$out/$name/"
for shell in bash zsh fish; do
    "$binary" completions "$shell" > "$out/$name/acquit.$shell"
done
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"
(cd "$out" && sha256sum acquit-*.tar.gz > SHA256SUMS)
echo "$out/$name.tar.gz"
