//! An agent, or the tests of a change, that means harm: `hostile <world> <verb>…`. What it does is in the library.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    acquit_testkit::hostile::main(std::env::args_os().skip(1).collect())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
