//! What `init` writes for dependencies: setup and servers, also before there is a first one, and what makes setup run again.

use std::ffi::OsStr;

use acquit_core::config;

use crate::{Files, checked, plan, repository, text};

/// The `[setup]` and the hosts that are written.
fn written(files: Files<'_>) -> (String, Vec<String>, Vec<String>) {
    let folder = repository(files);
    let plan = plan(folder.path(), OsStr::new(""));
    checked(&plan);
    let config = config::read("x", text(&plan, ".acquit/acquit.toml")).unwrap();
    let hosts = config.network.hosts.iter().map(ToString::to_string).collect();
    let setup = config.setup.expect("a setup");
    (setup.run.to_string(), setup.lock_files, hosts)
}

#[test]
fn a_package_without_dependencies_is_ready_for_its_first_one() {
    let (run, files, hosts) = written(&[("Cargo.toml", "[package]\nname = \"x\"\n")]);
    assert_eq!(run, "cargo fetch");
    assert_eq!(files, ["Cargo.toml"]);
    assert_eq!(hosts, ["index.crates.io", "static.crates.io"]);
    let (run, files, hosts) = written(&[("package.json", r#"{"scripts": {"test": "node --test"}}"#)]);
    assert_eq!(run, "npm install --no-package-lock --no-audit --no-fund");
    assert_eq!(files, ["package.json"]);
    assert_eq!(hosts, ["registry.npmjs.org"]);
}

#[test]
fn without_a_lock_file_every_manifest_of_a_workspace_counts() {
    let package = "[package]\nname = \"x\"\n";
    let root = "[workspace]\nmembers = [\"crates/*\", \"./tool/\", \"gone\", \"../out\", \"/etc\"]\nexclude = [\"crates/old\"]\n\
                [package]\nname = \"root\"\n[dependencies]\nby-path = { path = \"by/path\" }\n";
    let files: Files<'_> = &[
        ("Cargo.toml", root),
        ("crates/b/Cargo.toml", package),
        ("crates/a/Cargo.toml", package),
        ("crates/old/Cargo.toml", package),
        ("crates/notes/README.md", "no package\n"),
        ("tool/Cargo.toml", package),
        ("by/path/Cargo.toml", package),
    ];
    let all =
        ["Cargo.toml", "by/path/Cargo.toml", "crates/a/Cargo.toml", "crates/b/Cargo.toml", "tool/Cargo.toml"];
    assert_eq!(written(files).1, all);
    // A lock file has all of it.
    let locked: Vec<_> = files.iter().copied().chain([("Cargo.lock", "version = 4\n")]).collect();
    assert_eq!(written(&locked).1, ["Cargo.lock"]);
    let root = r#"{"workspaces": { "packages": ["packages/*", "*"] }, "scripts": {"test": "x"}}"#;
    let files: Files<'_> =
        &[("package.json", root), ("packages/a/package.json", "{}"), ("web/package.json", "{}")];
    assert_eq!(written(files).1, ["package.json", "packages/a/package.json", "web/package.json"]);
}

#[test]
fn benches_for_the_nightly_compiler_are_left_out_unless_it_is_chosen() {
    let manifest = ("Cargo.toml", "[package]\nname = \"x\"\n");
    let bench = ("benches/fast.rs", "#![feature(test)]\nextern crate test;\n");
    let build = |files: Files<'_>| {
        let folder = repository(files);
        let workflow = checked(&plan(folder.path(), OsStr::new("")));
        workflow.gate("build").unwrap().check.command().unwrap().to_string()
    };
    let (all, without) = ("cargo build --all-targets", "cargo build && cargo test --no-run");
    assert_eq!(build(&[manifest]), all);
    assert_eq!(build(&[manifest, ("benches/slow.rs", "fn main() {}\n")]), all, "it builds everywhere");
    assert_eq!(build(&[manifest, bench]), without);
    let nightly = "[toolchain]\nchannel = \"nightly-2026-01-01\"\n";
    assert_eq!(build(&[manifest, bench, ("rust-toolchain.toml", nightly)]), all);
    assert_eq!(build(&[manifest, bench, ("rust-toolchain", "nightly\n")]), all);
    assert_eq!(build(&[manifest, bench, ("rust-toolchain", "1.90\n")]), without);
}
