//! Statements that are signed with the key of the user's git, and checked: real keys of SSH and OpenPGP.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use acquit_testkit::{need, repo};

use crate::common::Sandbox;
use crate::kit::{MENDED, package, ran};

/// Calls a program with the home of the sandbox's user.
fn call(sandbox: &Sandbox, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", sandbox.place("home"));
    let output = command.args(args).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {text}");
    text
}

fn changed() -> (Sandbox, String) {
    let sandbox = package();
    sandbox.repo.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.commit("mend");
    let file = sandbox.place("proof.json").to_string_lossy().into_owned();
    (sandbox, file)
}

fn configure(sandbox: &Sandbox, more: &str) {
    let config = format!("[user]\n\tname = Ada\n\temail = ada@example.org\n{more}");
    repo::write(&sandbox.place("home/.gitconfig"), &config);
}

/// A statement that was changed, and a signature that was, do not hold.
fn forgeries_are_found(sandbox: &Sandbox, file: &str) {
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, text.replace("\"finishedOn\": \"2", "\"finishedOn\": \"3")).unwrap();
    sandbox.acquit(&["verify", file]).must(1).said("it is not of this file");
    fs::write(file, &text).unwrap();
    sandbox.acquit(&["verify", file, "--signed"]).must(0);
    let signature = format!("{file}.sig");
    let kept = fs::read(&signature).unwrap();
    fs::write(&signature, "no signature\n").unwrap();
    sandbox.acquit(&["verify", file]).must(1).said("it is no signature");
    fs::remove_file(&signature).unwrap();
    sandbox.acquit(&["verify", file]).must(0);
    sandbox.acquit(&["verify", file, "--signed"]).must(1).said("the statement is not signed");
    fs::write(&signature, kept).unwrap();
}

#[test]
fn a_statement_is_signed_with_the_ssh_key_of_git() {
    let Some(_) = need::program("ssh-keygen", "statements signed with SSH") else { return };
    let (sandbox, file) = changed();
    let key = sandbox.place("home/.ssh/id_ed25519");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    call(&sandbox, "ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &key.to_string_lossy()]);
    ran(&sandbox, &["--attest", &file, "--sign"], 2).said("sign");
    configure(&sandbox, "\tsigningkey = ~/.ssh/id_ed25519.pub\n[gpg]\n\tformat = ssh\n");
    ran(&sandbox, &["--attest", &file, "--sign"], 0).said("signed");
    // Nobody is trusted yet.
    sandbox.acquit(&["verify", &file]).must(1).said("gpg.ssh.allowedSignersFile");
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = sandbox.place("home/allowed");
    repo::write(&allowed, &format!("ada@example.org {public}"));
    let named = allowed.to_string_lossy().into_owned();
    sandbox
        .acquit(&["verify", &file, "--signed", "--allowed-signers", &named])
        .must(0)
        .said("by ada@example.org");
    configure(&sandbox, "[gpg \"ssh\"]\n\tallowedSignersFile = ~/allowed\n");
    sandbox.acquit(&["verify", &file, "--signed"]).must(0).said("by ada@example.org");
    forgeries_are_found(&sandbox, &file);
    // Somebody else's key.
    let other = sandbox.place("other");
    call(&sandbox, "ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &other.to_string_lossy()]);
    let public = fs::read_to_string(other.with_extension("pub")).unwrap();
    repo::write(&allowed, &format!("eve@example.org {public}"));
    sandbox.acquit(&["verify", &file]).must(1).said("its key is not in");
    // A repository cannot say whom to trust.
    let theirs = sandbox.place("theirs");
    let ours = fs::read_to_string(key.with_extension("pub")).unwrap();
    repo::write(&theirs, &format!("ada@example.org {ours}"));
    sandbox.repo.git(&["config", "gpg.ssh.allowedSignersFile", &theirs.to_string_lossy()]);
    sandbox.acquit(&["verify", &file]).must(1);
}

#[test]
fn a_statement_is_signed_with_the_openpgp_key_of_git() {
    let Some(_) = need::program("gpg", "statements signed with OpenPGP") else { return };
    let (sandbox, file) = changed();
    let keys = sandbox.place("home/.gnupg");
    fs::create_dir_all(&keys).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    configure(&sandbox, "");
    ran(&sandbox, &["--attest", &file, "--sign"], 2).said("sign with gpg");
    let quietly = ["--batch", "--passphrase", "", "--quick-generate-key"];
    call(&sandbox, "gpg", &[&quietly[..], &["Ada <ada@example.org>", "ed25519", "sign", "never"]].concat());
    ran(&sandbox, &["--attest", &file, "--sign"], 0);
    sandbox.acquit(&["verify", &file, "--signed"]).must(0).said("by Ada <ada@example.org>");
    // Anybody can check it without acquit.
    call(&sandbox, "gpg", &["--verify", &format!("{file}.sig"), &file]);
    forgeries_are_found(&sandbox, &file);
    call(&sandbox, "gpgconf", &["--kill", "all"]);
    fs::rename(&keys, sandbox.place("home/gone")).unwrap();
    sandbox.acquit(&["verify", &file]).must(1).said("your keys do not have the signer's");
    call(&sandbox, "gpgconf", &["--kill", "all"]);
}
