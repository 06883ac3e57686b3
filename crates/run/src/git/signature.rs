//! Creates and checks detached signatures of a file, with the programs and keys that the user's git signs commits with.
//! Anyone can check them without acquit: `gpg --verify FILE.sig FILE`, or `ssh-keygen -Y verify -n acquit …`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::sign::{Format, Signing, User};
use super::{Error, Git, Source};
use crate::process::{Call, Captured, Exit, Guard, Spawner, inherited};

/// Namespace of SSH signatures, so that a signature of a commit or a mail is not valid for a statement.
const NAMESPACE: &str = "acquit";

/// Time limit for a signature. A person may have to touch a security key.
const LIMIT: Duration = Duration::from_mins(1);

/// Programs for creating and checking signatures.
#[derive(Clone, Copy)]
pub struct Programs<'r> {
    /// Git, which knows the user's settings.
    pub git: &'r Git,
    /// Starts the signing program.
    pub spawner: &'r Spawner,
    /// Search path for programs.
    pub path: Option<&'r OsStr>,
}

/// Result of checking a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    /// Valid, by this signer whom the user trusts.
    By(String),
    /// Not by a trusted signer, or not for this file, with the reason.
    No(String),
}

impl Signing {
    /// Signs bytes.
    pub fn sign(&self, programs: Programs<'_>, user: &User, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        let key = self.key.clone().unwrap_or_default();
        let program = self.program.clone().unwrap_or_else(|| self.format.program().1.to_owned());
        // The setting contains the public key itself rather than a file. The SSH agent has the private key.
        let literal = key.strip_prefix("key::").or_else(|| key.starts_with("ssh-").then_some(&key));
        let file = literal
            .map(|text| inherited(format!("{text}\n").as_bytes()))
            .transpose()
            .map_err(|source| Error::Path { path: "the public key".into(), source })?;
        let args: Vec<OsString> = match (self.format, &file) {
            (Format::OpenPgp | Format::X509, _) => {
                ["--status-fd=2", "-bsau", &key].map(OsString::from).into()
            }
            (Format::Ssh, None) => {
                let path = user.expand(&key).into_os_string();
                ["-Y", "sign", "-n", NAMESPACE, "-f"].map(OsString::from).into_iter().chain([path]).collect()
            }
            (Format::Ssh, Some(file)) => {
                use std::os::fd::AsRawFd;
                let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
                ["-Y", "sign", "-U", "-n", NAMESPACE, "-f", &path].map(OsString::from).into()
            }
        };
        let output = run(programs, user, &program, args, bytes)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let made = match self.format {
            Format::Ssh => true,
            Format::OpenPgp | Format::X509 => said.contains("[GNUPG:] SIG_CREATED "),
        };
        if output.exit != Exit::Code(0) || !made || output.stdout.is_empty() {
            return Err(refused(&program, &output));
        }
        Ok(output.stdout)
    }
}

impl Source {
    /// Checks the detached signature in the file `signature` for these bytes. `allowed` lists the trusted SSH signers;
    /// the default is the list of the user's git.
    pub fn check_signature(
        &self,
        programs: Programs<'_>,
        user: &User,
        bytes: &[u8],
        signature: &Path,
        allowed: Option<&Path>,
    ) -> Result<Signed, Error> {
        let at = |source| Error::Path { path: signature.to_owned(), source };
        let text = std::fs::read_to_string(signature).map_err(at)?;
        let format = match text.lines().next().unwrap_or_default() {
            "-----BEGIN SSH SIGNATURE-----" => Format::Ssh,
            "-----BEGIN PGP SIGNATURE-----" => Format::OpenPgp,
            "-----BEGIN SIGNED MESSAGE-----" => Format::X509,
            _ => return Ok(Signed::No("it is no signature".to_owned())),
        };
        let own = self.signing_program(programs.git, user, format)?;
        let program = own.unwrap_or_else(|| format.program().1.to_owned());
        let check = Check { programs, user, program: &program, signature, bytes };
        match format {
            Format::OpenPgp | Format::X509 => check.gpg(),
            Format::Ssh => {
                let configured = self.allowed_signers(programs.git, user)?;
                check.ssh(allowed.map(Path::to_owned).or(configured))
            }
        }
    }
}

