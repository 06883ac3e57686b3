//! What a person at a terminal sees that a log never has: the live line at its foot.
#![allow(clippy::disallowed_methods, reason = "tests start the real binary at a terminal of their own")]

mod common;

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::Instant;

use acquit_core::leg::Ending;
use common::{PATIENCE, SCRIPTED, Sandbox};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const FLOW: &str = r#"
[stages.code]
mode = "implement"
on = { pr_ready = "done" }
"#;

/// Both ends of a terminal: the one that a person sees, and the one that programs have.
fn terminal() -> (File, OwnedFd) {
    terminal_of(100)
}

/// The same with so many columns.
fn terminal_of(columns: u16) -> (File, OwnedFd) {
    let seen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&seen).expect("a terminal");
    unlockpt(&seen).expect("a terminal");
    let name = ptsname(&seen, Vec::new()).expect("its name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("its other end");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).expect("a size");
    (File::from(seen), theirs)
}

/// Everything that is shown until the program ends; the terminal itself ends with an error then.
fn shown(mut terminal: File, child: &mut Child) -> String {
    let begun = Instant::now();
    let (mut all, mut some) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = terminal.read(&mut some) {
        all.extend(&some[..length]);
        assert!(begun.elapsed() < PATIENCE, "no end: {}", String::from_utf8_lossy(&all));
    }
    assert!(child.wait().expect("a child of ours").success(), "{}", String::from_utf8_lossy(&all));
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn the_time_until_a_limit_is_over_is_counted_down() {
    let script = "[[code]]\nstep = [{ become = \"sh .acquit/agent.sh\" }]\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}[waiting]\nslack = \"1ms\"\n"), FLOW, script);
    let shell = r#"
if [ -e @ROOT@/again ]; then echo work > work.txt; echo '{"type":"end","ok":true}'; exit 0; fi
touch @ROOT@/again
echo '{"type":"limit","until":'$(( ($(date +%s) + 4) * 1000 ))',"text":"resets soon"}'
exit 1
"#;
    let root = sandbox.place("").to_string_lossy().trim_end_matches('/').replace(' ', "\\ ");
    sandbox.repo.write(".acquit/agent.sh", &shell.replace("@ROOT@", &root));
    sandbox.repo.commit("the agent");

    let (seen, theirs) = terminal();
    let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut command = sandbox.command(&["run", "Do it"]);
    command.env("TERM", "xterm-256color").stdin(Stdio::null()).stdout(streams()).stderr(streams());
    let mut child = command.spawn().expect("the binary starts");
    drop((command, theirs));
    let text = shown(seen, &mut child);

    // The line is written anew for each look: the numbers go down, and the last of them is small.
    let seconds: Vec<u32> = text
        .split("goes on in ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .collect();
    assert!(seconds.len() > 2 && seconds.is_sorted_by(|a, b| a >= b), "{seconds:?}\n{text}");
    assert!(seconds.first() > seconds.last(), "{seconds:?}\n{text}");
    assert!(matches!(sandbox.endings()[..], [Ending::Held { .. }, Ending::Passed { .. }]));
}

/// Starts `acquit run` at a terminal that can also be typed at.
fn at_terminal(sandbox: &Sandbox) -> (File, Child) {
    let (seen, theirs) = terminal();
    let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut command = sandbox.command(&["run", "Do it"]);
    command.env("TERM", "xterm-256color").stdin(streams()).stdout(streams()).stderr(streams());
    let child = command.spawn().expect("the binary starts");
    (seen, child)
}

/// Reads what is shown until these words are.
fn until_shown(seen: &mut File, words: &str) -> String {
    let begun = Instant::now();
    let (mut all, mut some) = (String::new(), [0; 4096]);
    while !all.contains(words) {
        let length = seen.read(&mut some).expect("the terminal");
        all.push_str(&String::from_utf8_lossy(&some[..length]));
        assert!(begun.elapsed() < PATIENCE, "no {words:?}: {all}");
    }
    all
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a child of ours");
}

