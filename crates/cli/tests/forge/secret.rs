//! The token is in no file, no argument and no output; and it is found where people keep it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acquit_testkit::forge::Dialect;
use acquit_testkit::repo;

use crate::common::read;
use crate::world::{TOKEN, WORKFLOW, World};

/// Every file below a folder that has the token in it.
fn leaks(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            leaks(&path, found);
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
}

/// A program in front of the others that writes down its arguments, and does what `then` says.
pub(crate) fn program(world: &World, name: &str, then: &str) {
    let path = world.sandbox.place(&format!("bin/{name}"));
    let log = world.sandbox.place("arguments");
    repo::write(&path, &format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\n{then}\n", log.display()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The same world with those programs.
pub(crate) fn in_front(world: World) -> World {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", world.sandbox.place("bin").display());
    let World { forge, sandbox } = world;
    World { forge, sandbox: sandbox.with("PATH", path) }
}

#[test]
fn the_token_is_nowhere_also_when_the_forge_repeats_it() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, WORKFLOW);
        let real = "PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"";
        program(&world, "git", real);
        let world = in_front(world);
        world.sandbox.run_to(0);
        let calls = read(&world.sandbox.place("arguments"));
        assert!(
            calls.contains(" push ") && calls.contains("--force-with-lease=refs/heads/acquit/do-it-T-1:"),
            "{calls}"
        );
        let mut found = Vec::new();
        leaks(&world.sandbox.place(""), &mut found);
        assert_eq!(found, Vec::<String>::new(), "{dialect:?}");
        for pull in world.forge.pulls() {
            assert!(!pull.body.contains(TOKEN) && !pull.title.contains(TOKEN));
        }
    }
}

#[test]
fn a_secret_that_a_forge_would_act_on_is_in_no_request_either() {
    // What is taken apart so that a forge does nothing because of it would not be recognised afterwards.
    let secret = "pg://ada:p@ss#1word@db.example/x";
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let World { forge, sandbox } = World::new(dialect, WORKFLOW);
        let path = sandbox.repo.path().join(".acquit/acquit.toml");
        let more = "[secrets]\nTHE_DB = { env = \"THE_DB\" }\n";
        let text = fs::read_to_string(path).unwrap().replace("[secrets]\n", more);
        sandbox.repo.write(".acquit/acquit.toml", &text);
        let world = World { forge, sandbox: sandbox.with("THE_DB", secret) };
        let described = format!("The tables are at {secret}, I think.");
        world.sandbox.acquit(&["run", "Do it", "--description", &described]).must(0);
        let pulls = world.forge.pulls();
        let body = pulls[0].body.replace('\u{200b}', "");
        assert!(body.contains("The tables are at [secret THE_DB], I think."), "{body}");
        assert!(!body.contains("ss#1word"), "{body}");
    }
}

/// What a look into `/proc` finds at the moment of a push, from git and from every process that came of it: those with the token in
/// their arguments or their environment. Processes of others are not looked at.
fn seen_in_proc(from: u32) -> (usize, Vec<String>) {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let descends = |pid: u32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|above| above == from);
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let (mut looked, mut found) = (0, Vec::new());
    for pid in pids.filter(|pid| *pid != from && descends(*pid)) {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let name = String::from_utf8_lossy(&arguments).replace('\0', " ");
        // The harness has it from its own environment: that is where this test keeps it.
        if !name.contains("git") {
            continue;
        }
        looked += 1;
        let has = |bytes: &[u8]| bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
        if has(&arguments) || has(&environment) {
            found.push(name);
        }
    }
    (looked, found)
}

