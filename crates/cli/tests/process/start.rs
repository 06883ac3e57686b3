//! What a program has when it starts, and what is said when it cannot.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_run::process::{Containment, Error, Exit, Identity, Refusal, Spawner, Stdin, Step};

use crate::support::{
    HELPER, Recorder, Scratch, make_executable, refusal, run, run_in, spawner, subreaper, text,
};

#[test]
fn the_environment_is_exactly_what_was_given() {
    let scratch = Scratch::new();
    let mut spec = scratch.spec("/usr/bin/env", &[]);
    spec.env = vec![("ONLY".into(), "this one".into())];
    assert_eq!(text(&run(&spec).1), "ONLY=this one\n");
}

#[test]
fn stdin_is_empty_unless_a_file_is_given() {
    let scratch = Scratch::new();
    let mut spec = scratch.spec("cat", &[]);
    let (ended, bytes) = run(&spec);
    assert_eq!((ended.exit, text(&bytes)), (Exit::Code(0), ""));

    spec.stdin = Stdin::File(scratch.file("prompt", "do it\n"));
    assert_eq!(text(&run(&spec).1), "do it\n");
}

#[test]
fn a_program_leads_its_own_session_in_its_own_namespace() {
    let scratch = Scratch::new();
    let script = "read -r pid name state parent group session rest < /proc/self/stat; echo $pid $parent $group $session";
    let (ended, bytes) = run(&scratch.sh(script));
    assert_eq!(ended.containment, Containment::PidNamespace);
    assert_eq!(text(&bytes), "2 1 2 2\n");

    let (ended, bytes) = run_in(&subreaper(), &scratch.sh(script));
    assert_eq!(ended.containment, Containment::Subreaper { why: Refusal::NotWanted });
    let numbers: Vec<i32> = text(&bytes).split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!((numbers[2], numbers[3]), (numbers[0], numbers[0]));
}

