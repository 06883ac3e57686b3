//! The helper's arguments. The harness writes them and the helper parses them; both are here so that they agree.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::io::Errno;

use super::super::spawn::{Isolation, Wanted};
use super::super::status::{Failure, Step};

const PARENT: &str = "--parent";
const CWD: &str = "--cwd";
const STDIN: &str = "--stdin";
const SUBREAPER: &str = "--subreaper";
const POLICY: &str = "--policy";
const END: &str = "--";

/// What the helper should do.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::process) struct Plan {
    /// Pid of the harness. The helper dies with it.
    pub(in crate::process) parent: i32,
    /// The program's working directory. Entered last, because it may exist only inside the namespaces.
    pub(in crate::process) cwd: PathBuf,
    /// The program's stdin. Opened first, because it may exist only outside.
    pub(in crate::process) stdin: PathBuf,
    pub(in crate::process) isolation: Isolation,
    /// The policy file. Without one, only the process tree is contained.
    pub(in crate::process) policy: Option<PathBuf>,
    pub(in crate::process) program: OsString,
    /// Arguments, including the program name.
    pub(in crate::process) argv: Vec<CString>,
}

impl Plan {
    /// Formats the plan as arguments for [`Plan::parse`].
    pub(in crate::process) fn words(parent: u32, isolation: Isolation, wanted: &Wanted<'_>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![PARENT.into(), parent.to_string().into()];
        match isolation {
            Isolation::Best => {}
            Isolation::Subreaper => words.push(SUBREAPER.into()),
        }
        if let Some(policy) = wanted.policy {
            words.extend([POLICY.into(), policy.into()]);
        }
        words.extend([CWD.into(), wanted.cwd.into(), STDIN.into(), wanted.stdin.into()]);
        words.extend([END.into(), wanted.program.to_owned()]);
        words.extend_from_slice(wanted.args);
        words
    }

    /// Parses the arguments after the helper's own name.
    pub(super) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let wrong = || Failure::new(Step::Arguments, Errno::INVAL);
        let mut parent = None;
        let mut cwd = None;
        let mut stdin = PathBuf::from("/dev/null");
        let mut isolation = Isolation::Best;
        let mut policy = None;
        loop {
            let option = args.next().ok_or_else(wrong)?;
            match option.to_str().ok_or_else(wrong)? {
                PARENT => parent = args.next().and_then(|pid| pid.to_str()?.parse().ok()),
                CWD => cwd = args.next().map(PathBuf::from),
                STDIN => stdin = args.next().ok_or_else(wrong)?.into(),
                POLICY => policy = Some(args.next().map(PathBuf::from).ok_or_else(wrong)?),
                SUBREAPER => isolation = Isolation::Subreaper,
                END => break,
                _unknown => return Err(wrong()),
            }
        }
        let program = args.next().ok_or_else(wrong)?;
        let argv = std::iter::once(program.clone())
            .chain(args)
            .map(|arg| CString::new(arg.into_vec()).map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            parent: parent.ok_or_else(wrong)?,
            cwd: cwd.ok_or_else(wrong)?,
            stdin,
            isolation,
            policy,
            program,
            argv,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Plan, Failure> {
        Plan::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn what_follows_the_dashes_is_the_program_s_alone() {
        let plan = parse(&["--parent", "7", "--cwd", "/d", "--", "p", "--parent", "--", ""]).unwrap();
        assert_eq!((plan.parent, plan.program), (7, "p".into()));
        assert_eq!(plan.argv, [c"p", c"--parent", c"--", c""].map(CString::from));
    }

    #[test]
    fn incomplete_arguments_are_refused() {
        for args in [
            &[][..],
            &["--"],
            &["--parent", "7", "--cwd", "/d", "--"],
            &["--parent", "x", "--cwd", "/d", "--", "p"],
            &["--parent", "7", "--", "p"],
            &["--cwd", "/d", "--", "p"],
            &["--unknown", "--parent", "7", "--cwd", "/d", "--", "p"],
        ] {
            assert_eq!(parse(args).unwrap_err().step, Step::Arguments, "{args:?}");
        }
    }
}