#[test]
fn ctrl_c_asks_and_a_task_that_is_detached_continues_by_itself() {
    use std::io::Write;
    let script = "[[code]]\nstep = [{ pause = \"3s\" }, { write = \"work.txt\", content = \"w\" }, \
                  { outcome = \"pr_ready\", payload = { summary = \"x\" } }]\n";
    let sandbox = Sandbox::scripted(FLOW, script);
    let (mut seen, mut child) = at_terminal(&sandbox);
    let mut text = until_shown(&mut seen, FRAMES[3]);
    interrupt(&child);
    text += &until_shown(&mut seen, "keep watching");
    seen.write_all(b"d\n").expect("the terminal");
    let said = until_shown(&mut seen, "acquit task cancel T-1");
    assert!(said.contains("continues by itself") && said.contains("acquit attach T-1"), "{said}");
    assert!(child.wait().expect("a child of ours").success());
    no_live_line_stays(&(text + &said + &rest(seen)));
    sandbox.acquit(&["attach", "T-1"]).must(0);
    assert!(matches!(sandbox.endings()[..], [Ending::Passed { .. }]));
}

#[test]
fn ctrl_c_twice_cancels() {
    let script = "[[code]]\nstep = [{ pause = \"60s\" }]\n";
    let sandbox = Sandbox::scripted(FLOW, script);
    let (mut seen, mut child) = at_terminal(&sandbox);
    let mut text = until_shown(&mut seen, FRAMES[3]);
    interrupt(&child);
    text += &until_shown(&mut seen, "keep watching");
    interrupt(&child);
    text += &until_shown(&mut seen, "cancelled by");
    assert_eq!(child.wait().expect("a child of ours").code(), Some(4));
    no_live_line_stays(&(text + &rest(seen)));
}

/// Every form of the sign in front of the live line.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What is still to be read of a program that has ended.
fn rest(mut seen: File) -> String {
    let mut all = Vec::new();
    // The terminal itself ends with an error.
    let _ = seen.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

/// Fails if the live line was never there, or if anything of it stays on the screen.
#[track_caller]
fn no_live_line_stays(text: &str) {
    let has_frame = |text: &str| FRAMES.iter().any(|frame| text.contains(frame));
    assert!(has_frame(text), "there was no live line: {text:?}");
    let lines = lasting(text);
    assert!(!lines.iter().any(|line| has_frame(line)), "the live line stays: {lines:?}");
}

/// What stays on the screen: without colours, and without lines that were written over.
fn lasting(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let last = line.trim_end_matches('\r').rsplit("\r\u{1b}[K").next().unwrap_or_default().to_owned();
        let mut shown = String::new();
        let mut escape = false;
        for char in last.chars() {
            match char {
                '\u{1b}' => escape = true,
                'm' | 'K' if escape => escape = false,
                _ if escape => {}
                char => shown.push(char),
            }
        }
        shown
    };
    text.split('\n').map(line).collect()
}

#[test]
fn on_a_narrow_terminal_nothing_is_wider_and_no_word_is_broken() {
    for columns in [40_u16, 80] {
        let sandbox = Sandbox::scripted(FLOW, "");
        let (seen, theirs) = terminal_of(columns);
        let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
        let mut command = sandbox.command(&["demo"]);
        command.env("TERM", "xterm-256color").stdin(Stdio::null()).stdout(streams()).stderr(streams());
        let mut child = command.spawn().expect("the binary starts");
        drop((command, theirs));
        let text = shown(seen, &mut child);
        let lines = lasting(&text);
        for line in &lines {
            let wide = line.chars().count() > usize::from(columns);
            // A word that has no room stays whole.
            assert!(!wide || line.split_whitespace().count() <= 2, "{columns} columns: {line:?}");
        }
        assert!(lines.iter().any(|line| line.contains("T-1 is done")), "{lines:?}");
        no_live_line_stays(&text);
    }
}

