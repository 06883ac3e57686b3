//! Links the attacker without debug information: every attack commits it to a repository, so its size is paid for again
//! and again.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "cargo asks by variables and is told by lines"
)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bin=hostile=-Wl,--strip-debug");
    }
}
