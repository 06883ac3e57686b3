//! `acquit service`: what would be written and called, and what is said where the system's programs are not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Sandbox, read};
use crate::{FINDS, SHIFT};

fn sandbox() -> Sandbox {
    Sandbox::new(crate::common::SCRIPTED, SHIFT, FINDS)
}

/// A program of that name, first in PATH, which writes down what it is called with.
fn stand_in(sandbox: &Sandbox, name: &str, code: i32) {
    let folder = sandbox.place("bin");
    fs::create_dir_all(&folder).unwrap();
    let log = sandbox.place("called");
    fs::write(
        folder.join(name),
        format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\nexit {code}\n", log.display()),
    )
    .unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_path(sandbox: Sandbox) -> Sandbox {
    let path = format!("{}:/usr/bin:/bin", sandbox.place("bin").display());
    sandbox.with("PATH", path)
}

#[test]
fn a_dry_run_shows_the_unit_and_the_calls_and_writes_nothing() {
    let sandbox = sandbox();
    let ran = sandbox.acquit(&["service", "install", "--dry-run"]).must(0);
    for words in [
        "[Service]",
        "KillMode=process",
        " serve\n",
        "systemctl --user enable acquit.service",
        "systemctl --user restart acquit.service",
        "loginctl enable-linger tester",
    ] {
        ran.said(words);
    }
    assert!(!sandbox.place("home/.config/systemd").exists());
    let system = sandbox.acquit(&["service", "install", "--system", "--dry-run"]).must(0);
    system.said("User=tester");
    system.said("systemctl enable acquit.service");
}

#[test]
fn an_installed_service_is_written_known_and_removed_again() {
    let sandbox = sandbox();
    stand_in(&sandbox, "systemctl", 0);
    stand_in(&sandbox, "loginctl", 0);
    let sandbox = with_path(sandbox);
    sandbox.acquit(&["service", "status"]).must(1).said("not installed");
    sandbox.acquit(&["service", "install"]).must(0).said("installed ");
    let unit = read(&sandbox.place("home/.config/systemd/user/acquit.service"));
    assert!(unit.contains("ACQUIT_HOME=") && unit.contains("WorkingDirectory="), "{unit}");
    let environment = sandbox.place("home/.config/acquit/service.env");
    assert_eq!(fs::metadata(&environment).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&environment, "KEY=mine\n").unwrap();
    sandbox.acquit(&["service", "install"]).must(0);
    assert_eq!(read(&environment), "KEY=mine\n", "what a person wrote there stays");
    sandbox.acquit(&["service", "status"]).must(0).said("running");
    sandbox.acquit(&["service", "uninstall"]).must(0).said("removed ");
    assert!(!sandbox.place("home/.config/systemd/user/acquit.service").exists() && environment.exists());
    let called = read(&sandbox.place("called"));
    for line in [
        "systemctl --user daemon-reload",
        "systemctl --user enable acquit.service",
        "systemctl --user restart acquit.service",
        "loginctl enable-linger tester",
        "systemctl --user is-active acquit.service",
        "systemctl --user disable --now acquit.service",
    ] {
        assert!(called.contains(line), "no {line:?} in {called}");
    }
}

#[test]
fn where_systemd_is_not_there_it_is_said() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.place("bin")).unwrap();
    let path = sandbox.place("bin").display().to_string();
    // Git is needed to find the repository; nothing else is there.
    std::os::unix::fs::symlink("/usr/bin/git", sandbox.place("bin/git")).unwrap();
    let sandbox = sandbox.with("PATH", path);
    sandbox.acquit(&["service", "install"]).must(5).said("run systemctl: is it installed");
}

#[test]
fn without_linger_it_is_told_what_that_means() {
    let sandbox = sandbox();
    stand_in(&sandbox, "systemctl", 0);
    stand_in(&sandbox, "loginctl", 1);
    let sandbox = with_path(sandbox);
    sandbox.acquit(&["service", "install"]).must(0).said("it ends when you log out");
}

