//! The parts of a sandbox, and which of them a machine does not have.

use std::fmt;

/// A part of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// Processes, files and network of its own.
    Namespaces,
    /// A network of its own, with the proxy as the only way out.
    Network,
    /// A `/proc` of its own.
    Proc,
    /// A limit on processes that the kernel keeps.
    Processes,
    /// Toolchains and caches that can be written without being changed.
    Overlay,
    /// Sockets of the machine's programs that cannot be reached by their paths.
    Sockets,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Calls,
}

/// All of them.
pub const WALLS: [Wall; 8] = [
    Wall::Namespaces,
    Wall::Network,
    Wall::Proc,
    Wall::Processes,
    Wall::Overlay,
    Wall::Sockets,
    Wall::Landlock,
    Wall::Calls,
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
        })
    }
}

/// The walls that could not be built.
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

    /// Whether one is missing that keeps a program in. Without the others tools cannot write to their caches, and the number of
    /// processes is counted by looking.
    pub(super) fn breaks_a_promise(self) -> bool {
        !self.promised().is_empty()
    }

    /// Those that keep a program in.
    pub(super) fn promised(self) -> Self {
        let mut promised = Self::default();
        self.walls()
            .filter(|wall| !matches!(wall, Wall::Processes | Wall::Overlay))
            .for_each(|wall| promised.add(wall));
        promised
    }

    /// Whether all of them stand.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each that is missing.
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
