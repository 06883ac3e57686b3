//! `cargo xtask vm`: boots Debian with its own kernel and a real systemd in a virtual machine, and tests limits there
//! in cgroups that systemd delegates to an ordinary user.
//!
//! Containers and most CI machines have no systemd that delegates cgroups. The image is built once from Debian's
//! packages and kept below the target directory. A second disk has the programs under test. The machine has no
//! network.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "xtask reports to the terminal it was started from, and takes a setting from there"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::{Stop, require, shell};

/// Debian release: systemd 257, kernel 6.12.
const SUITE: &str = "trixie";
const PACKAGES: &str = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,login,passwd,git,procps,\
                        linux-image-amd64,initramfs-tools,zstd";
/// Run by mmdebstrap: `$1` is the new root, `$2` the directory for kernel and image.
const IMAGE: &str = include_str!("vm/image.sh");
/// Run in the virtual machine by the user `tester`, from the second disk.
const GUEST: &str = include_str!("vm/guest.sh");
/// Prefix of the last console line, before the exit code.
const END: &str = "acquit-vm: exit ";
/// Emulation is slow, and the resource bomb tests wait for limits.
const LIMIT: Duration = Duration::from_hours(1);

/// Builds what is needed and runs the tests. `words` replace the tests to run in the delegated scope.
pub(crate) fn run(words: &[&str]) -> Result<(), Stop> {
    require::for_vm()?;
    let folder = shell::root().join("target/vm");
    let image = image(&folder)?;
    let disk = payload(&folder, words)?;
    let mut machine = Machine::boot(&image, &disk)?;
    let code = machine.watch()?;
    if code == "0" {
        Ok(())
    } else {
        Err(Stop(format!("the tests in the virtual machine failed: exit {code}")))
    }
}

/// Returns the directory with kernel, initrd and disk. Rebuilds them when the script or the packages change.
fn image(folder: &Path) -> Result<PathBuf, Stop> {
    let (mark, wanted) = (folder.join("made-from"), format!("{SUITE}\n{PACKAGES}\n{IMAGE}"));
    if fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(folder.to_owned());
    }
    fs::create_dir_all(folder).map_err(Stop::doing("make a folder for the virtual machine"))?;
    let script = folder.join("image.sh");
    fs::write(&script, IMAGE).map_err(Stop::doing("write a script"))?;
    println!("    making a disk with Debian {SUITE} in {}", folder.display());
    let hook = format!("sh '{}' \"$1\" '{}'", script.display(), folder.display());
    let mut command = shell::program("mmdebstrap");
    command.args(["--quiet", "--format=null", "--variant=minbase"]).arg(format!("--include={PACKAGES}"));
    command.arg(format!("--customize-hook={hook}")).args([SUITE, "/dev/null"]);
    if !shell::succeeds(&mut command)? {
        return Err(Stop("making the disk failed; mmdebstrap needs root or user namespaces".to_owned()));
    }
    fs::write(&mark, wanted).map_err(Stop::doing("remember what the disk was made from"))?;
    Ok(folder.to_owned())
}

/// Creates a disk with acquit, the attacker and the test suites.
fn payload(folder: &Path, words: &[&str]) -> Result<PathBuf, Stop> {
    let files = folder.join("payload");
    let _ = fs::remove_dir_all(&files);
    fs::create_dir_all(&files).map_err(Stop::doing("make a folder for the second disk"))?;
    let built = built(&[
        &["test", "--no-run", "--package", "acquit", "--test", "hostile", "--test", "sandbox"],
        &[
            "build",
            "--package",
            "acquit",
            "--package",
            "acquit-testkit",
            "--bin",
            "acquit",
            "--bin",
            "hostile",
        ],
    ])?;
    for (name, from) in [
        ("acquit", find(&built, "acquit", "bin")?),
        ("hostile", find(&built, "hostile", "bin")?),
        ("hostile-test", find(&built, "hostile", "test")?),
        ("sandbox-test", find(&built, "sandbox", "test")?),
    ] {
        let to = files.join(name);
        fs::copy(from, &to).map_err(Stop::doing("copy a program"))?;
        // Without debug info they are a fifth of the size. Ignore a missing `strip`.
        let _ = shell::succeeds(shell::program("strip").arg(&to));
    }
    fs::write(files.join("guest.sh"), GUEST).map_err(Stop::doing("write a script"))?;
    fs::write(files.join("words"), words.join("\n")).map_err(Stop::doing("write the names of tests"))?;
    let disk = folder.join("payload.ext4");
    let _ = fs::remove_file(&disk);
    let mut make = shell::program("mke2fs");
    make.args(["-q", "-t", "ext4", "-d"]).arg(&files).arg(&disk).arg("512M");
    if !shell::succeeds(&mut make)? {
        return Err(Stop("making the second disk failed".to_owned()));
    }
    Ok(disk)
}