#[test]
fn no_descriptor_and_no_signal_setting_is_inherited() {
    let scratch = Scratch::new();
    let open = fs::File::create(scratch.path("leak")).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    // 3 is what `ls` itself reads the directory with.
    assert_eq!(text(&run(&scratch.spec("ls", &["/proc/self/fd"])).1), "0\n1\n2\n3\n");

    let (_, bytes) = run(&scratch.spec("grep", &["-E", "^Sig(Ign|Blk)", "/proc/self/status"]));
    assert_eq!(text(&bytes), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

#[test]
fn the_directory_and_relative_programs_are_those_of_the_spec() {
    let scratch = Scratch::new();
    let nested = scratch.path("with space and ü");
    fs::create_dir(&nested).unwrap();
    fs::write(nested.join("tool"), "#!/bin/sh\npwd\n").unwrap();
    make_executable(&nested.join("tool"));
    let mut spec = scratch.spec("./tool", &[]);
    spec.cwd.clone_from(&nested);
    assert_eq!(text(&run(&spec).1).trim_end(), fs::canonicalize(nested).unwrap().to_str().unwrap());
}

#[test]
fn a_program_in_the_working_directory_is_never_found_by_name() {
    let scratch = Scratch::new();
    make_executable(&scratch.file("planted", "#!/bin/sh\necho planted\n"));
    let mut spec = scratch.spec("planted", &[]);
    spec.env = vec![("PATH".into(), ":.:/usr/bin".into())];
    assert!(matches!(refusal(&spec), Error::ProgramMissing { .. }));
}

#[test]
fn owners_can_be_changed_by_those_who_could_before() {
    let scratch = Scratch::new();
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let owner = if user.is_root() { "1234:4321".to_owned() } else { format!("{user}:{group}") };
    let (ended, bytes) = run(&scratch.sh(&format!("touch f && chown {owner} f && stat -c %u:%g f")));
    assert_eq!((ended.exit, text(&bytes)), (Exit::Code(0), format!("{owner}\n").as_str()));
}

#[test]
fn a_machine_that_refuses_namespaces_is_reported_and_not_silent() {
    let scratch = Scratch::new();
    // A namespace in which no further ones may be made, around the helper.
    let none_left = r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#;
    let helper = format!("#!/bin/sh\nexec unshare -r sh -c '{none_left}' sh '{HELPER}' \"$@\"\n");
    let helper = scratch.file("helper", helper);
    make_executable(&helper);
    let (ended, bytes) = run_in(&Spawner::new(helper), &scratch.sh("echo ran"));
    assert_eq!((ended.exit, text(&bytes)), (Exit::Code(0), "ran\n"));
    let errno = rustix::io::Errno::NOSPC.raw_os_error();
    assert_eq!(
        ended.containment,
        Containment::Subreaper { why: Refusal::Refused { step: Step::Clone, errno } }
    );
}

#[test]
fn a_missing_program_is_an_error_and_not_an_exit_code() {
    let scratch = Scratch::new();
    for program in ["acquit-has-no-such-program", "/no/such/program", "./nothing", ""] {
        let error = refusal(&scratch.spec(program, &[]));
        assert!(matches!(error, Error::ProgramMissing { .. }), "{program}: {error:?}");
    }
    assert_eq!(run(&scratch.sh("exit 127")).0.exit, Exit::Code(127));
    assert_eq!(run(&scratch.sh("exit 125")).0.exit, Exit::Code(125));
}

#[test]
fn a_file_that_cannot_be_executed_is_told_from_a_missing_one() {
    let scratch = Scratch::new();
    let plain = scratch.file("plain", "#!/bin/sh\n");
    let no_format = scratch.file("no-format", "neither a script nor a binary");
    let no_interpreter = scratch.file("no-interpreter", "#!/no/such/interpreter\n");
    make_executable(&no_format);
    make_executable(&no_interpreter);
    for program in [plain, no_format, no_interpreter, scratch.path("")] {
        for spawner in [spawner(), subreaper()] {
            let error = spawner.spawn(&scratch.spec(&program, &[])).unwrap_err();
            assert!(matches!(error, Error::ProgramNotExecutable { .. }), "{program:?}: {error:?}");
        }
    }
}

#[test]
fn what_else_is_missing_is_named() {
    let scratch = Scratch::new();
    let mut spec = scratch.spec("true", &[]);
    spec.cwd = scratch.path("gone");
    assert!(matches!(refusal(&spec), Error::Cwd { path, .. } if path == scratch.path("gone")));

    let mut spec = scratch.spec("true", &[]);
    spec.stdin = Stdin::File(scratch.path("gone"));
    assert!(matches!(refusal(&spec), Error::Stdin { .. }));

    let mut spec = scratch.spec("true", &[]);
    spec.stdout = acquit_run::process::Stdout::Truncate(scratch.path("gone/output"));
    assert!(matches!(refusal(&spec), Error::Output { .. }));

    let spec = scratch.spec("true", &[]);
    let error = Spawner::new(scratch.path("gone")).spawn(&spec).unwrap_err();
    assert!(matches!(error, Error::Helper { .. }), "{error:?}");
    let error = Spawner::new("/bin/true").spawn(&spec).unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error:?}");
}

#[test]
fn the_output_file_is_private_even_if_it_was_not() {
    let scratch = Scratch::new();
    scratch.file("output", "left over");
    fs::set_permissions(scratch.output(), fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(run(&scratch.spec("true", &[])).1, b"");
    let metadata = fs::metadata(scratch.output()).unwrap();
    assert_eq!((metadata.len(), metadata.permissions().mode() & 0o777), (0, 0o600));
}

#[test]
fn an_identity_lives_as_long_as_its_process() {
    let scratch = Scratch::new();
    let child = spawner().spawn(&scratch.spec("sleep", &["600"])).unwrap();
    let identity = Identity::of(child.pid()).unwrap().unwrap();
    assert!(identity.is_alive().unwrap());
    child.watch(&mut Recorder::until(|_| true)).unwrap();
    assert!(!identity.is_alive().unwrap());
}
