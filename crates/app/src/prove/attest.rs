//! Attests a judgement as an in-toto statement with our own predicate, and verifies such a statement against a
//! repository.
//!
//! The statement names the judged commit and tree. It lists the executed commands, their results and the hash of their
//! complete output, so that a reader can verify each of them. docs/prove.md describes the predicate.

use std::path::{Path, PathBuf};

use acquit_run::git::{CommitId, Signed, Source, User};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report::Report;
use crate::app::App;
use crate::error::Error;
use acquit_core::hex;

/// Type of an in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// Type of our predicate. A new format gets a new name.
const PREDICATE: &str = "urn:acquit:prove:v1";

/// Maximum size of a statement to read.
const LARGEST: u64 = 64 << 20;

/// Returns the folder next to a statement that keeps copies of the gates' output.
pub fn logs_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".logs");
    name.into()
}

/// Returns the signature file of a statement.
pub fn signature_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Whether a statement is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Not signed, or no signature required.
    No,
    /// Signed, or signature required.
    Yes,
}

/// Requirements for a statement.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'d> {
    /// Whether it must be signed.
    pub signed: Sign,
    /// File of trusted SSH signers. If `None`, uses the one configured in the user's git.
    pub allowed_signers: Option<&'d Path>,
}

/// Result of checking one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Subject of the check.
    pub what: String,
    /// Whether it matches the statement.
    pub holds: bool,
    /// Result of the check.
    pub found: String,
}

/// The content of a statement and whether the repository agrees with it.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The judgement the statement reports.
    pub decision: String,
    /// Result of each check.
    pub checked: Vec<Checked>,
}

impl Verified {
    /// Returns whether every check matches the statement.
    pub fn holds(&self) -> bool {
        !self.checked.is_empty() && self.checked.iter().all(|one| one.holds)
    }
}