struct Check<'c> {
    programs: Programs<'c>,
    user: &'c User,
    program: &'c str,
    signature: &'c Path,
    bytes: &'c [u8],
}

impl Check<'_> {
    fn gpg(&self) -> Result<Signed, Error> {
        let mut args: Vec<OsString> = ["--batch", "--status-fd=1", "--verify"].map(OsString::from).into();
        args.extend([self.signature.as_os_str().to_owned(), "-".into()]);
        let output = run(self.programs, self.user, self.program, args, self.bytes.to_vec())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let status = |word: &str| {
            let front = format!("[GNUPG:] {word} ");
            said.lines().find_map(|line| line.strip_prefix(&front).map(str::to_owned))
        };
        // The first word is the key; the rest is its owner.
        let signer =
            |line: String| line.split_once(' ').map_or_else(|| line.clone(), |(_, who)| who.to_owned());
        Ok(match (status("GOODSIG"), output.exit) {
            (Some(line), Exit::Code(0)) => Signed::By(signer(line)),
            _ if status("BADSIG").is_some() => Signed::No("it is not of this file".to_owned()),
            _ if status("NO_PUBKEY").is_some() => Signed::No("your keys do not have the signer's".to_owned()),
            _ if status("REVKEYSIG").is_some() => Signed::No("the key was revoked".to_owned()),
            _ if status("EXPKEYSIG").is_some() || status("EXPSIG").is_some() => {
                Signed::No("the key or the signature has expired".to_owned())
            }
            _ => Signed::No(first_line(&output)),
        })
    }

    fn ssh(&self, allowed: Option<PathBuf>) -> Result<Signed, Error> {
        let Some(allowed) = allowed else {
            return Ok(Signed::No(
                "nobody's SSH signatures are trusted: set git's gpg.ssh.allowedSignersFile, or give --allowed-signers"
                    .to_owned(),
            ));
        };
        let call = |verb: &str, more: &[&std::ffi::OsStr]| {
            let args = ["-Y", verb, "-n", NAMESPACE, "-s"].map(OsString::from).into_iter();
            let args = args.chain([self.signature.as_os_str().to_owned()]);
            let args = args.chain(more.iter().map(|word| (*word).to_owned())).collect();
            run(self.programs, self.user, self.program, args, self.bytes.to_vec())
        };
        let found = call("find-principals", &["-f".as_ref(), allowed.as_os_str()])?;
        let names = String::from_utf8_lossy(&found.stdout);
        for name in names.lines().filter(|name| !name.is_empty()) {
            let checked =
                call("verify", &["-f".as_ref(), allowed.as_os_str(), "-I".as_ref(), name.as_ref()])?;
            if checked.exit == Exit::Code(0) {
                return Ok(Signed::By(name.to_owned()));
            }
        }
        // The signer is unknown, but whether the signature matches this file can still be checked.
        let whole = call("check-novalidate", &[])?;
        Ok(Signed::No(match whole.exit {
            Exit::Code(0) => format!("its key is not in {}", allowed.display()),
            _ => "it is not of this file".to_owned(),
        }))
    }
}

fn run(
    programs: Programs<'_>,
    user: &User,
    program: &str,
    args: Vec<OsString>,
    input: Vec<u8>,
) -> Result<Captured, Error> {
    let mut env = user.environment();
    env.extend(programs.path.map(|path| ("PATH".into(), path.to_owned())));
    let call = Call {
        program: program.into(),
        args,
        cwd: "/".into(),
        env,
        input: Some(input),
        limit: LIMIT,
        guard: Guard::Trusted,
    };
    programs
        .spawner
        .capture(&call)
        .map_err(|source| Error::Signer { program: program.to_owned(), source: Box::new(source) })
}

fn refused(program: &str, output: &Captured) -> Error {
    Error::NotSigned { program: program.to_owned(), why: first_line(output) }
}

/// Returns the first line of a program's output that is not machine-readable status.
fn first_line(output: &Captured) -> String {
    let text =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.is_empty() && !line.starts_with("[GNUPG:]"));
    acquit_core::agent::shorten(line.unwrap_or("no reason given"), 300)
}
