//! Isolation mechanisms of the sandbox, called walls, and the set of those that a machine lacks.

use std::fmt;

/// An isolation mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// Separate process, mount and network namespaces.
    Namespaces,
    /// A separate network, with the proxy as the only way out.
    Network,
    /// A separate `/proc`.
    Proc,
    /// A limit on the number of processes, enforced by the kernel.
    Processes,
    /// Overlays: toolchains and caches are writable, but the originals do not change.
    Overlay,
    /// No access to Unix sockets of programs on the machine.
    Sockets,
    /// Landlock.
    Landlock,
    /// The system call filter (seccomp).
    Calls,
    /// The list of commands, if the policy has one.
    Commands,
    /// No access to abstract sockets of programs on the machine, under network `open`.
    AbstractSockets,
}

/// All walls.
pub const WALLS: [Wall; 10] = [
    Wall::Namespaces,
    Wall::Network,
    Wall::Proc,
    Wall::Processes,
    Wall::Overlay,
    Wall::Sockets,
    Wall::Landlock,
    Wall::Calls,
    Wall::Commands,
    Wall::AbstractSockets,
];

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces of its own",
            Self::Network => "a network of its own",
            Self::Proc => "a /proc of its own",
            Self::Processes => "the kernel's limit on processes",
            Self::Overlay => "overlays on toolchains",
            Self::Sockets => "a barrier to Unix sockets of the machine",
            Self::Landlock => "Landlock",
            Self::Calls => "the filter of system calls",
            Self::Commands => "the limit to listed commands",
            Self::AbstractSockets => "a barrier to abstract sockets of the machine",
        })
    }
}

/// The set of walls that could not be built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing(u32);

impl Missing {
    pub(super) fn add(&mut self, wall: Wall) {
        self.0 |= 1 << wall as u32;
    }

    pub(super) fn remove(&mut self, wall: Wall) {
        self.0 &= !(1 << wall as u32);
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn to_bits(self) -> i32 {
        self.0.cast_signed()
    }

    pub(super) fn from_bits(bits: i32) -> Self {
        Self(bits.cast_unsigned())
    }

    /// Returns whether a wall is missing that confines the program. Without the others, tools cannot write to their
    /// caches, the process limit is enforced by polling, and network `open` includes abstract sockets.
    pub(super) fn breaks_a_promise(self) -> bool {
        !self.promised().is_empty()
    }

    /// Returns the missing walls that confine the program.
    pub(super) fn promised(self) -> Self {
        let mut promised = Self::default();
        self.walls()
            .filter(|wall| !matches!(wall, Wall::Processes | Wall::Overlay | Wall::AbstractSockets))
            .for_each(|wall| promised.add(wall));
        promised
    }

    /// Returns whether no wall is missing.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the missing walls.
    pub fn walls(self) -> impl Iterator<Item = Wall> {
        WALLS.into_iter().filter(move |wall| self.0 & (1 << *wall as u32) != 0)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, wall) in self.walls().enumerate() {
            write!(f, "{}{wall}", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
