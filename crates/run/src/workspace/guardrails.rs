//! Rules for an agent's use of git. It must not commit without the task id, touch a protected branch, push, or edit
//! `.acquit/` or the settings from which coding agents start programs.
//!
//! Hooks report a violation while the agent can still fix it. They are only advice: the agent's own git runs them in
//! its sandbox, so it can disable them. What counts is what [`super::LockedWorkspace::collect`] finds afterwards.

use super::{Error, files};
use crate::git::{CommitId, is_ref_name};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Directory of acquit's own files in a project.
const OWN_FOLDER: &str = ".acquit";

/// Files and directories of a project from which coding agents start programs on their own (hooks, tool servers,
/// plugins, test commands, commands in front matter or in the text of a skill), without a decision of the model. If one
/// stage commits such a file, the agent of the next stage would run it with its own secrets.
const AGENT_SETTINGS: &[&str] = &[
    ".mcp.json",
    ".claude",
    ".codex",
    ".gemini/.env",
    ".gemini/agents",
    ".gemini/commands",
    ".gemini/extensions",
    ".gemini/hooks",
    ".gemini/policies",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/command",
    ".opencode/commands",
    ".opencode/node_modules",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".opencode/package.json",
    ".opencode/plugin",
    ".opencode/plugins",
    ".opencode/tool",
    ".opencode/tools",
    ".cursor/agents",
    ".cursor/cli.json",
    ".cursor/hooks",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".pi/extensions",
    ".pi/git",
    ".pi/npm",
    ".pi/settings.json",
    ".aider.conf.yml",
    ".aider.model.settings.yml",
    ".opencode/.npmrc",
    ".opencode/bun.lock",
    ".opencode/bunfig.toml",
    ".opencode/package-lock.json",
    // Agents that run over ACP or as a command.
    ".amp",
    ".augment/agents",
    ".augment/commands",
    ".augment/hooks",
    ".augment/settings.json",
    ".augment/settings.local.json",
    ".clinerules/hooks",
    ".codebuddy",
    ".continue",
    ".copilot",
    ".crush",
    ".crush.json",
    "crush.json",
    ".factory",
    ".github/agents",
    ".github/copilot",
    ".github/hooks",
    ".github/mcp.json",
    ".goose",
    ".iflow",
    ".junie/mcp",
    ".kilocode/mcp.json",
    ".kimi",
    ".kiro/agents",
    ".kiro/hooks",
    ".kiro/settings",
    ".openhands",
    ".qwen",
    ".roo/mcp.json",
    ".trae/mcp.json",
    ".vibe",
    ".vscode/mcp.json",
    ".windsurf/hooks.json",
    ".zed/settings.json",
];

/// Returns the paths of a project from which coding agents start programs.
pub fn agent_settings() -> impl Iterator<Item = &'static str> {
    AGENT_SETTINGS.iter().copied()
}

/// Files in these directories that are only text for the model.
const AGENT_TEXTS: &[&str] =
    &[".claude/CLAUDE.md", ".claude/agent-memory", ".claude/output-styles", ".claude/rules"];

/// Directory that Claude Code also reads in folders below the top, when it works on a file there.
const NESTED: &str = ".claude";
/// Entries that it uses there: skills, subagents and commands can have hooks, tool servers and commands.
const IN_NESTED: &[&str] = &["skills", "agents", "commands", "plugins"];

/// The rules of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Task id that every commit must name, such as `T-1`.
    pub task_id: String,
    /// Base branch of the work.
    pub base: Option<String>,
    /// Base-branch commit the work is based on.
    pub base_commit: Option<CommitId>,
    /// More branches that must not be moved or checked out. A trailing `*` matches any suffix.
    pub protected: Vec<String>,
    /// Files of the project that agents of the task load when they start, in addition to their settings.
    pub loaded: Vec<String>,
    /// Targets of links in place of settings. The workspace finds them in its tree.
    pub linked: Vec<Vec<u8>>,
}

