//! Which programs may run, for processes of every origin.

use super::*;

/// Shells and a tool in a separate folder, as on a real machine.
struct Machine {
    folder: tempfile::TempDir,
    guard: Guard,
}

const FIRST: Process = Process { pid: 2, started: 7, stack: 1 };
const SHELL: Process = Process { pid: 3, started: 8, stack: 1 };
const COMMAND: Process = Process { pid: 4, started: 9, stack: 1 };

impl Machine {
    fn new(listed: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = fs::canonicalize(folder.path()).expect("itself").join("bin");
        fs::create_dir_all(bin.join("agent")).expect("a folder");
        for name in ["git", "touch", "cargo", "bash", "node", "rustup", "agent/main"] {
            fs::write(bin.join(name), "").expect("a file");
        }
        let _ = std::os::unix::fs::symlink("rustup", bin.join("rustc"));
        let commands = Commands {
            listed: listed.iter().map(|&line| line.to_owned()).collect(),
            own: vec![bin.join("agent")],
            noted: None,
        };
        let (read, _) = rustix::pipe::pipe().expect("a pipe");
        let mut guard = Guard::new(read, &commands, &bin, Some(bin.as_os_str()));
        guard.first = Some(FIRST);
        guard.shells.add(Process { stack: 0, ..SHELL });
        guard.free.add(Process { stack: 0, ..COMMAND });
        Self { folder, guard }
    }

    fn bin(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("itself").join("bin")
    }

    fn kind(&self, lineage: &[Process], image: &str, path: &str, words: &[&str]) -> Kind {
        let path = self.bin().join(path);
        let file = fs::canonicalize(&path).expect("a file");
        let words = words.iter().map(OsString::from).collect();
        let origin = Origin { lineage: lineage.to_vec(), image: self.bin().join(image) };
        if origin.lineage.iter().any(|process| self.guard.free.has(*process)) {
            return Kind::Free;
        }
        self.guard.kind(&origin, &Request { path, file, words })
    }
}

const NEW: Process = Process { pid: 9, started: 99, stack: 1 };

#[test]
fn only_listed_commands_start_in_a_shell_and_what_they_start_is_free() {
    let machine = Machine::new(&["git", "cargo test"]);
    let in_shell = [NEW, SHELL, FIRST];
    for (path, words, kind) in [
        ("git", &["git", "status"][..], Kind::Free),
        ("cargo", &["cargo", "test", "--lib"], Kind::Free),
        ("cargo", &["cargo", "publish"], Kind::Refused),
        ("cargo", &["cargo"], Kind::Refused),
        ("touch", &["touch", "x"], Kind::Refused),
        // Another name does not hide a program.
        ("touch", &["git", "x"], Kind::Refused),
        ("git", &["touch", "x"], Kind::Refused),
        ("bash", &["bash", "-c", "touch x"], Kind::Shell),
        ("bash", &["-bash"], Kind::Shell),
        ("bash", &["touch"], Kind::Refused),
        ("node", &["node", "-e", ""], Kind::Refused),
    ] {
        assert_eq!(machine.kind(&in_shell, "bash", path, words), kind, "{words:?}");
    }
    assert_eq!(machine.kind(&[NEW, COMMAND, SHELL, FIRST], "cargo", "touch", &["touch"]), Kind::Free);
    assert_eq!(machine.kind(&[NEW, COMMAND, SHELL, FIRST], "bash", "touch", &["touch"]), Kind::Free);
}

#[test]
fn the_program_itself_starts_its_own_files_and_no_other_commands() {
    let machine = Machine::new(&["git"]);
    let direct = [NEW, FIRST];
    let kind = |path, words: &[&str]| machine.kind(&direct, "agent/main", path, words);
    assert_eq!(kind("agent/main", &["main"]), Kind::Own);
    assert_eq!(kind("touch", &["touch"]), Kind::Refused);
    assert_eq!(kind("bash", &["bash"]), Kind::Shell);
    // An interpreter starts itself again, but not from a shell.
    assert_eq!(machine.kind(&direct, "node", "node", &["node"]), Kind::Own);
    assert_eq!(machine.kind(&[NEW, SHELL, FIRST], "bash", "node", &["node"]), Kind::Refused);
}

#[test]
fn an_orphan_is_free_only_if_it_became_a_listed_command() {
    let machine = Machine::new(&["git"]);
    assert_eq!(machine.kind(&[COMMAND], "git", "touch", &["touch"]), Kind::Free);
    for image in ["bash", "agent/main", "node"] {
        assert_eq!(machine.kind(&[NEW], image, "touch", &["touch"]), Kind::Refused, "{image}");
    }
}

#[test]
fn a_shell_whose_execution_failed_is_still_a_shell() {
    let machine = Machine::new(&["git"]);
    let failed = Process { stack: 0, ..COMMAND };
    assert_eq!(machine.kind(&[failed, SHELL, FIRST], "bash", "touch", &["touch"]), Kind::Refused);
    assert_eq!(machine.kind(&[COMMAND, SHELL, FIRST], "bash", "touch", &["touch"]), Kind::Free);
}

#[test]
fn a_shell_is_no_file_of_the_program() {
    let machine = Machine::new(&["git"]);
    let commands = Commands {
        listed: vec!["git".to_owned()],
        own: vec![machine.bin().join("bash"), machine.bin().join("agent")],
        noted: None,
    };
    let rules = Rules::new(&commands, &machine.bin(), Some(machine.bin().as_os_str()));
    assert_eq!(rules.own, [machine.bin().join("agent")]);
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let machine = Machine::new(&["git"]);
    let reused = Process { started: COMMAND.started + 1, ..COMMAND };
    assert_eq!(machine.kind(&[NEW, reused, SHELL, FIRST], "bash", "touch", &["touch"]), Kind::Refused);
}

#[test]
fn one_file_with_many_names_is_only_what_it_is_called() {
    let machine = Machine::new(&["rustc"]);
    let in_shell = [NEW, SHELL, FIRST];
    assert_eq!(machine.kind(&in_shell, "bash", "rustc", &["rustc"]), Kind::Free);
    assert_eq!(machine.kind(&in_shell, "bash", "rustup", &["rustup"]), Kind::Refused);
    assert_eq!(machine.kind(&in_shell, "bash", "rustup", &["rustc"]), Kind::Refused);
}

#[test]
fn a_file_of_the_working_tree_is_listed_by_its_path() {
    let mut machine = Machine::new(&["./agent/main check", "touch"]);
    machine.guard.rules.own.clear();
    let in_shell = [NEW, SHELL, FIRST];
    assert_eq!(machine.kind(&in_shell, "bash", "agent/main", &["./agent/main", "check"]), Kind::Free);
    assert_eq!(machine.kind(&in_shell, "bash", "agent/main", &["./agent/main", "deploy"]), Kind::Refused);
}
