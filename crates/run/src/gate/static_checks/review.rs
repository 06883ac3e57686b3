//! `check = "review"`: weighs the findings that the reviewer reported. Each points into the change, or the report would have been refused.

use acquit_core::check::review::{Severity, When, findings};
use acquit_core::failure::Location;
use acquit_core::gate::check::Review;
use acquit_core::gate::{Evidence, Weight};

use super::{Change, Look, Stopped};

impl Look for Review {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let found = match findings(&change.outcome.payload) {
            Ok(found) => found,
            Err(wrong) => {
                evidence.find(Weight::Fails, "form", &wrong.join("\n"), None);
                return Ok(());
            }
        };
        for severity in [Severity::Critical, Severity::Suggestion, Severity::Nit] {
            evidence.figure(severity.word(), found.iter().filter(|one| one.severity == severity).count());
        }
        for one in &found {
            let weight = match one.severity {
                Severity::Critical => Weight::Fails,
                Severity::Suggestion | Severity::Nit => Weight::Noted,
            };
            let gone = match one.side {
                When::After => "",
                When::Before => " (a line that is gone)",
            };
            let mut words = format!("{}{gone}", one.problem);
            if let Some(suggestion) = &one.suggestion {
                words.push_str(&format!("\n    suggested: {suggestion}"));
            }
            let place = Location { path: one.file.clone(), line: one.line };
            evidence.find(weight, one.severity.word(), &words, Some(place));
        }
        let critical = found.iter().any(|one| one.severity == Severity::Critical);
        if critical && change.outcome.name != self.outcome {
            let words = format!(
                "the review ended `{}` all the same; with a critical finding it is taken as `{}`",
                change.outcome.name, self.outcome
            );
            evidence.find(Weight::Fails, "overruled", &words, None);
        }
        Ok(())
    }
}