/// Returns what cargo built, from its messages: name, kind and file.
fn built(commands: &[&[&str]]) -> Result<Vec<(String, String, PathBuf)>, Stop> {
    let mut all = Vec::new();
    for arguments in commands {
        let mut command = shell::cargo(arguments);
        command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        let output = command.output().map_err(Stop::doing("start cargo"))?;
        if !output.status.success() {
            return Err(Stop(format!("cargo {} failed", arguments.join(" "))));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        all.extend(messages.filter_map(|message| {
            let file = message.get("executable")?.as_str()?;
            let word =
                |pointer: &str| message.pointer(pointer).and_then(|value| value.as_str()).map(str::to_owned);
            Some((word("/target/name")?, word("/target/kind/0")?, PathBuf::from(file)))
        }));
    }
    Ok(all)
}

fn find(built: &[(String, String, PathBuf)], name: &str, kind: &str) -> Result<PathBuf, Stop> {
    let found = built.iter().rev().find(|one| one.0 == name && one.1 == kind);
    found.map(|one| one.2.clone()).ok_or_else(|| Stop(format!("cargo built no {kind} {name}")))
}

/// A running virtual machine. Dropping it stops it.
struct Machine {
    child: Child,
    console: Receiver<String>,
}

impl Machine {
    fn boot(image: &Path, payload: &Path) -> Result<Self, Stop> {
        // Nested virtualization may fail in odd ways, so it is opt-in: `ACQUIT_VM_ACCEL=kvm`.
        let asked = std::env::var("ACQUIT_VM_ACCEL").ok();
        let accel = asked.as_deref().unwrap_or("tcg,thread=multi");
        let cpu = if accel.starts_with("kvm") { "host" } else { "max" };
        let drive = |path: &Path| format!("file={},if=virtio,format=raw,snapshot=on", path.display());
        let mut command: Command = shell::program("qemu-system-x86_64");
        command.args(["-accel", accel, "-cpu", cpu, "-smp", "2", "-m", "3G", "-nic", "none", "-no-reboot"]);
        command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
        command.arg("-kernel").arg(image.join("vmlinuz")).arg("-initrd").arg(image.join("initrd"));
        // On a slow machine, the console takes longer to appear than systemd waits for it by default.
        let patience = "systemd.default_device_timeout_sec=1800 systemd.default_timeout_start_sec=1800";
        command.arg("-append").arg(format!("root=/dev/vda rw console=ttyS0 quiet {patience}"));
        command.args(["-drive", &drive(&image.join("root.ext4")), "-drive", &drive(payload)]);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(Stop::doing("start qemu"))?;
        let output = child.stdout.take();
        let (say, console) = channel();
        std::thread::spawn(move || {
            let mut lines = output.map(BufReader::new);
            let mut line = Vec::new();
            while let Some(reader) = &mut lines
                && reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0)
                && say.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_ok()
            {
                line.clear();
            }
        });
        Ok(Self { child, console })
    }

    /// Prints the console until the script ends, and returns its exit code.
    fn watch(&mut self) -> Result<String, Stop> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.console.recv_timeout(left) {
                Ok(line) => {
                    println!("    {line}");
                    if let Some(code) = line.strip_prefix(END) {
                        return Ok(code.trim().to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Stop(format!("the virtual machine did not end within {LIMIT:?}")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Stop("the virtual machine ended before its tests did".to_owned()));
                }
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
