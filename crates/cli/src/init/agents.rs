//! The agents that acquit knows how to start without a person: which flags let them work alone, and where they look for the
//! prompt. It always comes on standard input, since a command line can be read by every user of the machine.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A coding agent's program.
pub(super) struct Agent {
    /// Its name in the configuration.
    pub(super) name: &'static str,
    /// The program that is looked for.
    pub(super) program: &'static str,
    /// How it is started.
    pub(super) run: Run,
    /// Variables that make it quiet.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The variable that carries its key, for those who are not logged in.
    pub(super) key: &'static str,
    /// What a person should know about these flags.
    pub(super) about: &'static str,
}

/// A command in one of the two forms of the configuration.
pub(super) enum Run {
    /// A line for sh, where the output folder has to be named.
    Shell(&'static str),
    /// A program and its arguments.
    Program(&'static [&'static str]),
}

/// In the order of preference: the first that is installed takes the stages that name none. Agents that keep to the
/// workspace by themselves come before those that must be allowed everything.
pub(super) const KNOWN: [Agent; 6] = [
    Agent {
        name: "claude",
        program: "claude",
        run: Run::Shell(
            "exec claude -p --permission-mode acceptEdits --add-dir \"$ACQUIT_OUTPUT\" --allowedTools Bash",
        ),
        env: &[("DISABLE_AUTOUPDATER", "1")],
        key: "ANTHROPIC_API_KEY",
        about: "Edits files here and in the output folder, and may run any command. Narrow it: --allowedTools \"Bash(npm *)\"",
    },
    Agent {
        name: "codex",
        program: "codex",
        run: Run::Shell(
            "exec codex exec --sandbox workspace-write --add-dir \"$ACQUIT_OUTPUT\" --ephemeral -",
        ),
        env: &[],
        key: "OPENAI_API_KEY",
        about: "Runs commands in its own sandbox: it writes here and to the output folder, and has no network.",
    },
    Agent {
        name: "gemini",
        program: "gemini",
        run: Run::Shell(
            "exec gemini --approval-mode yolo --skip-trust --include-directories \"$ACQUIT_OUTPUT\"",
        ),
        // Started again by itself it would no longer hear when it is told to stop.
        env: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        key: "GEMINI_API_KEY",
        about: "May use every tool: without that it has neither a shell nor a way to write files when nobody is asked.",
    },
    Agent {
        name: "opencode",
        program: "opencode",
        run: Run::Program(&["opencode", "run", "--auto"]),
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        key: "OPENROUTER_API_KEY",
        about: "Whatever its own configuration does not deny is allowed: a question that nobody answers would end its turn.",
    },
    Agent {
        name: "aider",
        program: "aider",
        run: Run::Program(&[
            "aider",
            "--message-file",
            "/dev/stdin",
            "--yes-always",
            "--no-pretty",
            "--no-stream",
            "--no-check-update",
            "--no-show-release-notes",
            "--analytics-disable",
            "--no-detect-urls",
            "--no-suggest-shell-commands",
            "--no-auto-commits",
            "--no-gitignore",
            "--chat-history-file",
            "/dev/null",
            "--input-history-file",
            "/dev/null",
        ]),
        env: &[],
        key: "OPENAI_API_KEY",
        about: "Keeps a cache in the folder: add .aider* to .gitignore. It ends with code 0 even when its model refused.",
    },
    Agent {
        name: "cursor",
        program: "cursor-agent",
        run: Run::Program(&["cursor-agent", "-p", "--force", "--trust", "--output-format", "text"]),
        env: &[],
        key: "CURSOR_API_KEY",
        about: "May run any command: without --force it only proposes changes.",
    },
];

/// Those that are installed. Only absolute entries count: what a relative one finds depends on where one stands.
pub(super) fn installed(path_variable: &OsStr) -> Vec<&'static Agent> {
    let folders: Vec<_> =
        std::env::split_paths(path_variable).filter(|folder| folder.is_absolute()).collect();
    let executable = |agent: &&Agent| {
        folders.iter().any(|folder| {
            fs::metadata(folder.join(agent.program))
                .is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
        })
    };
    KNOWN.iter().filter(executable).collect()
}