impl Rules {
    /// Returns whether agents must not touch this branch. The task's own branch is never protected, even if a pattern
    /// matches it.
    pub fn protects(&self, branch: &str, own: &str) -> bool {
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => branch.starts_with(start),
            None => branch == pattern,
        };
        branch != own && self.patterns().any(fits)
    }

    /// Returns whether a commit message contains the task id as a whole word.
    pub fn is_named_in(&self, message: &str) -> bool {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        message.match_indices(&self.task_id).any(|(at, found)| {
            let (before, after) = (&message[..at], &message[at + found.len()..]);
            !before.ends_with(part) && !after.starts_with(part)
        })
    }

    fn patterns(&self) -> impl Iterator<Item = &str> {
        self.protected.iter().map(String::as_str).chain(self.base.as_deref())
    }

    /// Writes the hooks into a new repository for an agent on `branch`.
    pub(super) fn write_hooks(&self, repository: &Path, branch: &str) -> Result<(), Error> {
        let folder = repository.join("hooks");
        fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
        for (name, text) in [
            ("prepare-commit-msg", self.prepare_commit_msg()),
            ("reference-transaction", self.of_branches(REFERENCE_TRANSACTION, branch)),
            ("post-checkout", self.of_branches(POST_CHECKOUT, branch)),
            ("pre-push", PRE_PUSH.to_owned()),
        ] {
            let path = folder.join(name);
            files::remove(&path)?;
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o755)
                .open(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|e| Error::io("create", &path, e))?;
        }
        Ok(())
    }

    /// Returns the refs of the base branch in the agent's repository: of its only remote, and a local branch. Without
    /// the local one, git would refuse the push with its own message, before it runs any hook.
    pub(super) fn base_refs(&self, own: &str) -> Vec<(String, &CommitId)> {
        let (Some(base), Some(commit)) = (self.base.as_deref(), self.base_commit.as_ref()) else {
            return Vec::new();
        };
        if !is_ref_name(base) {
            return Vec::new();
        }
        // A file cannot be where the other branch needs a folder.
        let is_within = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}/"));
        let fits = base != own && !is_within(base, own) && !is_within(own, base);
        let local = fits.then(|| (format!("refs/heads/{base}"), commit));
        std::iter::once((format!("refs/remotes/origin/{base}"), commit)).chain(local).collect()
    }

    /// Builds the hook that adds the trailer to a message without the id. Unlike other hooks, git does not skip it with
    /// `--no-verify`.
    fn prepare_commit_msg(&self) -> String {
        PREPARE_COMMIT_MSG.replace("@TASK@", &quoted(&self.task_id))
    }

    /// Builds a hook that rejects the use of protected branches.
    fn of_branches(&self, hook: &str, own: &str) -> String {
        let cases: Vec<String> = self
            .patterns()
            .filter_map(|pattern| {
                // A pattern that git rejects as a name cannot match any branch.
                let (start, star) = pattern.strip_suffix('*').map_or((pattern, ""), |start| (start, "*"));
                let example = if star.is_empty() { start.to_owned() } else { format!("{start}x") };
                is_ref_name(&example).then(|| quoted(&format!("refs/heads/{start}")) + star)
            })
            .collect();
        if cases.is_empty() {
            return "#!/bin/sh\nexit 0\n".to_owned();
        }
        hook.replace("@REFUSE@", REFUSE)
            .replace("@OWN@", &quoted(&format!("refs/heads/{own}")))
            .replace("@PROTECTED@", &cases.join("|"))
    }

    /// Returns why an agent must not change a path, if it must not. Ignores case, because not every file system
    /// distinguishes it.
    pub(super) fn guarded(&self, path: &[u8]) -> Option<&'static str> {
        if is_below(path, OWN_FOLDER.as_bytes()) {
            return Some("what is in .acquit/ belongs to acquit and the project's owner");
        }
        // A symlink in place of a parent directory could point to settings as well.
        let is_settings = |guarded: &str| {
            let guarded = guarded.as_bytes();
            is_below(path, guarded) || is_below(guarded, path)
        };
        let is_text = || AGENT_TEXTS.iter().any(|text| is_below(path, text.as_bytes()));
        let why = "coding agents start programs from it by themselves, and a later one would do so with its own secrets";
        let is_linked = |linked: &Vec<u8>| is_below(path, linked) || is_below(linked, path);
        let guarded = self.settings().any(is_settings) && !is_text()
            || is_nested(path)
            || self.linked.iter().any(is_linked);
        guarded.then_some(why)
    }

    /// Returns pathspecs that match every path that may be guarded, and not much more.
    pub(super) fn guarded_patterns(&self) -> Vec<String> {
        let top = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        let names: std::collections::BTreeSet<String> =
            std::iter::once(OWN_FOLDER).chain(self.settings()).map(top).collect();
        let tops = names.into_iter().map(|name| format!(":(icase,top,literal){name}"));
        let nested = ["", "/**"].map(|rest| format!(":(icase,top,glob)**/{NESTED}{rest}"));
        let linked = self.linked.iter().map(|path| top(&String::from_utf8_lossy(path)));
        let linked = linked.map(|name| format!(":(icase,top,literal){name}"));
        tops.chain(nested).chain(linked).collect()
    }

    fn settings(&self) -> impl Iterator<Item = &str> {
        AGENT_SETTINGS.iter().copied().chain(self.loaded.iter().map(String::as_str))
    }
}