/// Lists, a task in full, a log, figures, errors with their hints.
#[test]
fn what_is_printed_fits_a_narrow_terminal() {
    let script = "[[code]]\nstep = [{ write = \"a-file-with-a-name-of-some-length.txt\", content = \"w\" }, \
                  { outcome = \"pr_ready\", payload = { summary = \"a summary with some words that need more room than there is\" } }]\n";
    let sandbox = Sandbox::scripted(common::CODE, script);
    sandbox
        .acquit(&["run", "A title that is much longer than a narrow terminal is wide", "--tag", "x"])
        .must(0);
    sandbox.acquit(&["task", "add", "Another one that nobody works on"]).must(0);
    sandbox.repo.write("change.txt", "a change to be judged\n");
    let commands: [&[&str]; 30] = [
        &["task", "list"],
        &["show", "T-1"],
        &["logs", "T-1"],
        &["logs", "T-1", "--all"],
        &["diff", "T-1", "--stat"],
        &["inbox"],
        &["stats"],
        &["doctor"],
        &["workflow", "list"],
        &["schedule", "list"],
        &["trust", "--show"],
        &["show", "T-99"],
        &["diff", "T-2"],
        &["run", "x", "--workflow", "none"],
        &["run", "x", "--pinned"],
        &["agents"],
        &["check"],
        &["report"],
        &["config", "show"],
        &["config", "show", "--origin"],
        &["clean"],
        &["prove"],
        &["init"],
        &["init", "--force"],
        &["prove", "--reduced", "--quick"],
        &["workers"],
        &["schedule", "next"],
        &["verify", "no-such-statement.json"],
        &["token", "list"],
        &["service", "status"],
    ];
    for (columns, args) in [40_u16, 80].into_iter().flat_map(|columns| commands.map(|args| (columns, args))) {
        let (mut seen, theirs) = terminal_of(columns);
        let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
        let mut command = sandbox.command(args);
        command.env("TERM", "xterm-256color").stdin(Stdio::null()).stdout(streams()).stderr(streams());
        let mut child = command.spawn().expect("the binary starts");
        drop((command, theirs));
        let mut text = Vec::new();
        let _ = seen.read_to_end(&mut text);
        child.wait().expect("a child of ours");
        let lines = lasting(&String::from_utf8_lossy(&text));
        assert!(lines.iter().any(|line| !line.is_empty()), "{args:?} printed nothing");
        for line in lines {
            let wide = line.chars().count() > usize::from(columns);
            assert!(!wide || line.split_whitespace().count() <= 2, "{args:?} at {columns} columns: {line:?}");
        }
    }
}

/// A task that asks two things, works, and is delivered.
const ASKS: &str = "[[code]]\nstep = [{ outcome = \"needs_input\", payload = { questions = [\
    { question = \"Which colour?\", options = [\"red\", \"blue\"] }, { question = \"Twice?\", kind = \"yes_no\" }] } }]\n\
    [[code]]\nstep = [{ write = \"work.txt\", content = \"w\" }, { outcome = \"pr_ready\", payload = { summary = \"x\" } }]\n";

/// Starts a command at a terminal of this width that can also be typed at.
fn typed_at(sandbox: &Sandbox, columns: u16, args: &[&str]) -> (File, Child) {
    let (seen, theirs) = terminal_of(columns);
    let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut command = sandbox.command(args);
    command.env("TERM", "xterm-256color").stdin(streams()).stdout(streams()).stderr(streams());
    let child = command.spawn().expect("the binary starts");
    (seen, child)
}

#[test]
fn the_inbox_walks_through_what_waits_and_each_answer_counts() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    let (mut seen, mut child) = typed_at(&sandbox, 80, &["inbox"]);
    let shown = until_shown(&mut seen, "a number, or your own words");
    assert!(shown.contains("? 1 of 1") && shown.contains("2) blue"), "{shown}");
    seen.write_all(b"2\n").expect("typed");
    until_shown(&mut seen, "yes or no");
    seen.write_all(b"y\n").expect("typed");
    until_shown(&mut seen, "T-1 ready");
    assert!(child.wait().expect("a child").success());
    let said: Vec<String> = sandbox.task().conversation.into_iter().map(|remark| remark.text).collect();
    assert_eq!(said, ["blue", "yes"]);
    // For programs it stays a list.
    let listed = sandbox.acquit(&["inbox", "--json"]).must(0).out;
    assert_eq!(listed.trim(), "[]");
}

/// A person accepts the work, sends it back, or wants another plan.
const ACCEPT: &str = r#"
[budgets]
agent = 0
rework = 3
[gates.test]
run = "true"
kind = "test"
[stages.code]
mode = "implement"
gates = ["test"]
on = { pr_ready = "accept" }
[stages.accept]
kind = "human"
question = "Deliver it?"
on = { approved = "deliver", rejected = { to = "code", budget = "rework" }, later = "code" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Writes, and writes something else when it is asked again.
const WRITES: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "first\n" }, { outcome = "pr_ready", payload = { summary = "first" } } ]
[[code]]
step = [ { write = "work.txt", content = "second\n" }, { outcome = "pr_ready", payload = { summary = "second" } } ]
"#;

