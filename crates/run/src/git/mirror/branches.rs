//! Ownership of the branches in a mirror: those of the remote follow it, including removals, and acquit's own stay.
//!
//! Both are under `refs/heads/`, so a file records which names came from the remote. Only recorded branches are ever
//! removed, and only when a complete answer of the remote lists other branches but not this one. Names are recorded
//! before their branches are fetched, and forgotten after they are removed. An update that is killed in between leaves
//! too many names in the record, which is harmless.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::super::{CommitId, Error, Git, is_ref_name, push::Way};

/// The record, in the mirror's directory: one name per line.
const RECORD: &str = "acquit-origin";

/// Default prefixes of acquit's branches. Branches of the remote with such names are not mirrored.
const OURS: [&str; 2] = ["acquit", "night-shift"];

/// The branches that a remote lists.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    /// Names without `refs/heads/`.
    branches: BTreeSet<String>,
    /// Default branch, if it is one of them.
    head: Option<String>,
}

impl Listed {
    fn parse(text: &str) -> Self {
        let mut listed = Self::default();
        let mut head = None;
        for (first, name) in text.lines().filter_map(|line| line.split_once('\t')) {
            match (first.strip_prefix("ref: refs/heads/"), name.strip_prefix("refs/heads/")) {
                (Some(branch), _) if name == "HEAD" => head = Some(branch),
                (None, Some(branch)) if first.parse::<CommitId>().is_ok() => {
                    listed.branches.insert(branch.to_owned());
                }
                _ => {}
            }
        }
        let usable = |head: &&str| is_ref_name(head) && listed.branches.contains(*head);
        listed.head = head.filter(usable).map(ToOwned::to_owned);
        listed
    }
}

/// What to do with the branches of a mirror.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Branches to remove: the remote had them and has them no longer.
    gone: BTreeSet<String>,
    /// Acquit's own branches whose names the remote has too.
    kept: BTreeSet<String>,
    /// Branches that come from the remote.
    theirs: BTreeSet<String>,
}

impl Plan {
    /// `here` are the branches of the mirror, `recorded` those that came from the remote, and `head` is the branch of
    /// the mirror's own HEAD.
    fn new(
        listed: &Listed,
        here: &BTreeSet<String>,
        recorded: &BTreeSet<String>,
        head: Option<&str>,
    ) -> Self {
        // A task's branch can have any prefix. If the remote has it too, it was published.
        let own = |name: &String| {
            ours(name) || (here.contains(name) && !recorded.contains(name) && of_a_task(name))
        };
        let (kept, theirs) = listed.branches.iter().cloned().partition(own);
        // If the remote does not name its default branch, keep the mirror's: everything starts there.
        let default = |name: &String| listed.head.is_none() && head == Some(name);
        let gone = |name: &&String| {
            here.contains(*name) && !listed.branches.contains(*name) && !ours(name) && !default(name)
        };
        Self { gone: recorded.iter().filter(gone).cloned().collect(), kept, theirs }
    }
}

