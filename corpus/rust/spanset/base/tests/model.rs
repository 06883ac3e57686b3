//! Random operations on a `SpanSet` and on a `BTreeSet` must agree.

use std::collections::BTreeSet;

use spanset::{Span, SpanSet};

const ROUNDS: u64 = 400;
const LIMIT: u32 = 60;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }

    fn span(&mut self) -> Span {
        let start = self.below(LIMIT);
        Span::new(start, start + self.below(12))
    }
}

fn build(random: &mut Random) -> (SpanSet, BTreeSet<u32>) {
    let (mut set, mut model) = (SpanSet::new(), BTreeSet::new());
    for _ in 0..random.below(10) {
        let span = random.span();
        if random.below(3) == 0 {
            set.remove(span);
            model.retain(|number| !span.contains(*number));
        } else {
            set.insert(span);
            model.extend(span.start..span.end);
        }
    }
    (set, model)
}

fn numbers(set: &SpanSet) -> BTreeSet<u32> {
    set.spans().iter().flat_map(|span| span.start..span.end).collect()
}

#[test]
fn insert_and_remove_agree_with_the_model() {
    for seed in 0..ROUNDS {
        let (set, model) = build(&mut Random(seed));
        assert_eq!(numbers(&set), model, "seed {seed}");
        assert_eq!(set.len(), model.len() as u64, "seed {seed}");
        for number in 0..LIMIT + 12 {
            assert_eq!(set.contains(number), model.contains(&number), "seed {seed}, {number}");
        }
    }
}

#[test]
fn union_and_intersection_agree_with_the_model() {
    for seed in 0..ROUNDS {
        let random = &mut Random(seed);
        let ((a, in_a), (b, in_b)) = (build(random), build(random));
        assert_eq!(numbers(&a.union(&b)), &in_a | &in_b, "seed {seed}");
        assert_eq!(numbers(&a.intersection(&b)), &in_a & &in_b, "seed {seed}");
    }
}