/// Returns whether a path is a nested settings directory, or is or is inside an entry of it that an agent uses.
fn is_nested(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    while parts.any(|part| part.eq_ignore_ascii_case(NESTED.as_bytes())) {
        let is = |part: &[u8]| IN_NESTED.iter().any(|name| part.eq_ignore_ascii_case(name.as_bytes()));
        if parts.clone().next().is_none_or(is) {
            return true;
        }
    }
    false
}

/// Returns whether a path is `folder` or inside it.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    let (Some(start), rest) = (path.get(..folder.len()), path.get(folder.len()..).unwrap_or_default()) else {
        return false;
    };
    !folder.is_empty() && start.eq_ignore_ascii_case(folder) && matches!(rest.first(), None | Some(b'/'))
}

/// Quotes text as one literal word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Uses only shell builtins in the usual case: each extra process costs as much as the hook itself.
const PREPARE_COMMIT_MSG: &str = r#"#!/bin/sh
# Written by acquit: every commit names its task.
task=@TASK@ lines=0 last= open=
while IFS= read -r line || { [ -n "$line" ] && open=yes; }; do
    case $line in
    '') continue ;;
    '#'*) ;;
    *) case " $line " in *[!A-Za-z0-9_]"$task"[!A-Za-z0-9_]*) exit 0 ;; esac ;;
    esac
    last=$line lines=$((lines + 1))
done <"$1"
# With comments in it, git knows best where the trailer goes.
[ "$2" = message ] || exec git interpret-trailers --in-place --trailer "Task: $task" "$1"
blank='\n' key=${last%%: *}
case $key in
"$last" | *[!A-Za-z-]*) ;;
*-*) [ "$lines" -lt 2 ] || blank= ;;
esac
printf "${open:+\\n}${blank}Task: %s\n" "$task" >>"$1"
"#;

/// Rejects changes of protected branches, except deletion.
const REFERENCE_TRANSACTION: &str = r#"#!/bin/sh
# Written by acquit: protected branches stay where they are.
[ "$1" = prepared ] || exit 0
while read -r old new ref; do
    case $new in
    ref:*) ref=${new#ref:} ;;
    *[!0]*) ;;
    *) continue ;;
    esac
    case $ref in
    @OWN@) ;;
    @PROTECTED@)
        # Packing writes a ref as it is.
        [ "$(git rev-parse --verify --quiet "$ref")" != "$new" ] || continue
        @REFUSE@
        ;;
    esac
done
exit 0
"#;

/// Rejects a checkout of a protected branch: before 2.46, git asks no hook when `HEAD` moves to another branch.
const POST_CHECKOUT: &str = r"#!/bin/sh
# Written by acquit: nobody works on a protected branch.
ref=$(git symbolic-ref --quiet HEAD) || exit 0
case $ref in
@OWN@) ;;
@PROTECTED@)
    @REFUSE@
    ;;
esac
exit 0
";

/// Shared by both: refuses changes of the protected branch in `$ref`.
const REFUSE: &str = r#"echo "acquit: ${ref#refs/heads/} is a protected branch: do not create, move or check it out." >&2
        echo "acquit: stay on your own branch; acquit delivers what is on it." >&2
        echo "it tried to create, move or check out the protected branch ${ref#refs/heads/}" >"$(git rev-parse --git-dir)/acquit-guardrail"
        exit 1"#;

const PRE_PUSH: &str = "#!/bin/sh\n# Written by acquit.\necho 'acquit delivers; do not push' >&2\n\
    echo 'it tried to push' >\"$(git rev-parse --git-dir)/acquit-guardrail\"\nexit 1\n";

/// File in the agent's repository that records a rejected fetch, and commands that the stage does not list. The agent
/// can write it too, so do not trust it.
pub(crate) const REFUSED_COMMANDS: &str = "acquit-refused";

