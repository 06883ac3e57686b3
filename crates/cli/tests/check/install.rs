//! `scripts/install.sh`: installs the package of this machine if its checksum is right, and otherwise nothing.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A release with a package whose program only says its version.
fn release(folder: &Path, target: &str, version: &str) {
    let script = format!(
        "set -e; name=acquit-{version}-{target}; mkdir $name; printf '#!/bin/sh\\necho acquit {version}\\n' > $name/acquit; chmod +x $name/acquit
         tar -czf $name.tar.gz $name; rm -r $name; sha256sum acquit-*.tar.gz > SHA256SUMS"
    );
    fs::create_dir_all(folder).unwrap();
    assert!(Command::new("sh").args(["-c", &script]).current_dir(folder).status().unwrap().success());
}

fn install(from: &str, to: &Path) -> (Output, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install.sh");
    let output = Command::new("sh").arg(script).arg(from).arg(to).output().unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    (output, String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_release_is_installed_if_its_checksum_is_right() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { place.path().join(name) };
    let here = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    release(&path("good"), &here, "9.8.7");
    let good = path("good").to_string_lossy().into_owned();
    for _ in 0..2 {
        let (output, said) = install(&good, &path("bin"));
        assert!(output.status.success() && said.contains("acquit 9.8.7"), "{said}");
    }
    assert_eq!(fs::read_dir(path("bin")).unwrap().count(), 1, "nothing else is left there");

    // A package that is not the one that was released replaces nothing.
    let package = path("good").join(format!("acquit-9.8.7-{here}.tar.gz"));
    fs::write(&package, [fs::read(&package).unwrap(), b"more".to_vec()].concat()).unwrap();
    let (output, said) = install(&good, &path("other"));
    assert!(!output.status.success() && said.contains("checksum") && !path("other").exists(), "{said}");

    release(&path("foreign"), "riscv128-unknown-linux-gnu", "9.8.7");
    for (from, words) in [
        (path("foreign").to_string_lossy().into_owned(), "no package for"),
        ("http://example.org/acquit".to_owned(), "not an https address"),
    ] {
        let (output, said) = install(&from, &path("other"));
        assert!(!output.status.success() && said.contains(words) && !path("other").exists(), "{said}");
    }
}
