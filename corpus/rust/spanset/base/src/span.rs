use std::fmt;

/// The numbers from `start` up to, but without, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// # Panics
    ///
    /// If `end` is less than `start`.
    pub fn new(start: u32, end: u32) -> Span {
        assert!(start <= end, "span ends before it starts: {start}..{end}");
        Span { start, end }
    }

    pub fn len(self) -> u32 {
        self.end - self.start
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub fn contains(self, number: u32) -> bool {
        self.start <= number && number < self.end
    }

    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// What both have in common, which may be empty.
    pub fn intersection(self, other: Span) -> Span {
        let start = self.start.max(other.start);
        Span {
            start,
            end: self.end.min(other.end).max(start),
        }
    }
}

/// As in text, with both ends: `1-5`, or `8` for a single number.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len() == 1 {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}-{}", self.start, self.end - 1)
        }
    }
}
