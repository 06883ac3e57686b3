//! Maps users and groups into a new user namespace.
//!
//! Root keeps every user it has, with the same IDs, so that `chown` works as outside. Other users get only
//! themselves, which is all the kernel allows without privileges.

use std::fmt::Write as _;
use std::fs;
use std::io;

use rustix::process::{Pid, getegid, geteuid};

/// Maps the users and groups of `init`'s namespace. Must be called from outside it.
pub(super) fn write(init: Pid) -> io::Result<()> {
    let target = format!("/proc/{}", init.as_raw_nonzero());
    let (user, group) = (geteuid(), getegid());
    // Treat root without the required capability (as in some containers) like any other user.
    if user.is_root() && write_whole(&target).is_ok() {
        return Ok(());
    }
    // The kernel refuses a group map without this: dropping a group must not bypass permissions that deny it access.
    fs::write(format!("{target}/setgroups"), "deny")?;
    fs::write(format!("{target}/uid_map"), format!("{0} {0} 1\n", user.as_raw()))?;
    fs::write(format!("{target}/gid_map"), format!("{0} {0} 1\n", group.as_raw()))
}

fn write_whole(target: &str) -> io::Result<()> {
    for map in ["uid_map", "gid_map"] {
        let own = fs::read_to_string(format!("/proc/self/{map}"))?;
        fs::write(format!("{target}/{map}"), identity(&own))?;
    }
    Ok(())
}

/// Returns an identity map of all IDs that exist in a namespace with the map `own`.
fn identity(own: &str) -> String {
    let mut map = String::new();
    for line in own.lines() {
        let mut fields = line.split_ascii_whitespace();
        if let (Some(inside), Some(_outside), Some(count)) = (fields.next(), fields.next(), fields.next()) {
            let _ = writeln!(map, "{inside} {inside} {count}");
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_container_keeps_its_gaps() {
        assert_eq!(identity("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity("0 1000 1\n 1 100000 65536\n"), "0 0 1\n1 1 65536\n");
    }
}