/// Returns whether a name has, or conflicts with, a prefix of acquit's branches.
fn ours(name: &str) -> bool {
    OURS.iter().any(|own| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Returns whether a name ends with a task id, as the branches of tasks do.
fn of_a_task(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let (before, number) = last.rsplit_once("T-").unwrap_or(("", ""));
    (before.is_empty() || before.ends_with('-'))
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

impl Git {
    /// Updates the branches of a mirror to those of the remote.
    pub(super) fn follow(&self, place: &Path, way: &Way<'_>) -> Result<(), Error> {
        let at = |source| Error::Path { path: place.join(RECORD), source };
        // Git fails if the answer is incomplete.
        let answer = self.call("ls-remote").reaching(way);
        let answer = answer.args(["--symref", "--", way.url, "HEAD", "refs/heads/*"]).run()?;
        let listed = Listed::parse(&String::from_utf8_lossy(&answer.stdout));
        let mut recorded = read(place).map_err(at)?;
        if listed.branches.is_empty() && !recorded.is_empty() {
            return Err(Error::Failed {
                verb: "ls-remote".to_owned(),
                code: answer.code,
                stderr: format!(
                    "it has no branches any more, and had {}; the mirror of it is left as it was",
                    recorded.len()
                ),
            });
        }
        let here =
            self.call("for-each-ref").git_dir(place).args(["--format=%(refname)", "refs/heads/"]).run()?;
        let here = String::from_utf8_lossy(&here.stdout);
        let here = here.lines().filter_map(|name| name.strip_prefix("refs/heads/"));
        let head = fs::read_to_string(place.join("HEAD")).unwrap_or_default();
        let head = head.trim().strip_prefix("ref: refs/heads/");
        let plan = Plan::new(&listed, &here.map(ToOwned::to_owned).collect(), &recorded, head);

        recorded.extend(plan.theirs.iter().cloned());
        write(place, &recorded).map_err(at)?;
        if !plan.gone.is_empty() {
            // Remove before fetching, because `a` would conflict with `a/b`.
            let lines = plan.gone.iter().map(|name| format!("delete refs/heads/{name}\n"));
            let removal = self.call("update-ref").git_dir(place).args(["--stdin", "--no-deref"]);
            removal.input(lines.collect::<String>()).run()?;
        }
        self.fetch_all(place, way, &plan.kept)?;
        if let Some(head) = listed.head.filter(|head| plan.theirs.contains(head)) {
            let head = format!("refs/heads/{head}");
            self.call("symbolic-ref").git_dir(place).args(["HEAD", &head]).run()?;
        }
        recorded.retain(|name| !plan.gone.contains(name));
        write(place, &recorded).map_err(at)
    }

    fn fetch_all(&self, place: &Path, way: &Way<'_>, kept: &BTreeSet<String>) -> Result<(), Error> {
        let mut wanted = "+refs/heads/*:refs/heads/*\n".to_owned();
        for own in OURS {
            wanted.push_str(&format!("^refs/heads/{own}\n^refs/heads/{own}/*\n"));
        }
        for name in kept.iter().filter(|name| !ours(name)) {
            wanted.push_str(&format!("^refs/heads/{name}\n"));
        }
        self.call("fetch")
            .git_dir(place)
            .reaching(way)
            // Always receive one pack, so that a limit on the file size limits what arrives.
            .set("fetch.unpackLimit=1")
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"])
            .args(["--stdin", "--", way.url])
            .input(wanted)
            .run()
            .map(drop)
    }
}

/// Reads the names that came from the remote. A new mirror has no record yet.
fn read(place: &Path) -> io::Result<BTreeSet<String>> {
    match fs::read_to_string(place.join(RECORD)) {
        Ok(text) => Ok(text.lines().map(ToOwned::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

fn write(place: &Path, names: &BTreeSet<String>) -> io::Result<()> {
    let new = place.join(RECORD).with_extension("new");
    let lines: Vec<&str> = names.iter().flat_map(|name| [name.as_ref(), "\n"]).collect();
    fs::write(&new, lines.concat())?;
    fs::rename(new, place.join(RECORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "95d09f2b10159347eece71399a7e2e907ea3df4f";

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn listed(branches: &[&str], head: Option<&str>) -> Listed {
        Listed { branches: names(branches), head: head.map(ToOwned::to_owned) }
    }

    #[test]
    fn an_answer_is_read_line_by_line_and_what_is_none_counts_for_nothing() {
        let text = format!(
            "ref: refs/heads/main\tHEAD\n{ID}\tHEAD\n{ID}\trefs/heads/main\n{ID}\trefs/heads/a/b\n\
             {ID}\trefs/remotes/x/refs/heads/c\nnot an id\trefs/heads/d\n{ID} refs/heads/e\nrefs/heads/f\n"
        );
        assert_eq!(Listed::parse(&text), listed(&["a/b", "main"], Some("main")));
        let dangling = format!("ref: refs/heads/gone\tHEAD\n{ID}\trefs/heads/main\n");
        assert_eq!(Listed::parse(&dangling), listed(&["main"], None));
        assert_eq!(Listed::parse(""), Listed::default());
    }

    #[test]
    fn only_what_came_from_the_remote_and_is_there_no_longer_goes() {
        let here = names(&["main", "old", "acquit/x-T-1", "bot/y-T-2", "mine"]);
        let recorded = names(&["main", "old", "never-fetched"]);
        let plan = Plan::new(&listed(&["main", "new"], Some("main")), &here, &recorded, Some("main"));
        assert_eq!(plan.gone, names(&["old"]));
        assert_eq!(plan.theirs, names(&["main", "new"]));
        // Recorded by mistake, or because the remote wants it.
        let recorded = names(&["main", "acquit", "acquit/x-T-1", "night-shift/z-T-3"]);
        let plan = Plan::new(&listed(&["main"], Some("main")), &here, &recorded, Some("main"));
        assert_eq!(plan.gone, names(&[]));
    }

    #[test]
    fn a_published_branch_of_a_task_stays_acquits() {
        let here = names(&["main", "bot/y-T-2", "fix-T-9"]);
        let recorded = names(&["main", "fix-T-9"]);
        let answer = listed(&["main", "bot/y-T-2", "fix-T-9", "bot/z-T-4", "acquit"], Some("main"));
        let plan = Plan::new(&answer, &here, &recorded, Some("main"));
        assert_eq!(plan.kept, names(&["acquit", "bot/y-T-2"]));
        assert_eq!(plan.theirs, names(&["bot/z-T-4", "fix-T-9", "main"]));
        for (name, is) in
            [("a-T-1", true), ("a/T-12", true), ("T-1/a", false), ("aT-1", false), ("a-T-", false)]
        {
            assert_eq!(of_a_task(name), is, "{name}");
        }
    }

    #[test]
    fn the_default_branch_stays_until_the_remote_names_another() {
        let here = names(&["main", "other"]);
        let nameless = Plan::new(&listed(&["new"], None), &here, &here, Some("main"));
        assert_eq!(nameless.gone, names(&["other"]));
        let named = Plan::new(&listed(&["new"], Some("new")), &here, &here, Some("main"));
        assert_eq!(named.gone, names(&["main", "other"]));
    }
}
