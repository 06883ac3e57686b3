//! How fast each parser reads: the recordings of its agent, over and over. Started by `cargo xtask bench parse`, which says
//! what the figures mean, with the least number of bytes to read of each; prints a line of JSON per agent.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program for measuring, no part of the product"
)]

use std::io::Write as _;
use std::path::Path;

use acquit_core::agent::Usage;
use acquit_core::config::{Adapter, Product};
use acquit_core::time::Timestamp;
use acquit_run::agent::{Hearing, parser};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let bytes: usize =
        std::env::args().nth(1).expect("a number of bytes").parse().expect("a number of bytes");
    let mut out = std::io::stdout().lock();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    for &product in Product::ALL {
        let mut output = Vec::new();
        let mut files: Vec<_> = std::fs::read_dir(recordings.join(product.name())).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().path());
        for file in files {
            output.extend(std::fs::read(file.unwrap().path()).unwrap());
        }
        let rounds = bytes.div_ceil(output.len());
        let (mut said, mut things) = (Vec::new(), 0);
        let begun = cpu();
        for _ in 0..rounds {
            let hearing = Hearing {
                before: Usage::default(),
                model: None,
                structured: false,
                billing: None,
                prices: acquit_core::price::Prices::new(),
                now: || Timestamp(1_794_772_800_000),
            };
            let mut parser = parser(&Adapter::Product { product }, hearing);
            let mut from = 0;
            for end in memchr::memchr_iter(b'\n', &output) {
                parser.line(&output[from..end], &mut said);
                from = end + 1;
                things += said.len();
                said.clear();
            }
            parser.finish(&mut said);
        }
        let figures = serde_json::json!({
            "agent": product.name(), "bytes": rounds * output.len(), "nanoseconds": cpu() - begun, "things": things,
        });
        writeln!(out, "{figures}").unwrap();
    }
}

/// The processor time of this process: others on the machine do not count.
fn cpu() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap()
}
