//! The last walls, which the program's process builds around itself: rlimits, capabilities, Landlock, seccomp.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::super::status::{Failure, Step};
use super::super::walls::{Missing, Wall};
use super::filter::{self, Sockets};
use super::landlock::{self, Around};
use super::{kernel, network};
use crate::sandbox::{Policy, Reach};

/// Capabilities that root keeps inside, so that installers and archives work as usual. They give access to files of
/// other users, in directories that root can write to anyway. They have no effect outside the namespaces.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// Builds the walls, and returns those that are missing. Only `exec` may follow. `door` is the socket to init, which
/// decides about executions.
pub(super) fn close(policy: &Policy, around: Around, door: Option<&OwnedFd>) -> Result<Missing, Failure> {
    let refused = |errno| Failure::new(Step::Walls, errno);
    let mut missing = Missing::default();
    limit(policy, around).map_err(refused)?;
    if around == Around::View {
        drop_privileges().map_err(refused)?;
    }
    set_no_new_privs(true).map_err(refused)?;
    match landlock::enforce(policy, around) {
        Ok(()) => {}
        Err(Errno::NOSYS | Errno::OPNOTSUPP) => missing.add(Wall::Landlock),
        Err(errno) => return Err(refused(errno)),
    }
    let has_own = around == Around::View;
    let sockets = Sockets {
        internet: has_own || policy.network != Reach::Nobody,
        unix: has_own || kernel::landlock_version() >= Some(landlock::WITH_SOCKETS),
    };
    if has_own
        && policy.network == Reach::Everybody
        && kernel::landlock_version() < Some(landlock::WITH_SCOPES)
    {
        missing.add(Wall::AbstractSockets);
    }
    match kernel::filter_calls(&filter::program(sockets, around)) {
        Ok(()) => {}
        Err(Errno::NOSYS | Errno::INVAL) => missing.add(Wall::Calls),
        Err(errno) => return Err(refused(errno)),
    }
    if policy.commands.is_some() && restrict_commands(door).is_err() {
        missing.add(Wall::Commands);
    }
    Ok(missing)
}

/// Lets init decide about executions.
fn restrict_commands(door: Option<&OwnedFd>) -> Result<(), Errno> {
    let door = door.ok_or(Errno::OPNOTSUPP)?;
    let listener = kernel::listen_to_calls(&filter::executions())?;
    network::pass(door, &[listener.as_fd()])
}

fn limit(policy: &Policy, around: Around) -> Result<(), Errno> {
    let both = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    // A core file would contain everything in the program's memory.
    setrlimit(Resource::Core, both(0))?;
    setrlimit(Resource::Fsize, both(policy.resources.disk))?;
    // In a separate user namespace, this counts the sandbox only; elsewhere, all processes of the user.
    if around == Around::View {
        setrlimit(Resource::Nproc, both(u64::from(policy.resources.processes)))?;
    }
    Ok(())
}

fn drop_privileges() -> Result<(), Errno> {
    let kept = if geteuid().is_root() { KEPT } else { CapabilitySet::empty() };
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter().filter(|capability| !kept.contains(*capability)) {
        match remove_capability_from_bounding_set(capability) {
            // This kernel does not know the capability.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno),
        }
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)
}
