//! `acquit verify`: checks an attestation of `acquit prove --attest` against the repository.

use std::path::Path;

use acquit_app::Error;
use acquit_app::prove::attest::{Demand, Sign};
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{Look, text};

/// Checks an attestation and prints what was compared.
pub fn verify(cli: &Cli, file: &Path, signed: bool, allowed_signers: Option<&Path>) -> Result<Exit, Error> {
    let signed = if signed { Sign::Yes } else { Sign::No };
    let verified = cli.app.verify(file, &Demand { signed, allowed_signers })?;
    let printer = cli.printer;
    let holds = verified.holds();
    if printer.json {
        printer.json(&json!({ "holds": holds, "decision": verified.decision, "checked": verified.checked }));
    } else {
        for one in &verified.checked {
            let (mark, look) = if one.holds { ("✓", Look::Good) } else { ("✗", Look::Bad) };
            let words = text::visible(&text::line(&one.what, 120));
            printer.data(&format!("{} {words}: {}", printer.paint(look, mark), one.found));
        }
        let words = if holds { "holds: the statement fits this repository" } else { "does not hold" };
        printer.data(&printer.paint(if holds { Look::Good } else { Look::Bad }, words));
    }
    Ok(if holds { Exit::Done } else { Exit::Failed })
}