/// The same for a rejected push, and for protected branches.
pub(crate) const GUARDRAIL: &str = "acquit-guardrail";

/// Remote of an agent's repository. Pushing or fetching prints why it does not work.
pub(super) const REMOTE: &str = "[remote \"origin\"]\n\turl = \"ext::sh -c echo% acquit:% do% not% push,% fetch% or% pull.% \
    acquit% delivers% what% is% on% your% branch.% >&2;case% %s% in% upload-pack)% echo% it% tried% to% fetch% or% pull% >\\\"$GIT_DIR\\\"/acquit-refused;;\
    *)% echo% it% tried% to% push% >\\\"$GIT_DIR\\\"/acquit-guardrail;;esac\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
    [push]\n\tdefault = current\n[protocol \"ext\"]\n\tallow = always\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_its_whole_id() {
        let rules = Rules { task_id: "T-1".into(), ..Rules::default() };
        for good in
            ["T-1", "T-1: x", "x\n\nTask: T-1\n", "(T-1)", "fix T-12 and T-1.", "into acquit/x-T-1", "ü T-1ü"]
        {
            assert!(rules.is_named_in(good), "{good}");
        }
        for bad in ["", "T-12", "XT-1", "T-1x", "t-1", "T-_1", "T 1", "T-1_"] {
            assert!(!rules.is_named_in(bad), "{bad}");
        }
    }

    #[test]
    fn the_base_and_the_patterns_are_protected_and_the_own_branch_is_not() {
        let protected = vec!["release/*".to_owned(), "prod".to_owned(), "acquit/*".to_owned()];
        let rules = Rules { task_id: "T-1".into(), base: Some("main".into()), protected, ..Rules::default() };
        for name in ["main", "release/1", "release/", "prod", "acquit/other"] {
            assert!(rules.protects(name, "acquit/x-T-1"), "{name}");
        }
        for name in ["acquit/x-T-1", "main2", "releases", "production", "feature"] {
            assert!(!rules.protects(name, "acquit/x-T-1"), "{name}");
        }
    }

    #[test]
    fn guarded_paths_are_known_in_every_spelling() {
        let rules = Rules::default();
        let guarded = |path: &[u8]| rules.guarded(path);
        for own in [".acquit", ".acquit/a/b", ".ACQUIT/x"] {
            assert!(guarded(own.as_bytes()).is_some_and(|why| why.contains(".acquit/")), "{own}");
        }
        for settings in [
            ".claude/settings.json",
            ".Claude/Settings.json",
            ".claude",
            ".codex/a/b",
            "opencode.json",
            ".mcp.json",
            ".claude/skills/a/SKILL.md",
            ".claude/agents/a.md",
            ".claude/commands/a.md",
            ".claude/settings.json5",
            "x/.claude",
            "x/y/.Claude/Skills/a/SKILL.md",
            "x/.claude/agents",
            "x/.claude/z/.claude/commands/a.md",
        ] {
            assert!(guarded(settings.as_bytes()).is_some_and(|why| why.contains("agents")), "{settings}");
        }
        for other in [
            ".acquitted",
            "x/.acquit",
            "acquit",
            "",
            "x",
            ".claude/CLAUDE.md",
            ".claude/rules/style.md",
            ".claude/output-styles/short.md",
            "x/.claude/settings.json",
            "x/.claudes/skills",
            "x/skills/a/SKILL.md",
            "x/.mcp.json",
            ".opencode/agent/a.md",
            "AGENTS.md",
            "CLAUDE.md",
        ] {
            assert_eq!(guarded(other.as_bytes()), None, "{other}");
        }
        assert!(rules.guarded_patterns().contains(&":(icase,top,literal).claude".to_owned()));
        // Ordinary settings of a project, unless an agent of the task reads them.
        let reads = Rules { loaded: vec![".env".to_owned(), "bunfig.toml".to_owned()], ..Rules::default() };
        assert!(guarded(b".env").is_none() && reads.guarded(b".env").is_some());
        assert!(guarded(b"bunfig.toml").is_none() && reads.guarded(b"bunfig.toml").is_some());
        assert!(reads.guarded(b"sub/.env").is_none() && reads.guarded(b".env.example").is_none());
        assert!(reads.guarded_patterns().contains(&":(icase,top,literal).env".to_owned()));
    }
}
