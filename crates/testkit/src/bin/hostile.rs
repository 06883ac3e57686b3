//! A malicious agent, or malicious tests of a change: `hostile <world> <verb>…`. The library implements it.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    acquit_testkit::hostile::main(std::env::args_os().skip(1).collect())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