#[test]
fn without_a_name_in_the_environment_it_is_for_the_user_of_the_process() {
    let id = std::process::Command::new("id").arg("-un").output().unwrap();
    let name = String::from_utf8(id.stdout).unwrap();
    let ran = sandbox().with("USER", "").acquit(&["service", "install", "--system", "--dry-run"]).must(0);
    ran.said(&format!("User={}\n", name.trim()));
}

/// What systemd says of a unit: the lines about it.
fn complaints(sandbox: &Sandbox, unit: &str, scope: &str) -> Vec<String> {
    let file = sandbox.place("acquit.service");
    fs::write(&file, unit).unwrap();
    let said = std::process::Command::new("systemd-analyze")
        .args(["verify", scope, "--man=no"])
        .arg(&file)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", sandbox.place("home"))
        .env("XDG_RUNTIME_DIR", sandbox.place("tmp"))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    // systemd before 254 does not know it, and does without.
    let is_newer = |line: &&str| line.contains("Unknown key 'DelegateSubgroup'");
    let about_it = words.lines().filter(|line| line.contains("acquit.service"));
    about_it.filter(|line| !is_newer(line)).map(str::to_owned).collect()
}

#[test]
fn systemd_itself_finds_no_mistake_in_the_units() {
    if !["/usr/bin/systemd-analyze", "/bin/systemd-analyze"]
        .iter()
        .any(|file| std::path::Path::new(file).exists())
    {
        // Only machines with systemd can have it: no package brings it to the others.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: systemd_itself_finds_no_mistake_in_the_units: there is no systemd-analyze\n",
        );
        return;
    }
    let sandbox = sandbox();
    for (more, scope) in [(None, "--user"), (Some("--system"), "--system")] {
        let args: Vec<&str> = ["service", "install", "--dry-run"].into_iter().chain(more).collect();
        let unit = sandbox.acquit(&args).must(0).out;
        // The user of the test need not be one of the machine's.
        let unit = unit.replace("User=tester", "User=root");
        assert_eq!(complaints(&sandbox, &unit, scope), [""; 0], "{unit}");
        let broken = unit.replace("KillMode=process", "KillMode=gently");
        assert!(!complaints(&sandbox, &broken, scope).is_empty(), "it does not look: {broken}");
    }
}

#[test]
fn a_second_repository_does_not_replace_the_service_of_the_first() {
    let sandbox = sandbox();
    stand_in(&sandbox, "systemctl", 0);
    stand_in(&sandbox, "loginctl", 0);
    let sandbox = with_path(sandbox);
    sandbox.acquit(&["service", "install"]).must(0);
    let unit = sandbox.place("home/.config/systemd/user/acquit.service");
    let first = read(&unit).replace("WorkingDirectory=", "WorkingDirectory=/elsewhere");
    fs::write(&unit, &first).unwrap();
    for dry in [&["service", "install"][..], &["service", "install", "--dry-run"]] {
        sandbox.acquit(dry).must(2).said("--name acquit-");
    }
    assert_eq!(read(&unit), first);
    sandbox.acquit(&["service", "install", "--name", "acquit-web"]).must(0).said("acquit-web.service");
    assert!(read(&sandbox.place("called")).contains("restart acquit-web.service"));
    // The service of the first repository says nothing about this one.
    sandbox.acquit(&["service", "status"]).must(1).said("runs another repository");
    sandbox.acquit(&["service", "status", "--name", "acquit-web"]).must(0).said("running");
    sandbox.acquit(&["service", "uninstall", "--name", "acquit-web"]).must(0);
    assert_eq!(read(&unit), first);
    sandbox.acquit(&["service", "uninstall"]).must(0).said("which ran another repository");
    sandbox.acquit(&["service", "install", "--name", "../x"]).must(2).said("lower-case");
}
