//! Legs of indexed tasks in few bytes: ten thousand tasks have fifty thousand legs.
//!
//! Most tasks have legs of the same shapes in the same order, so tasks share that list. The rest, times and usage, is
//! stored as differences, each in as many bytes as the number needs: about ten bytes per leg instead of two hundred.

use std::sync::Arc;
use std::time::Duration;

use acquit_core::agent::Usage;
use acquit_core::time::Timestamp;

use super::shape::LegShape;

/// Flags of a leg: which of its optional values follow.
const STARTED: u64 = 1;
const ENDED: u64 = 1 << 1;
const USED: u64 = 1 << 2;
const COST: u64 = 1 << 3;
const LIST: u64 = 1 << 4;
const COVERED: u64 = 1 << 5;
const BY_LOGIN: u64 = 1 << 6;

/// A leg in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedLeg<'t> {
    /// Leg number.
    pub number: u32,
    /// Properties that it shares with legs of other tasks.
    pub shape: &'t LegShape,
    /// Usage of its agent, without the model's name; `None` if nothing.
    pub usage: Option<Usage>,
    /// Earliest claim time.
    pub not_before: Timestamp,
    /// Claim time.
    pub started: Option<Timestamp>,
    /// End time.
    pub ended: Option<Timestamp>,
}

impl std::ops::Deref for IndexedLeg<'_> {
    type Target = LegShape;

    fn deref(&self) -> &LegShape {
        self.shape
    }
}

impl IndexedLeg<'_> {
    /// Returns the cost in millionths of a dollar, if a price is known.
    pub fn cost(&self) -> Option<u64> {
        self.usage.as_ref().and_then(Usage::paid)
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> u64 {
        self.usage.as_ref().map_or(0, Usage::tokens)
    }

    /// Returns whether it has started and not ended.
    pub fn runs(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }

    /// Returns its run time; until `now` if it is still running.
    pub fn took(&self, now: Timestamp) -> Duration {
        self.started.map_or(Duration::ZERO, |started| self.ended.unwrap_or(now).since(started))
    }
}

/// The legs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legs {
    shapes: Arc<[Arc<LegShape>]>,
    /// Data that [`Legs::iter`] reads in addition to the shapes.
    packed: Box<[u8]>,
}

impl Legs {
    /// Packs legs; each has the shape at its place in `shapes`.
    pub fn new<'l>(shapes: Arc<[Arc<LegShape>]>, legs: impl Iterator<Item = IndexedLeg<'l>>) -> Self {
        let mut packed = Vec::new();
        let (mut number, mut at) = (0, 0);
        for leg in legs {
            let IndexedLeg { number: own, shape: _, usage, not_before, started, ended } = leg;
            write(&mut packed, u64::from(own.wrapping_sub(number)));
            number = own;
            write(&mut packed, flags(started, ended, usage.as_ref()));
            for moment in [Some(not_before), started, ended].into_iter().flatten() {
                write(&mut packed, zigzag(moment.0.wrapping_sub(at)));
                at = moment.0;
            }
            usage.iter().for_each(|usage| write_usage(&mut packed, usage));
        }
        Self { shapes, packed: packed.into_boxed_slice() }
    }

    /// Returns the legs, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        Iter { shapes: self.shapes.iter(), packed: &self.packed, number: 0, at: 0 }
    }

    /// Replaces the usage of a leg.
    pub(super) fn set_usage(&mut self, number: u32, usage: Option<&Usage>) {
        let changed = self
            .iter()
            .map(|leg| if leg.number == number { IndexedLeg { usage: usage.cloned(), ..leg } } else { leg });
        *self = Self::new(Arc::clone(&self.shapes), changed);
    }
}

impl<'t> IntoIterator for &'t Legs {
    type Item = IndexedLeg<'t>;
    type IntoIter = Iter<'t>;

    fn into_iter(self) -> Iter<'t> {
        self.iter()
    }
}

/// Legs of a task, oldest first.
#[derive(Clone, Debug)]
pub struct Iter<'t> {
    shapes: std::slice::Iter<'t, Arc<LegShape>>,
    packed: &'t [u8],
    number: u32,
    at: i64,
}

impl<'t> Iterator for Iter<'t> {
    type Item = IndexedLeg<'t>;

