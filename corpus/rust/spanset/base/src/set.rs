use std::fmt;

use crate::Span;

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanSet {
    spans: Vec<Span>,
}

impl SpanSet {
    pub fn new() -> SpanSet {
        SpanSet::default()
    }

    /// The spans in their order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// How many numbers are in the set.
    ///
    /// ```
    /// # use spanset::{Span, SpanSet};
    /// let set: SpanSet = [Span::new(0, 10), Span::new(5, 15)].into_iter().collect();
    /// assert_eq!(set.len(), 15);
    /// ```
    pub fn len(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len())).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn contains(&self, number: u32) -> bool {
        let after = self.spans.partition_point(|span| span.end <= number);
        self.spans.get(after).is_some_and(|span| span.contains(number))
    }

    pub fn insert(&mut self, mut span: Span) {
        if span.is_empty() {
            return;
        }
        self.spans.retain(|other| {
            let overlaps = other.overlaps(span);
            if overlaps {
                span = Span::new(span.start.min(other.start), span.end.max(other.end));
            }
            !overlaps
        });
        let at = self.spans.partition_point(|other| other.start < span.start);
        self.spans.insert(at, span);
    }

    pub fn remove(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        let mut left = Vec::with_capacity(self.spans.len() + 1);
        for other in &self.spans {
            if !other.overlaps(span) {
                left.push(*other);
                continue;
            }
            if other.start < span.start {
                left.push(Span::new(other.start, span.start));
            }
            if span.end < other.end {
                left.push(Span::new(span.end, other.end));
            }
        }
        self.spans = left;
    }

    pub fn union(&self, other: &SpanSet) -> SpanSet {
        self.spans.iter().chain(&other.spans).copied().collect()
    }

    pub fn intersection(&self, other: &SpanSet) -> SpanSet {
        let mut common = SpanSet::new();
        for a in &self.spans {
            for b in &other.spans {
                common.insert(a.intersection(*b));
            }
        }
        common
    }
}

impl FromIterator<Span> for SpanSet {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> SpanSet {
        let mut set = SpanSet::new();
        for span in spans {
            set.insert(span);
        }
        set
    }
}

impl fmt::Display for SpanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, span) in self.spans.iter().enumerate() {
            if index > 0 {
                write!(f, ",")?;
            }
            write!(f, "{span}")?;
        }
        Ok(())
    }
}
