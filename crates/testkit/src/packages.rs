//! Published packages, for tests on real code. All of their code runs inside acquit's sandbox.
#![allow(clippy::disallowed_methods, reason = "package managers are run as the user has them")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Where a package comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// A source archive of PyPI.
    PyPi,
    /// A package of npm.
    Npm,
    /// A crate of crates.io.
    Crates,
    /// A Debian package with the source of a Go module; the version is the module's path.
    Debian,
    /// A GitHub repository; the version is a tag.
    GitHub,
}

/// Runs a shell command with the caller's environment and returns its output. Panics if it fails.
pub fn sh(at: &Path, line: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", line]).current_dir(at);
    command.env("GIT_ALLOW_PROTOCOL", "file");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "user@example.org");
    }
    let output = command.output().expect("it can be done");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}: {said}");
    said
}

/// Downloads a package with its own package manager and unpacks it below a repository. `part` has the source, name,
/// version and folder.
pub fn unpack(downloads: &Path, part: &(From, &str, &str, &str), repository: &Path) {
    let &(from, name, version, to) = part;
    let place = repository.join(to);
    // `package/.` cannot be created, only `package`.
    fs::create_dir_all(repository).expect("it can be done");
    fs::create_dir_all(&place).expect("it can be done");
    let place = place.display();
    let line = match from {
        From::PyPi => format!(
            "mkdir -p py-{name} && pip download -q --no-deps --no-binary :all: -d py-{name} {name}=={version} && tar xzf py-{name}/*{version}.tar.gz -C '{place}' --strip-components=1"
        ),
        From::Npm => {
            format!("f=$(npm pack -s {name}@{version}) && tar xzf $f -C '{place}' --strip-components=1")
        }
        From::Crates => format!(
            "mkdir -p crate-{name}/src && cd crate-{name} && : > src/lib.rs && printf '[package]\\nname = \"x\"\\nversion = \"0.1.0\"\\n[dependencies]\\n{name} = \"={version}\"\\n' > Cargo.toml && cargo vendor -q --versioned-dirs > /dev/null && cp -R vendor/{name}-{version}/. '{place}' && rm -f '{place}/.cargo-checksum.json'"
        ),
        // git's `url.<base>.insteadOf` can redirect this.
        From::GitHub => format!(
            "GIT_ALLOW_PROTOCOL=https:file git -c advice.detachedHead=false clone -q --depth 1 --branch {version} https://github.com/{name} '{place}' && rm -rf '{place}/.git'"
        ),
        From::Debian => format!(
            "apt-get download -q {name} && dpkg -x {name}_*.deb deb-{name} && cp -R deb-{name}/usr/share/gocode/src/{version}/. '{place}'"
        ),
    };
    sh(downloads, &line);
}
