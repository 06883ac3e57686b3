//! Reads private data: keys and logins in the user's home, acquit's store, other tasks, other users.
//!
//! A secret of the home is a line of [`SECRETS`]; the test puts a canary there, and the verb tries to read it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::files::{detours, here};
use super::sys::{Arg, call, open_by, text};
use super::world::{self, MARK};
use super::{Attack, Tried, World};

/// Queries the number of shared memory segments.
const SHM_INFO: i64 = 14;

macro_rules! secrets {
    ($(($verb:literal, $file:literal)),* $(,)?) => {
        /// Verbs, each with a file in the home whose contents only its owner may know.
        pub const SECRETS: &[(&str, &str)] = &[$(($verb, $file)),*];
        pub(super) const ATTACKS: &[Attack] = &[
            $(($verb, concat!("reads ~/", $file), |world, tried| in_home(world, tried, $file)),)*
            ("list-home", "lists the user's home", list_home),
            ("read-renamed", "reads a hidden file after the host renamed another over it", renamed),
            ("read-service-settings", "reads what services keep below /etc", services),
            ("read-shadow", "reads the machine's passwords", shadow),
            ("read-other-homes", "lists homes of other users", other_homes),
            ("read-store", "reads acquit's store", store),
            ("read-other-workspace", "reads another task's tree", other_workspace),
            ("read-other-leg", "reads what another leg was told and said", other_leg),
            ("read-checkout", "reads what the user has not committed", checkout),
            ("read-user-git-config", "reads the login in the config of the user's repository", git_config),
            ("read-host-tmp", "reads temporary files of others", host_tmp),
            ("read-shared-memory", "reads shared memory of others", shared_memory),
            ("read-environment", "looks for secrets of other stages in its own environment", environment),
        ];
    };
}

secrets![
    ("read-ssh-key", ".ssh/id_ed25519"),
    ("read-ssh-config", ".ssh/config"),
    ("read-aws", ".aws/credentials"),
    ("read-gh", ".config/gh/hosts.yml"),
    ("read-glab", ".config/glab-cli/config.yml"),
    ("read-netrc", ".netrc"),
    ("read-git-credentials", ".git-credentials"),
    ("read-gitconfig", ".gitconfig"),
    ("read-bash-history", ".bash_history"),
    ("read-zsh-history", ".zsh_history"),
    ("read-cargo-login", ".cargo/credentials.toml"),
    ("read-npmrc", ".npmrc"),
    ("read-pypirc", ".pypirc"),
    ("read-docker-login", ".docker/config.json"),
    ("read-kube", ".kube/config"),
    ("read-gnupg", ".gnupg/private-keys-v1.d/key"),
    ("read-firefox", ".mozilla/firefox/x.default/logins.json"),
    ("read-chrome", ".config/google-chrome/Default/Login Data"),
    ("read-keyrings", ".local/share/keyrings/login.keyring"),
    ("read-password-store", ".password-store/bank.gpg"),
    ("read-other-agent", ".claude.json"),
    ("read-other-agent-login", ".codex/auth.json"),
    ("read-gcloud", ".config/gcloud/credentials.db"),
    ("read-azure", ".azure/accessTokens.json"),
    ("read-vault", ".vault-token"),
    ("read-pgpass", ".pgpass"),
    ("read-documents", "Documents/diary.txt"),
    ("read-cargo-settings", ".cargo/config.toml"),
    ("read-cargo-home", ".cargo/notes"),
    ("read-uv-login", ".local/share/uv/credentials/login"),
    ("read-gradle-properties", ".gradle/gradle.properties"),
    ("read-gradle-scripts", ".gradle/init.d/login.gradle"),
    ("read-npm-logs", ".npm/_logs/debug.log"),
    ("read-maven-settings", ".m2/settings.xml"),
    ("read-go-sources", "go/src/private/main.go"),
    ("read-volta-hooks", ".volta/hooks.json"),
    ("read-pyenv-home", ".pyenv/.env"),
    ("read-mise-settings", ".config/mise/config.toml"),
    ("read-sbt-settings", ".sbt/1.0/credentials.sbt"),
    ("read-unknown-tool", ".newtool/token"),
    ("read-npmrc-of-nvm", ".nvm/versions/node/v20.1.0/etc/npmrc"),
    ("read-npmrc-of-mise", ".local/share/mise/installs/node/20.1.0/etc/npmrc"),
    ("read-npmrc-of-volta", ".volta/tools/image/node/20.1.0/etc/npmrc"),
    ("read-settings-of-sdkman", ".sdkman/candidates/maven/3.9.9/conf/settings.xml"),
    ("read-pip-of-pyenv", ".pyenv/versions/3.12.1/pip.conf"),
    ("read-pipx-metadata", ".local/share/pipx/venvs/tool/pipx_metadata.json"),
    ("read-uv-receipt", ".local/share/uv/tools/tool/uv-receipt.toml"),
];

/// Reads a file with a canary. Another file in its place, such as one of the attacker's own, proves nothing.
fn look(path: impl AsRef<Path>) -> io::Result<String> {
    world::look(path).and_then(|found| {
        if found.starts_with(MARK) { Ok(found) } else { Err(io::Error::from_raw_os_error(libc::ENODATA)) }
    })
}

/// Reads a hidden file that the host replaces now and then, and one that the host creates later.
fn renamed(world: &World, tried: &mut Tried) {
    let folder = world.path("shown");
    for name in ["hidden", "later"] {
        let begun = std::time::Instant::now();
        let mut found = look(folder.join(name));
        while found.is_err() && begun.elapsed() < std::time::Duration::from_secs(1) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            found = look(folder.join(name));
        }
        tried.way(name, found);
    }
}

