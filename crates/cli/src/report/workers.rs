//! Prints workers, and the legs that wait for one.

use acquit_app::workers::{Shown, Waiting, Workers};

use super::{Look, Printer, table, text};

impl Printer {
    /// Prints the workers, and why legs are waiting.
    pub fn workers(self, found: &Workers) {
        if found.workers.is_empty() {
            self.say("no workers; `acquit worker` starts one (docs/fleet.md)");
        } else {
            let headings = ["WORKER", "STATE", "LEGS", "HOST", "LABELS", "VERSION"];
            let rows: Vec<Vec<String>> = found.workers.iter().map(row).collect();
            for line in table::fitted(&headings, &rows, &[2], &[5, 3], self.width()) {
                self.data(&line);
            }
        }
        for leg in &found.waiting {
            self.data(
                &self.paint(Look::Strong, &format!("{} waits at {}", leg.leg, text::visible(&leg.stage))),
            );
            for line in why(leg) {
                self.data(&format!("  {}", text::visible(&line)));
            }
        }
    }
}

fn row(shown: &Shown) -> Vec<String> {
    let worker = &shown.seen.worker;
    vec![
        text::visible(&worker.name),
        shown.standing.name().to_owned(),
        format!("{}/{}", shown.running, worker.slots),
        text::visible(&worker.host),
        text::visible(&worker.labels().collect::<Vec<_>>().join(", ")),
        text::visible(&worker.version),
    ]
}

fn why(leg: &Waiting) -> Vec<String> {
    if leg.fits.is_empty() {
        return leg.why.clone();
    }
    vec![format!("for a free slot of {}", leg.fits.join(" or "))]
}