    fn next(&mut self) -> Option<IndexedLeg<'t>> {
        let shape = self.shapes.next()?;
        #[allow(clippy::cast_possible_truncation, reason = "it was a difference of such numbers")]
        let step = self.read() as u32;
        self.number = self.number.wrapping_add(step);
        let flags = self.read();
        let not_before = self.moment();
        let started = (flags & STARTED != 0).then(|| self.moment());
        let ended = (flags & ENDED != 0).then(|| self.moment());
        let usage = (flags & USED != 0).then(|| Usage {
            model: None,
            input: self.read(),
            output: self.read(),
            cache_read: self.read(),
            cache_write_5m: self.read(),
            cache_write_1h: self.read(),
            unpriced: self.read(),
            cost_micros: (flags & COST != 0).then(|| self.read()),
            list_micros: (flags & LIST != 0).then(|| self.read()),
            covered_micros: (flags & COVERED != 0).then(|| self.read()),
            by_login: flags & BY_LOGIN != 0,
        });
        Some(IndexedLeg { number: self.number, shape, usage, not_before, started, ended })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.shapes.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl Iter<'_> {
    /// Reads a number: seven bits of each byte, the lowest first; the eighth says that more follow.
    fn read(&mut self) -> u64 {
        let (mut value, mut shift) = (0_u64, 0_u32);
        while let Some((byte, rest)) = self.packed.split_first() {
            self.packed = rest;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn moment(&mut self) -> Timestamp {
        let step = self.read();
        self.at = self.at.wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed());
        Timestamp(self.at)
    }
}

fn flags(started: Option<Timestamp>, ended: Option<Timestamp>, usage: Option<&Usage>) -> u64 {
    let has = |is: bool, flag| if is { flag } else { 0 };
    let of_usage = usage.map_or(0, |usage| {
        USED | has(usage.cost_micros.is_some(), COST)
            | has(usage.list_micros.is_some(), LIST)
            | has(usage.covered_micros.is_some(), COVERED)
            | has(usage.by_login, BY_LOGIN)
    });
    has(started.is_some(), STARTED) | has(ended.is_some(), ENDED) | of_usage
}

fn write_usage(packed: &mut Vec<u8>, usage: &Usage) {
    // Named one by one, so that a new field is not forgotten.
    let Usage {
        model: _,
        input,
        output,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        cost_micros,
        list_micros,
        covered_micros,
        unpriced,
        by_login: _,
    } = usage;
    let always = [input, output, cache_read, cache_write_5m, cache_write_1h, unpriced];
    let known = [cost_micros, list_micros, covered_micros].into_iter().flatten();
    always.into_iter().chain(known).for_each(|number| write(packed, *number));
}

fn write(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    packed.push(number.to_le_bytes()[0]);
}

/// Maps small differences of either sign to small numbers.
fn zigzag(step: i64) -> u64 {
    ((step << 1) ^ (step >> 63)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use acquit_core::leg;
    use proptest::prelude::*;

    use super::super::shape::Reason;
    use super::*;

    fn shape() -> Arc<LegShape> {
        Arc::new(LegShape {
            stage: "code".into(),
            reason: Reason::Work,
            subject: "code".into(),
            state: leg::State::Passed,
            outcome: None,
            rejected_by: Vec::new(),
            agent: None,
            model: None,
        })
    }

    prop_compose! {
        fn usage()(
            tokens in any::<[u64; 6]>(),
            prices in any::<[Option<u64>; 3]>(),
            by_login in any::<bool>(),
        ) -> Usage {
            Usage {
                model: None,
                input: tokens[0],
                output: tokens[1],
                cache_read: tokens[2],
                cache_write_5m: tokens[3],
                cache_write_1h: tokens[4],
                unpriced: tokens[5],
                cost_micros: prices[0],
                list_micros: prices[1],
                covered_micros: prices[2],
                by_login,
            }
        }
    }

    type Drawn = (u32, Option<Usage>, i64, Option<i64>, Option<i64>);

    fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
        let leg = (
            any::<u32>(),
            proptest::option::of(usage()),
            any::<i64>(),
            any::<Option<i64>>(),
            any::<Option<i64>>(),
        );
        proptest::collection::vec(leg, 0..6)
    }

    fn legs<'t>(drawn: &[Drawn], shapes: &'t [Arc<LegShape>]) -> Vec<IndexedLeg<'t>> {
        let one =
            |((number, usage, not_before, started, ended), shape): (&Drawn, &'t Arc<LegShape>)| IndexedLeg {
                number: *number,
                shape,
                usage: usage.clone(),
                not_before: Timestamp(*not_before),
                started: started.map(Timestamp),
                ended: ended.map(Timestamp),
            };
        drawn.iter().zip(shapes).map(one).collect()
    }

    proptest! {
        #[test]
        fn packed_legs_are_the_legs(drawn in drawn(), used in proptest::option::of(usage())) {
            let shapes: Arc<[Arc<LegShape>]> = drawn.iter().map(|_| shape()).collect();
            let mut all = legs(&drawn, &shapes);
            let mut packed = Legs::new(Arc::clone(&shapes), all.iter().cloned());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), all.clone());
            if let Some(number) = all.last().map(|leg| leg.number) {
                packed.set_usage(number, used.as_ref());
                for leg in all.iter_mut().filter(|leg| leg.number == number) {
                    leg.usage.clone_from(&used);
                }
                prop_assert_eq!(packed.iter().collect::<Vec<_>>(), all);
            }
        }
    }

    #[test]
    fn an_ordinary_leg_takes_few_bytes() {
        let shapes: Arc<[Arc<LegShape>]> = (0..5).map(|_| shape()).collect();
        let usage = Usage { input: 9_000, output: 900, cost_micros: Some(84_000), ..Usage::default() };
        let drawn: Vec<Drawn> = (1..=5)
            .map(|number| {
                let begun = 1_790_000_000_000 + i64::from(number) * 700_000;
                (number, (number == 2).then(|| usage.clone()), begun, Some(begun + 40), Some(begun + 600_000))
            })
            .collect();
        let packed = Legs::new(Arc::clone(&shapes), legs(&drawn, &shapes).into_iter());
        assert!(packed.packed.len() <= 5 * 12 + 16, "{} bytes", packed.packed.len());
    }
}