/// Reads settings that no build needs.
fn services(_: &World, tried: &mut Tried) {
    for path in [
        "/etc/ssh",
        "/etc/sudoers",
        "/etc/crontab",
        "/etc/apt",
        "/etc/systemd",
        "/etc/environment",
        "/etc/pam.d",
    ] {
        tried.way(path, fs::symlink_metadata(path).map(|_| "there"));
    }
}

/// Tries every way to one file.
fn every_way(tried: &mut Tried, path: &Path) {
    tried.way("plain", look(path));
    for (name, path) in detours(path) {
        tried.way(&name, look(path));
    }
    let link = here("link-to-secret");
    let _ = symlink(path, &link);
    tried.way("symlink", look(&link));
    let _ = fs::remove_file(&link);
    tried.way("hard link", fs::hard_link(path, &link).and_then(|()| look(&link)));
    let _ = fs::remove_file(&link);
    let folder = path.parent().unwrap_or(path);
    let by_folder = || -> io::Result<String> {
        let (folder, name) = (text(folder), text(path.file_name().unwrap_or_default()));
        let folder =
            open_by(libc::SYS_openat, &mut [Arg::N(-100), Arg::S(&folder), Arg::N(libc::O_PATH.into())])?;
        let at = std::os::fd::AsRawFd::as_raw_fd(&folder);
        let file = open_by(libc::SYS_openat, &mut [Arg::N(at.into()), Arg::S(&name), Arg::N(0)])?;
        look(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)))
    };
    tried.way("by its folder", by_folder());
}

fn in_home(world: &World, tried: &mut Tried, file: &str) {
    every_way(tried, &world.path("home").join(file));
}

fn listed(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(format!("{} entries", fs::read_dir(path)?.count()))
}

fn list_home(world: &World, tried: &mut Tried) {
    let home = world.path("home");
    // An empty home, or one with only the folders of declared caches, proves nothing.
    let there = |file: &&str| home.join(file).metadata().is_ok_and(|meta| meta.len() > 0);
    let known: Vec<&str> =
        SECRETS.iter().map(|(_, file)| *file).filter(|file| *file != ".gitconfig").filter(there).collect();
    let found =
        if known.is_empty() { Err(io::Error::from_raw_os_error(libc::ENOENT)) } else { Ok(known.join(" ")) };
    tried.way("names", found);
}

fn shadow(_: &World, tried: &mut Tried) {
    for file in
        ["/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key"]
    {
        if file == "/etc/shadow" || Path::new(file).exists() {
            // An empty file replaces a hidden one.
            let read = fs::read(file).and_then(|text| match text.len() {
                0 => Err(std::io::Error::from_raw_os_error(libc::EACCES)),
                length => Ok(length),
            });
            tried.way(file, read.map(|length| format!("{length} bytes")));
        }
    }
}

fn other_homes(world: &World, tried: &mut Tried) {
    let mut homes = vec![Path::new("/root").to_owned()];
    homes.extend(fs::read_dir("/home").into_iter().flatten().flatten().map(|entry| entry.path()));
    let own = world.path("root");
    for home in homes.iter().filter(|home| !own.starts_with(home)) {
        let found = fs::read_dir(home).and_then(|mut entries| {
            // An empty folder replaces a hidden home.
            entries.next().map(|_| "listed").ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
        });
        tried.way(&home.to_string_lossy(), found);
    }
}

fn store(world: &World, tried: &mut Tried) {
    let home = world.path("acquit");
    every_way(tried, &home.join("canary"));
    for name in ["acquit.db", "acquit.db-wal", "acquit.db-shm"] {
        tried.way(name, world::look(home.join(name)));
    }
}

fn other_workspace(world: &World, tried: &mut Tried) {
    every_way(tried, &world.path("other").join("secret.txt"));
    tried.way("list", listed(world.path("other")));
    tried.way(
        "tasks",
        fs::read_dir(world.path("other").join("../../..")).and_then(|entries| {
            let others = entries.flatten().filter(|entry| entry.file_name() == "T-99").count();
            if others > 0 {
                Ok("another task is seen")
            } else {
                Err(io::Error::from_raw_os_error(libc::ENOENT))
            }
        }),
    );
}

fn other_leg(world: &World, tried: &mut Tried) {
    let legs = world.path("other").join("../../legs/1");
    every_way(tried, &legs.join("prompt.md"));
    every_way(tried, &legs.join("output.log"));
}

fn checkout(world: &World, tried: &mut Tried) {
    every_way(tried, &world.path("repo").join(".env"));
}

fn git_config(world: &World, tried: &mut Tried) {
    every_way(tried, &world.path("repo").join(".git/config"));
}

fn host_tmp(world: &World, tried: &mut Tried) {
    every_way(tried, &world.path("tmpfile"));
}

fn shared_memory(world: &World, tried: &mut Tried) {
    every_way(tried, &world.path("shm"));
    let mut info = [0_u8; 256];
    let asked = call(libc::SYS_shmctl, &mut [Arg::N(0), Arg::N(SHM_INFO), Arg::B(&mut info)]);
    let found = asked.and_then(|_| {
        let used = i32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
        if used > 0 {
            Ok(format!("{used} segments"))
        } else {
            Err(io::Error::from_raw_os_error(libc::ENOENT))
        }
    });
    tried.way("System V", found);
}

fn environment(_: &World, tried: &mut Tried) {
    let found: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| {
            let value = value.to_string_lossy().into_owned();
            super::world::canaries(value.as_bytes())
                .map(|canary| format!("{}={canary}", name.to_string_lossy()))
        })
        .collect();
    tried.way(
        "own",
        if found.is_empty() { Err(io::Error::from_raw_os_error(libc::ENOENT)) } else { Ok(found.join(" ")) },
    );
}
