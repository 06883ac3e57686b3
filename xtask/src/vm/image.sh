# Makes a bootable disk from a new Debian: `$1` is its root, `$2` where kernel, initial file system and disk go. Run by mmdebstrap.
set -eu
root=$1
out=$2
chroot "$root" useradd --create-home --shell /bin/sh tester
# The user's own systemd runs from the start, and the console is a session of that user.
mkdir -p "$root/var/lib/systemd/linger" "$root/payload" "$root/etc/systemd/system/serial-getty@ttyS0.service.d"
touch "$root/var/lib/systemd/linger/tester"
cat > "$root/etc/systemd/system/serial-getty@ttyS0.service.d/login.conf" <<'END'
[Service]
ExecStart=
ExecStart=-/sbin/agetty --autologin tester --noissue --keep-baud 115200 - dumb
Restart=no
END
printf '/dev/vda / ext4 defaults 0 0\n/dev/vdb /payload ext4 ro 0 0\n' > "$root/etc/fstab"
printf 'sh /payload/guest.sh\necho "acquit-vm: exit $?"\n' > "$root/home/tester/.profile"
: > "$root/etc/motd"
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"
# Without what mmdebstrap mounted into it.
mkdir -p "$out/bare"
mount --bind "$root" "$out/bare"
rm -f "$out/root.ext4"
mke2fs -q -t ext4 -d "$out/bare" "$out/root.ext4" 3G
umount "$out/bare"
rmdir "$out/bare"
