//! Recordings changed at random, for a while: no parser panics, whatever it is given.
//!
//! The dice are thrown from a fixed seed, so a failure can be had again. A second in an ordinary test run; as long as
//! `ACQUIT_FUZZ_SECONDS` says in `cargo xtask test`.

use std::time::{Duration, Instant};

use acquit_core::agent::Usage;
use acquit_core::config::{Adapter, Product};
use acquit_run::agent::parser;

use crate::recorded::{hearing, of};

/// SplitMix64: small, and good enough to choose bytes.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which may be 0 and then gives 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.throw() % (end.max(1) as u64)).unwrap()
    }
}

/// What JSON can be and agents do not print.
const ODD: [&str; 22] = [
    "null",
    "true",
    "-1",
    "1e309",
    "1.5",
    "18446744073709551616",
    "99999999999999999999999999999999999",
    "\"\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "[]",
    "{}",
    "[[[[[[]]]]]]",
    "{\"type\":{\"type\":1}}",
    "\"429\"",
    "\"resets 8:33pm (UTC)\"",
    "\"resets Feb 31, 99pm (utc)\"",
    "\"try again in 99999999999 days 3 hours\"",
    "\"limit|1794774780\"",
    "[{\"type\":\"text\",\"text\":[\"x\"]}]",
    "Tokens: 9999999999999999999k sent, 1.2.3k received. Cost: $1e400 message",
    "litellm.: \u{fffd}",
];

/// Changes a line in one of the ways in which lines go wrong.
fn changed(line: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.below(line.len());
    match dice.below(10) {
        0 if !line.is_empty() => line[at] ^= 1 << dice.below(8),
        1 if !line.is_empty() => line[at] = u8::try_from(dice.below(256)).unwrap(),
        2 => line.truncate(at),
        3 => drop(line.drain(..at)),
        // A value for a value, where a colon or a comma says that one follows.
        4 | 5 => {
            let starts: Vec<usize> = line
                .iter()
                .enumerate()
                .filter(|(_, byte)| matches!(byte, b':' | b',' | b'['))
                .map(|(place, _)| place + 1)
                .collect();
            if let Some(&start) = starts.get(dice.below(starts.len())) {
                let end = line[start..].iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
                let end = end.map_or(line.len(), |end| start + end);
                line.splice(start..end, ODD[dice.below(ODD.len())].bytes());
            }
        }
        6 => {
            let piece = other[dice.below(other.len())..].to_vec();
            line.splice(at..at, piece);
        }
        7 => {
            let (open, close) =
                if dice.below(2) == 0 { (b"[".as_slice(), b']') } else { (b"{\"a\":".as_slice(), b'}') };
            let depth = dice.below(5_000);
            let mut deep = open.repeat(depth);
            deep.extend(std::iter::repeat_n(close, depth));
            line.splice(at..at, deep);
        }
        8 => {
            let twice = line.clone();
            line.splice(at..at, twice);
        }
        _ => *line = ODD[dice.below(ODD.len())].as_bytes().to_vec(),
    }
}

fn time() -> Duration {
    let seconds = std::env::var("ACQUIT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

fn survives(product: Product) {
    let mut dice = Dice(0xac_0817 + product as u64);
    let recordings = of(product);
    let mut said = Vec::new();
    let (start, limit) = (Instant::now(), time());
    let mut lines = 0u64;
    while start.elapsed() < limit {
        let (_, output) = &recordings[dice.below(recordings.len())];
        let all: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
        let mut parser =
            parser(&Adapter::Product { product }, hearing(Usage { input: 7, ..Usage::default() }));
        for line in &all {
            let mut line = line.to_vec();
            for _ in 0..dice.below(4) {
                changed(&mut line, all[dice.below(all.len())], &mut dice);
            }
            // Now and then as long as what is cut.
            if dice.below(500) == 0 {
                let fill = line.last().copied().unwrap_or(b'x');
                line.resize(1024 * 1024, fill);
            }
            parser.line(&line, &mut said);
            lines += 1;
            said.clear();
        }
        parser.finish(&mut said);
        said.clear();
    }
    assert!(lines > 100, "only {lines} lines in {limit:?}");
}

/// All of them side by side, each in a thread of its name: a minute each is a minute in all.
#[test]
fn every_parser_survives_whatever_it_is_given() {
    std::thread::scope(|scope| {
        for &product in Product::ALL {
            let thread = std::thread::Builder::new().name(format!("parser of {}", product.name()));
            thread.spawn_scoped(scope, move || survives(product)).unwrap();
        }
    });
}