#[test]
fn while_git_pushes_the_token_is_in_no_argument_and_no_variable() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, WORKFLOW);
        let (seen, harness) = (std::sync::Arc::new(std::sync::Mutex::new(None)), std::process::id());
        let look = std::sync::Arc::clone(&seen);
        // Git has logged in by then, and waits for the answer.
        world.forge.when_pushed(move || *look.lock().unwrap() = Some(seen_in_proc(harness)));
        world.sandbox.run_to(0);
        let (looked, found) = seen.lock().unwrap().take().expect("it was pushed");
        assert!(looked >= 2, "git and what it starts: {looked}");
        assert_eq!(found, Vec::<String>::new(), "{dialect:?}");
    }
}

/// A world whose configuration names no token.
fn without_token(dialect: Dialect) -> World {
    let world = World::new(dialect, WORKFLOW);
    let text = fs::read_to_string(world.sandbox.repo.path().join(".acquit/acquit.toml")).unwrap();
    world.sandbox.repo.write(".acquit/acquit.toml", &text.replace("token = \"THE_TOKEN\"\n", ""));
    world
}

#[test]
fn a_token_that_is_no_declared_secret_is_nowhere_either_when_git_repeats_it() {
    let World { forge, sandbox } = without_token(Dialect::GitLab);
    let text = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let without = text.replace("THE_TOKEN = { env = \"THE_TOKEN\" }\n", "");
    assert_ne!(text, without);
    sandbox.repo.write(".acquit/acquit.toml", &without);
    let host = forge.host();
    let world = World { forge, sandbox: sandbox.with("GITLAB_TOKEN", TOKEN).with("GITLAB_HOST", host) };
    world.forge.protect("acme/widget", "acquit/");
    let hook = world.forge.repository("acme/widget").join("hooks/update");
    fs::write(&hook, read(&hook).replace("GH006", TOKEN)).unwrap();
    world.sandbox.run_to(3).said("Protected branch");
    let mut found = Vec::new();
    leaks(&world.sandbox.place("acquit"), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_token_is_found_in_the_environment() {
    for (dialect, variable, place) in [
        (Dialect::GitHub, "GH_ENTERPRISE_TOKEN", "GH_HOST"),
        (Dialect::GitLab, "GITLAB_TOKEN", "GITLAB_HOST"),
    ] {
        let World { forge, sandbox } = without_token(dialect);
        let host = forge.host();
        let world = World { forge, sandbox: sandbox.with(variable, TOKEN).with(place, host) };
        world.sandbox.run_to(0);
        assert_eq!(world.forge.pulls().len(), 1);
    }
}

#[test]
fn a_token_is_found_in_the_logins_of_gh_and_glab() {
    for (dialect, name, asked) in [
        (Dialect::GitHub, "gh", "auth token --hostname"),
        (Dialect::GitLab, "glab", "config get token --host"),
    ] {
        let world = without_token(dialect);
        program(
            &world,
            name,
            &format!("test \"$*\" = \"{asked} {}\" && echo $THE_LOGIN", world.forge.host()),
        );
        let World { forge, sandbox } = in_front(world);
        let world = World { forge, sandbox: sandbox.with("THE_LOGIN", TOKEN) };
        world.sandbox.run_to(0);
        assert_eq!(world.forge.pulls().len(), 1);
    }
}

#[test]
fn a_token_is_found_by_gits_credential_helper() {
    let world = without_token(Dialect::GitHub);
    let helper = "!f() { test \"$1\" = get && echo username=x && echo password=$THE_LOGIN; }; f";
    let settings = format!("[credential]\n\thelper = {helper:?}\n");
    repo::write(&world.sandbox.place("home/.gitconfig"), &settings);
    let World { forge, sandbox } = world;
    // Helpers get their surroundings from a short list, so this one is told by a file.
    repo::write(&sandbox.place("home/login"), TOKEN);
    let settings = settings.replace("$THE_LOGIN", "$(cat \\\"$HOME/login\\\")");
    repo::write(&sandbox.place("home/.gitconfig"), &settings);
    let world = World { forge, sandbox };
    world.sandbox.run_to(0);
    assert_eq!(world.forge.pulls().len(), 1);
}