#[test]
fn the_inbox_names_the_commit_and_rejects_with_words_after_it_said_where_they_lead() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(ACCEPT, WRITES);
    sandbox.run_to(3);
    let tip = sandbox.task().tip;
    let commit = format!("approve {} and no other; goes to deliver", &tip[..10]);
    let (mut seen, mut child) = typed_at(&sandbox, 100, &["inbox"]);
    let shown = until_shown(&mut seen, "enter: later");
    for part in
        [commit.as_str(), "in 1 file\r", "✓\u{1b}[0m test", "send it back to code, round 1 of 3", "1  later"]
    {
        assert!(shown.contains(part), "{part:?}: {shown:?}");
    }
    seen.write_all(b"n\n").expect("typed");
    until_shown(&mut seen, "why not?");
    seen.write_all(b"Write it TWICE\n").expect("typed");
    until_shown(&mut seen, "T-1 ready");
    assert!(child.wait().expect("a child").success());
    sandbox.acquit(&["run", "T-1"]).must(3);
    assert!(common::read(&sandbox.leg_file(2, "prompt.md")).contains("Write it TWICE"));
    let (mut seen, mut child) = typed_at(&sandbox, 100, &["inbox"]);
    until_shown(&mut seen, "round 2 of 3");
    // Somebody else answers meanwhile: what is typed here counts for nothing, and it is said who was first.
    sandbox.acquit(&["approve", "T-1"]).must(0);
    seen.write_all(b"y\n").expect("typed");
    let told = until_shown(&mut seen, "answered it before");
    assert!(told.contains("tester"), "{told}");
    assert!(child.wait().expect("a child").success());
}

#[test]
fn the_inbox_walks_through_as_many_as_it_is_told_and_says_that_there_are_more() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    sandbox.acquit(&["run", "Do the other"]).must(3);
    let (mut seen, mut child) = typed_at(&sandbox, 80, &["inbox", "--limit", "1"]);
    let shown = until_shown(&mut seen, "enter: later, q: quit");
    assert!(shown.contains("? 1 of 1") && shown.contains("T-2"), "{shown}");
    assert!(shown.contains("only the newest 1; --limit shows more"), "{shown}");
    seen.write_all(b"q\n").expect("typed");
    assert!(child.wait().expect("a child").success());
    let (mut seen, mut child) = typed_at(&sandbox, 80, &["inbox"]);
    let shown = until_shown(&mut seen, "enter: later, q: quit");
    assert!(shown.contains("? 1 of 2") && !shown.contains("only the newest"), "{shown}");
    seen.write_all(b"q\n").expect("typed");
    assert!(child.wait().expect("a child").success());
}

#[test]
fn later_leaves_a_request_open_and_quit_ends_the_walk() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    for keys in [&b"\n"[..], b"q\n"] {
        let (mut seen, mut child) = typed_at(&sandbox, 80, &["inbox"]);
        until_shown(&mut seen, "enter: later, q: quit");
        seen.write_all(keys).expect("typed");
        assert!(child.wait().expect("a child").success());
    }
    assert_eq!(sandbox.task().state.word(), "waiting");
}

#[test]
fn top_shows_the_board_live_and_its_keys_answer_and_stop() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    let (mut seen, mut child) = typed_at(&sandbox, 80, &["top"]);
    let shown = until_shown(&mut seen, "q quit");
    assert!(
        shown.contains("NEEDS YOU  1") && shown.contains("T-1") && shown.contains("2 questions"),
        "{shown}"
    );
    // What others do appears by itself.
    sandbox.acquit(&["task", "add", "Another"]).must(0);
    until_shown(&mut seen, "QUEUED");
    seen.write_all(b"a").expect("typed");
    until_shown(&mut seen, "a number, or your own words");
    seen.write_all(b"1\n").expect("typed");
    until_shown(&mut seen, "yes or no");
    seen.write_all(b"no\n").expect("typed");
    until_shown(&mut seen, "QUEUED  2");
    // The search leaves one task, which is stopped.
    seen.write_all(b"/another\r").expect("typed");
    until_shown(&mut seen, "search: another");
    seen.write_all(b"s").expect("typed");
    until_shown(&mut seen, "stop this task and end it? y/n");
    seen.write_all(b"y").expect("typed");
    until_shown(&mut seen, "T-2 cancelled");
    seen.write_all(b"q").expect("typed");
    assert!(child.wait().expect("a child").success());
    // The screen is given back.
    assert!(until_shown(&mut seen, "\x1b[?1049l").contains("\x1b[?25h"));
}

