//! The result of an attack, way by way, as one line.

use std::fmt;
use std::io;

/// Maximum number of ways to list; the rest are counted.
const SHOWN: usize = 8;

/// The results of an attack's ways.
#[derive(Debug, Default)]
pub struct Tried {
    done: Vec<String>,
    refused: Vec<i32>,
    absent: Vec<String>,
    errors: Vec<String>,
}

impl Tried {
    /// Records a way that either worked, with a description, or was refused.
    pub(super) fn way(&mut self, name: &str, result: io::Result<impl fmt::Display>) -> bool {
        match result {
            Ok(what) => self.done.push(format!("{name}: {what}")),
            Err(error) => match error.raw_os_error() {
                Some(errno) => self.refused.push(errno),
                None => self.errors.push(format!("{name}: {error}")),
            },
        }
        self.done.last().is_some_and(|done| done.starts_with(name))
    }

    /// Records a call that cannot have an effect. The `reached` errors mean that only its arguments were wrong.
    pub(super) fn reaches(&mut self, name: &str, result: io::Result<i64>, reached: &[i32]) {
        match result {
            Err(error) if error.raw_os_error().is_some_and(|errno| reached.contains(&errno)) => {
                self.done.push(format!("{name}: reached the kernel, which found the arguments wrong"));
            }
            other => {
                self.way(name, other);
            }
        }
    }

    /// Records something that this machine does not have, so that it cannot be attacked.
    pub(super) fn absent(&mut self, what: &str) {
        self.absent.push(what.to_owned());
    }

    /// Records a failure of the attack itself.
    pub(super) fn error(&mut self, what: &str) {
        self.errors.push(what.to_owned());
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.done.is_empty() {
            let shown: Vec<String> =
                self.done.iter().take(SHOWN).map(|done| done.replace('\n', " ")).collect();
            write!(f, "done {}", shown.join("; "))?;
            return write!(f, " ({} ways of {})", self.done.len(), self.done.len() + self.refused.len());
        }
        if let Some(error) = self.errors.first() {
            return write!(f, "error {}", error.replace('\n', " "));
        }
        if self.refused.is_empty() {
            return write!(f, "error not here: {}", self.absent.join(", "));
        }
        let mut names: Vec<String> = self.refused.iter().map(|errno| name(*errno)).collect();
        names.sort();
        names.dedup();
        write!(f, "refused {} ({} ways)", names.join(", "), self.refused.len())
    }
}

/// Returns the name of an error in the kernel's headers.
fn name(errno: i32) -> String {
    const NAMES: [(i32, &str); 42] = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::ESRCH, "ESRCH"),
        (libc::EIO, "EIO"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::ECHILD, "ECHILD"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::EACCES, "EACCES"),
        (libc::EFAULT, "EFAULT"),
        (libc::EBUSY, "EBUSY"),
        (libc::EEXIST, "EEXIST"),
        (libc::EXDEV, "EXDEV"),
        (libc::ENODEV, "ENODEV"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EISDIR, "EISDIR"),
        (libc::EINVAL, "EINVAL"),
        (libc::EMFILE, "EMFILE"),
        (libc::ENOTTY, "ENOTTY"),
        (libc::ETXTBSY, "ETXTBSY"),
        (libc::EFBIG, "EFBIG"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EROFS, "EROFS"),
        (libc::EPIPE, "EPIPE"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ELOOP, "ELOOP"),
        (libc::EDQUOT, "EDQUOT"),
        (libc::EUSERS, "EUSERS"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EPROTONOSUPPORT, "EPROTONOSUPPORT"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
        (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
        (libc::ENETUNREACH, "ENETUNREACH"),
        (libc::EHOSTUNREACH, "EHOSTUNREACH"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
        (libc::ECONNRESET, "ECONNRESET"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::ENOKEY, "ENOKEY"),
        (libc::ENAMETOOLONG, "ENAMETOOLONG"),
        (libc::ENETDOWN, "ENETDOWN"),
    ];
    NAMES
        .iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| errno.to_string(), |(_, name)| (*name).to_owned())
}