impl App {
    /// Writes a judgement as a statement. With [`Sign::Yes`], also writes a signature next to it, made with the key of
    /// the user's git.
    pub fn attest(&self, report: &Report, file: &Path, sign: Sign) -> Result<(), Error> {
        let change = &report.change;
        let mut subject = vec![json!({ "name": "tree", "digest": { "gitTree": change.tree } })];
        if !change.uncommitted {
            subject.insert(0, json!({ "name": "commit", "digest": { "gitCommit": change.head.as_str() } }));
        }
        let now = jiff_text((self.runtime.now)().0);
        let statement = json!({
            "_type": STATEMENT,
            "subject": subject,
            "predicateType": PREDICATE,
            "predicate": {
                "judge": { "name": "acquit", "version": env!("CARGO_PKG_VERSION") },
                "machine": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH },
                "finishedOn": now,
                "base": { "gitCommit": change.base.as_str() },
                "report": report,
            },
        });
        let text = serde_json::to_string_pretty(&statement).unwrap_or_default();
        let text = format!("{text}\n");
        let signature = signature_of(file);
        let at = |path: &Path, source| Error::File { doing: "write", path: path.to_owned(), source };
        // Remove the signature of an earlier statement: it would not match this one.
        match std::fs::remove_file(&signature) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(at(&signature, error)),
            _ => {}
        }
        std::fs::write(file, &text).map_err(|source| at(file, source))?;
        if sign == Sign::No {
            return Ok(());
        }
        let user = self.git_user();
        let signing = self.source()?.signing_on_request(&self.runtime.git, &user)?;
        let made = signing.sign(self.runtime.signing_programs(), &user, text.into_bytes())?;
        std::fs::write(&signature, made).map_err(|source| at(&signature, source))
    }

    fn git_user(&self) -> User {
        User::new(|name| self.runtime.environment.get(name).map(ToOwned::to_owned))
    }

    /// Checks a statement against the repository of the current directory, and verifies its signature if there is one.
    pub fn verify(&self, file: &Path, demand: &Demand<'_>) -> Result<Verified, Error> {
        let unreadable = |why: String| Error::Statement { path: file.to_owned(), why };
        let at = |source| Error::File { doing: "read", path: file.to_owned(), source };
        let size = std::fs::metadata(file).map_err(at)?.len();
        if size > LARGEST {
            return Err(unreadable(format!("it has {size} bytes")));
        }
        let text = std::fs::read(file).map_err(at)?;
        let value: Value = serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if value["_type"] != STATEMENT || value["predicateType"] != PREDICATE {
            return Err(unreadable(format!("it is no statement of the type {PREDICATE}")));
        }
        let source = self.source()?;
        let report = &value["predicate"]["report"];
        let mut checked = Vec::new();
        checked.extend(self.check_signature(&source, file, &text, demand)?);
        self.check_commits(&source, &value, report, &mut checked)?;
        check_logs(&logs_of(file), report, &mut checked);
        let decision = report["decision"].as_str().unwrap_or("unknown").to_owned();
        checked.push(consistent(report, &decision));
        Ok(Verified { decision, checked })
    }

    fn check_signature(
        &self,
        source: &Source,
        file: &Path,
        text: &[u8],
        demand: &Demand<'_>,
    ) -> Result<Option<Checked>, Error> {
        let signature = signature_of(file);
        let what = format!("signature {}", signature.display());
        if !signature.exists() {
            let missing = Checked { what, holds: false, found: "the statement is not signed".to_owned() };
            return Ok((demand.signed == Sign::Yes).then_some(missing));
        }
        let user = self.git_user();
        let signed = source.check_signature(
            self.runtime.signing_programs(),
            &user,
            text,
            &signature,
            demand.allowed_signers,
        )?;
        Ok(Some(match signed {
            Signed::By(who) => Checked { what, holds: true, found: format!("by {who}") },
            Signed::No(why) => Checked { what, holds: false, found: why },
        }))
    }

    fn check_commits(
        &self,
        source: &Source,
        value: &Value,
        report: &Value,
        checked: &mut Vec<Checked>,
    ) -> Result<(), Error> {
        let git = &self.runtime.git;
        let known = |name: &str| -> Option<CommitId> {
            let id: CommitId = name.parse().ok()?;
            source.base(git, Some(id.as_str())).ok().map(|base| base.commit)
        };
        let tree = report["change"]["tree"].as_str().unwrap_or_default();
        for subject in value["subject"].as_array().into_iter().flatten() {
            let digest = &subject["digest"];
            if let Some(name) = digest["gitCommit"].as_str() {
                let found = known(name);
                let same = match &found {
                    Some(commit) => source.tree_of(git, commit)? == tree,
                    None => false,
                };
                let said = match (&found, same) {
                    (None, _) => "this repository does not have it",
                    (Some(_), true) => "it is here, with the tree that was judged",
                    (Some(_), false) => "it has another tree than the one that was judged",
                };
                checked.push(Checked { what: format!("commit {name}"), holds: same, found: said.to_owned() });
            }
            if let Some(name) = digest["gitTree"].as_str() {
                let head = source.base(git, None)?.commit;
                let (here, same) = (source.tree_of(git, &head)? == name, name == tree);
                let said = match (same, here) {
                    (false, _) => "the report names another tree",
                    (true, true) => "it is the tree of HEAD",
                    (true, false) => "HEAD has another tree: what is checked out is not what was judged",
                };
                // A statement about a commit holds wherever that commit exists. A statement about uncommitted work
                // holds only where its files are.
                let holds = same && (here || report["change"]["uncommitted"] == false);
                checked.push(Checked { what: format!("tree {name}"), holds, found: said.to_owned() });
            }
        }
        let base = report["change"]["base"].as_str().unwrap_or_default();
        let (found, said) = match known(base) {
            Some(_) => (true, "it is here"),
            None => (false, "this repository does not have it"),
        };
        checked.push(Checked { what: format!("base {base}"), holds: found, found: said.to_owned() });
        Ok(())
    }
}

/// Compares the copies of the gates' output with their hashes. A missing copy is not a contradiction.
fn check_logs(folder: &Path, report: &Value, checked: &mut Vec<Checked>) {
    for claim in report["claims"].as_array().into_iter().flatten() {
        let log = &claim["log"];
        let (Some(name), Some(hash)) = (log["file"].as_str(), log["sha256"].as_str()) else { continue };
        let plain = Path::new(name).file_name() == Some(std::ffi::OsStr::new(name));
        let Some(bytes) = plain.then(|| std::fs::read(folder.join(name)).ok()).flatten() else { continue };
        let holds = hex::encode(&Sha256::digest(&bytes)) == hash;
        let said = if holds { "as it was printed" } else { "it was changed since" };
        checked.push(Checked { what: format!("log {name}"), holds, found: said.to_owned() });
    }
}

/// Checks that the decision follows from the claims in the same report.
fn consistent(report: &Value, decision: &str) -> Checked {
    let broken = |claim: &Value| claim["status"] == "broken";
    let any = report["claims"].as_array().into_iter().flatten().any(broken);
    let holds =
        any == (decision == "guilty") && report["claims"].as_array().is_some_and(|all| !all.is_empty());
    let found = if holds { "it follows from its claims" } else { "it does not follow from its claims" };
    Checked { what: format!("judgement {decision}"), holds, found: found.to_owned() }
}

/// Formats a Unix time in milliseconds as UTC.
fn jiff_text(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
