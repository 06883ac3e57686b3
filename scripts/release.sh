#!/bin/sh
# Builds acquit and packs it for release, with checksums:
#
#   scripts/release.sh              # a release build
#   scripts/release.sh --dev        # the same steps with a debug build, to try the script
#
# The binary is static where the musl target is installed (rustup target add x86_64-unknown-linux-musl, and a musl C compiler).
# Otherwise it is linked with the C library of this machine, and runs where that version or a newer one is.
# Check a download with: sha256sum --check SHA256SUMS
set -eu

cd "$(dirname "$0")/.."
profile=release
folder=release
if [ "${1:-}" = "--dev" ]; then
    profile=dev
    folder=debug
fi
machine=$(rustc -vV | sed -n 's/^host: //p')
static=$(printf '%s' "$machine" | sed 's/-gnu$/-musl/')
set -- build --locked --package acquit --profile "$profile"
target=target
if [ "$static" != "$machine" ] && rustup target list --installed 2>/dev/null | grep -qx "$static"; then
    machine=$static
    target=target/$static
    set -- "$@" --target "$static"
else
    echo "release: $static is not installed; linking with the C library of this machine" >&2
fi
cargo "$@"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=acquit-$version-$machine
out=target/packages
rm -rf "${out:?}/$name"
mkdir -p "$out/$name"
cp "$target/$folder/acquit" README.md LICENSE-APACHE LICENSE-MIT "$out/$name/"
"$out/$name/acquit" completions bash > "$out/$name/acquit.bash"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"
(cd "$out" && sha256sum ./*.tar.gz > SHA256SUMS)
echo "$out/$name.tar.gz"
