//! Detects Rust by `Cargo.toml`. Gates have no network, so setup fetches the dependencies. It also builds them, because every gate
//! starts with the target folder that setup left; without it each would build all dependencies again.

use acquit_run::registry::Manager;

use super::{Finding, Gate, Language, Report, Setup, at, toml_of};
use crate::init::look::Folder;

const MANIFEST: &str = "Cargo.toml";

/// Timeout of a first build with all dependencies.
const BUILDING: &str = "30m";

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    folder.text(MANIFEST)?;
    // Ignore an invalid manifest here: cargo reports it.
    let manifest = toml_of(folder, MANIFEST).unwrap_or_default();
    // Default members are what the owner wants to build by default.
    let every =
        at(&manifest, &["workspace"]).is_some() && at(&manifest, &["workspace", "default-members"]).is_none();
    let all = if every { " --workspace" } else { "" };
    let lints = [&["lints", "clippy"][..], &["workspace", "lints", "clippy"]];
    let clippy = folder.first(&["clippy.toml", ".clippy.toml"]).is_some()
        || lints.iter().any(|path| at(&manifest, path).is_some());
    // Benches that need the nightly compiler would fail every task.
    let nightly = needs_nightly(folder);
    let (built, linted) = if nightly {
        (format!("cargo build{all} && cargo test{all} --no-run"), "--bins --tests --examples")
    } else {
        (format!("cargo build{all} --all-targets"), "--all-targets")
    };
    let lint = Gate::new("lint", format!("cargo clippy{all} {linted} -- -D warnings")).timeout(BUILDING);
    let lint = if clippy {
        lint
    } else {
        lint.warning("This repository does not say that it is kept free of clippy's warnings; remove `severity` if it is.")
    };
    let mut gates = vec![
        Gate::new("format", "cargo fmt --all --check"),
        Gate {
            why: nightly.then_some("Without benches: they use features of the nightly compiler."),
            ..Gate::new("build", built).timeout(BUILDING)
        },
        lint,
    ];
    let build = Some(format!("cargo test{all} --no-run"));
    let proving = match nextest(folder) {
        Some((profile, report)) => {
            let run = format!("cargo nextest run{all} --no-fail-fast --profile {profile}");
            Gate::proving(run, build, Report::Junit(report))
        }
        None => Gate::proving(format!("cargo test{all} --no-fail-fast"), build, Report::Printed("libtest")),
    };
    gates.extend(proving.map(|gate| gate.timeout(BUILDING)));
    let lock = folder.has_cloned("Cargo.lock");
    let fetch = if lock { "cargo fetch --locked" } else { "cargo fetch" };
    let setup = Setup {
        run: fetch.to_owned(),
        compile: Some(format!("cargo test{all} --no-run; cargo clippy{all} {linted}")),
        lock_files: if lock { vec!["Cargo.lock".to_owned()] } else { manifests(folder, &manifest) },
        timeout: Some(BUILDING),
    };
    Some(Finding {
        language: Language::Rust,
        folder: folder.name().map(str::to_owned),
        by: MANIFEST.to_owned(),
        gates,
        // Also without dependencies, where setup reaches no server: an agent may add the first one.
        managers: vec![Manager::Cargo],
        setup: Some(setup),
        leaves: vec!["target"],
    })
}

/// Returns the nextest profile that writes a report, if there is one with a common name, and the path of the report.
fn nextest(folder: &mut Folder<'_>) -> Option<(&'static str, &'static str)> {
    const FILE: &str = ".config/nextest.toml";
    const PROFILES: [(&str, &str); 2] =
        [("ci", "target/nextest/ci/junit.xml"), ("default", "target/nextest/default/junit.xml")];
    folder.text(FILE)?;
    let settings = toml_of(folder, FILE)?;
    let writes = |profile: &str| {
        let path = at(&settings, &["profile", profile, "junit", "path"]);
        path.is_some_and(|path| path.as_str() == Some("junit.xml"))
    };
    PROFILES.into_iter().find(|(profile, _)| writes(profile))
}

/// Returns the manifests of the package and of its workspace: without a lock file, a change of any of them can change
/// the dependencies.
fn manifests(folder: &Folder<'_>, manifest: &toml::Table) -> Vec<String> {
    let strings = |path: &[&str]| -> Vec<&str> {
        let list = at(manifest, path).and_then(toml::Value::as_array).into_iter().flatten();
        list.filter_map(toml::Value::as_str).collect()
    };
    let mut members = strings(&["workspace", "members"]);
    // Packages that the root depends on by path are members as well.
    for list in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let list = manifest.get(list).and_then(toml::Value::as_table).into_iter().flatten();
        members.extend(list.filter_map(|(_, dependency)| dependency.get("path")?.as_str()));
    }
    let excluded = strings(&["workspace", "exclude"]);
    folder.manifests(MANIFEST, &members, &excluded)
}

/// Returns whether benches use nightly features while the repository does not select the nightly compiler.
fn needs_nightly(folder: &mut Folder<'_>) -> bool {
    let toolchain = ["rust-toolchain.toml", "rust-toolchain"].into_iter().find_map(|file| folder.text(file));
    if toolchain.is_some_and(|text| text.contains("nightly")) {
        return false;
    }
    let benches = folder.files_in("benches", ".rs");
    benches.iter().any(|file| folder.text(file).is_some_and(|text| text.contains("#![feature(")))
}