#[test]
fn top_needs_a_terminal_and_fits_a_narrow_one() {
    use std::io::Write;
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    sandbox.acquit(&["top"]).must(2).said("must be a terminal");
    let (mut seen, mut child) = typed_at(&sandbox, 40, &["top"]);
    let shown = until_shown(&mut seen, "q quit");
    seen.write_all(b"q").expect("typed");
    assert!(child.wait().expect("a child").success());
    let frame = shown.rsplit("\x1b[H").next().expect("a frame");
    for line in frame.split("\r\n") {
        let plain: String =
            line.split('\x1b').map(|part| part.split_once(['m', 'K', 'J']).map_or(part, |it| it.1)).collect();
        assert!(plain.trim_end_matches('\r').chars().count() <= 40, "{plain:?}");
    }
}

/// A gate that fails on the untouched tree, and an edit that mends it.
const LINT: &str = "[gates.lint]\nrun = \"echo 'style error' && exit 1\"\nkind = \"lint\"\n[gates.test]\nrun = \"true\"\nkind = \"test\"\n";

#[test]
fn check_asks_before_it_edits_and_makes_only_what_is_agreed_to() {
    use std::io::Write;
    for (typed, agreed) in [("y\n", true), ("\n", true), ("n\n", false), ("\u{4}", false)] {
        let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", LINT)]);
        let (mut seen, mut child) = typed_at(&sandbox, 100, &["check"]);
        let before = until_shown(&mut seen, "Make this edit? [Y/n]");
        assert!(before.contains("severity = \"warning\""), "the edit is shown: {before}");
        seen.write_all(typed.as_bytes()).expect("the terminal");
        let after = rest(seen);
        let code = child.wait().expect("a child of ours").code();
        assert_eq!(code, Some(i32::from(!agreed)), "{typed:?}: {after}");
        let text = common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
        assert_eq!(text.contains("severity = \"warning\""), agreed, "{typed:?}: {text}");
        let hint = "`acquit check --fix` makes these edits";
        assert_eq!(after.contains(hint), !agreed, "{typed:?}: {after}");
    }
}

/// A line without what differs from run to run: durations, figures, hashes, and the room that they take.
fn steady(line: &str) -> String {
    let word = |word: &str| {
        let varies = word.contains(|char: char| char.is_ascii_digit()) && !word.starts_with("T-");
        let hash = word.len() >= 7 && word.chars().all(|char| char.is_ascii_hexdigit());
        if varies || hash { "#".to_owned() } else { word.to_owned() }
    };
    let mut words: Vec<String> = line.split_whitespace().map(word).collect();
    words.dedup();
    words.join(" ")
}

/// `scripts/picture.sh` makes the recording anew.
#[test]
fn the_recording_in_the_readme_is_what_the_demo_shows() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let picture = common::read(&root.join("docs/demo.svg"));
    assert!(picture.len() < 20_000 && !picture.contains("<script") && picture.contains("@keyframes"));
    let readme = common::read(&root.join("README.md"));
    assert!(readme.lines().take(20).any(|line| line.contains("docs/demo.svg")), "{readme}");
    let mut recorded = Vec::new();
    for line in picture.lines().filter(|line| line.starts_with("<text ")) {
        let plain: String =
            line.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
        recorded.push(steady(&plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")));
    }

    let sandbox = Sandbox::scripted(FLOW, "");
    let (seen, theirs) = terminal_of(80);
    let streams = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut command = sandbox.command(&["demo"]);
    command.env("TERM", "xterm-256color").stdin(Stdio::null()).stdout(streams()).stderr(streams());
    let mut child = command.spawn().expect("the binary starts");
    drop((command, theirs));
    let lines = lasting(&shown(seen, &mut child));
    let mut shown: Vec<String> =
        lines.iter().map(|line| steady(line)).filter(|line| !line.is_empty()).collect();
    // Gates run side by side: each may be the first to end.
    recorded.sort();
    shown.sort();
    assert_eq!(recorded, shown, "scripts/picture.sh makes the recording anew");
}
