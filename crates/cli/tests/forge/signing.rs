//! What is pushed is signed as the user's git signs: with real keys of OpenPGP and X.509, and with a program that tells how it was called.
#![allow(
    clippy::disallowed_methods,
    reason = "keys are made and signatures checked with the programs themselves"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acquit_testkit::forge::Dialect;
use acquit_testkit::{need, repo};

use crate::common::read;
use crate::world::{BRANCH, WORKFLOW, World};

/// A home of GnuPG, whose agent ends with the test.
struct Keys(PathBuf);

impl Keys {
    fn new(home: &Path) -> Self {
        let folder = home.join(".gnupg");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    fn call(&self, program: &str, args: &[&str]) -> Output {
        let path = "/usr/local/bin:/usr/bin:/bin";
        let mut command = Command::new(program);
        command.env_clear().env("PATH", path).env("GNUPGHOME", &self.0).args(args);
        command.output().unwrap()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = self.call("gpgconf", &["--kill", "all"]);
    }
}

fn configure(world: &World, more: &str) {
    let config = format!(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n\tsigningkey = ada@example.org\n[commit]\n\tgpgsign = true\n{more}"
    );
    repo::write(&world.sandbox.place("home/.gitconfig"), &config);
}

#[test]
fn what_is_pushed_is_signed_with_the_users_key_of_openpgp() {
    let Some(_) = need::program("gpg", "what is pushed is signed with OpenPGP") else { return };
    let world = World::new(Dialect::GitHub, WORKFLOW);
    let keys = Keys::new(&world.sandbox.place("home"));
    let user = "Ada <ada@example.org>";
    let made = keys.call(
        "gpg",
        &["--batch", "--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", "never"],
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    configure(&world, "");
    world.sandbox.run_to(0);
    let bare = world.forge.repository("acme/widget");
    let bare = bare.to_string_lossy();
    let seen =
        keys.call("git", &["-c", "safe.directory=*", "--git-dir", &bare, "verify-commit", "--raw", BRANCH]);
    let said = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success() && said.contains("GOODSIG"), "{said}");
    assert!(said.contains(user), "{said}");
}

#[test]
fn a_key_of_openpgp_that_is_not_there_is_a_reason_and_nothing_is_pushed() {
    let Some(_) = need::program("gpg", "what is pushed is signed with OpenPGP") else { return };
    let world = World::new(Dialect::GitHub, &format!("budgets = {{ harness = 0 }}\n{WORKFLOW}"));
    let _keys = Keys::new(&world.sandbox.place("home"));
    configure(&world, "");
    world.sandbox.run_to(3).said("sign the commit");
    assert_eq!(world.forge.branch("acme/widget", BRANCH), None, "nothing unsigned leaves");
}

#[test]
fn what_is_pushed_is_signed_with_the_users_certificate() {
    let Some(_) = need::program("gpgsm", "what is pushed is signed with X.509") else { return };
    let world = World::new(Dialect::GitLab, WORKFLOW);
    let keys = Keys::new(&world.sandbox.place("home"));
    let parameters = "Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign\nSerial: random\nName-DN: CN=Ada\n\
                      Name-Email: ada@example.org\nNot-After: 2100-01-01\nHash-Algo: SHA256\n";
    let (wanted, made) = (keys.0.join("parameters"), keys.0.join("certificate"));
    repo::write(&wanted, parameters);
    repo::write(&keys.0.join("gpgsm.conf"), "disable-crl-checks\n");
    let (wanted, made) = (wanted.to_string_lossy(), made.to_string_lossy());
    let quietly = ["--batch", "--pinentry-mode", "loopback", "--passphrase-fd", "0"];
    let must = |args: &[&str]| {
        let output = keys.call("gpgsm", &[&quietly[..], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    must(&["--gen-key", "--output", &made, &wanted]);
    must(&["--import", &made]);
    let listed = must(&["--list-keys", "--with-colons"]);
    let print = listed.lines().find(|line| line.starts_with("fpr:")).unwrap().split(':').nth(9).unwrap();
    repo::write(&keys.0.join("trustlist.txt"), &format!("{print} S relax\n"));
    keys.call("gpgconf", &["--reload", "gpg-agent"]);
    configure(&world, "[gpg]\n\tformat = x509\n");
    world.sandbox.run_to(0);
    let bare = world.forge.repository("acme/widget");
    let bare = bare.to_string_lossy();
    let seen =
        keys.call("git", &["-c", "safe.directory=*", "--git-dir", &bare, "verify-commit", "--raw", BRANCH]);
    let said = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success() && said.contains("GOODSIG"), "{said}");
}

/// A program that signs as `gpgsm` does, as far as git can tell, and writes down how it was called.
fn signer(world: &World) -> PathBuf {
    let path = world.sandbox.place("signer");
    let log = world.sandbox.place("signed");
    let script = format!(
        "#!/bin/sh\necho \"$* HOME=$HOME\" >> '{log}'\ncat >> '{log}'\necho '[GNUPG:] SIG_CREATED S 1 8 00 0 0' >&2\n\
         printf -- '-----BEGIN SIGNED MESSAGE-----\\nAAAA\\n-----END SIGNED MESSAGE-----\\n'\n",
        log = log.display()
    );
    repo::write(&path, &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_signer_for_x509_is_asked_as_git_asks_it() {
    let world = World::new(Dialect::GitLab, WORKFLOW);
    let program = signer(&world);
    configure(
        &world,
        &format!("[gpg]\n\tformat = x509\n[gpg \"x509\"]\n\tprogram = {}\n", program.display()),
    );
    world.sandbox.run_to(0);
    let said = read(&world.sandbox.place("signed"));
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains("--status-fd=2 -bsau ada@example.org"), "{said}");
    assert!(first.contains(&format!("HOME={}", world.sandbox.place("home").display())), "{said}");
    assert!(said.contains("author Ada <ada@example.org>"), "it gets the commit: {said}");
    let bare = world.forge.repository("acme/widget");
    let pushed = repo::git(&bare, &["cat-file", "commit", BRANCH]);
    assert!(pushed.contains("gpgsig -----BEGIN SIGNED MESSAGE-----"), "{pushed}");
}

#[test]
fn no_repository_names_the_program_that_signs() {
    let world = World::new(Dialect::GitLab, WORKFLOW);
    let theirs = signer(&world);
    configure(&world, "[gpg]\n\tformat = x509\n[gpg \"x509\"]\n\tprogram = false\n");
    world.sandbox.repo.git(&["config", "gpg.x509.program", &theirs.to_string_lossy()]);
    world.sandbox.run_to(3).said("sign the commit");
    assert!(!world.sandbox.place("signed").exists(), "the program of the repository was run");
}
