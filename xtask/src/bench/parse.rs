//! Parsing agent output: CPU time for a hundred megabytes of each agent's recorded output, compared with the time at
//! 200 MB/s.

use std::time::Duration;

use super::Setting;
use super::measure::{Quantity, Row};
use crate::Stop;

/// Number of bytes that a figure is for.
const PER: u64 = 100_000_000;
/// Minimum number of bytes to parse for each agent.
const BYTES: u64 = 200_000_000;
/// Time limit: 200 MB/s.
const LIMIT: Duration = Duration::from_millis(500);

/// Builds and runs the measuring program, which prints a line of JSON per agent.
pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let mut command = setting.example("parse");
    command.arg(setting.size.pick(BYTES, 1).to_string());
    let output =
        command.stderr(std::process::Stdio::inherit()).output().map_err(Stop::doing("start cargo"))?;
    if !output.status.success() {
        return Err(Stop(
            "measuring failed: cargo run --profile dist -p acquit-run --example parse".to_owned(),
        ));
    }
    String::from_utf8_lossy(&output.stdout).lines().map(row).collect()
}

fn row(line: &str) -> Result<Row, Stop> {
    let figures: serde_json::Value = serde_json::from_str(line).map_err(Stop::doing("read a figure"))?;
    let number = |key: &str| figures[key].as_u64().filter(|number| *number > 0);
    let (Some(bytes), Some(nanoseconds)) = (number("bytes"), number("nanoseconds")) else {
        return Err(Stop(format!("no figures in {line}")));
    };
    let time = u128::from(nanoseconds) * u128::from(PER) / u128::from(bytes);
    Ok(Row {
        thing: format!("100 MB of {}", figures["agent"].as_str().unwrap_or_default()),
        ours: Quantity::Time(Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))),
        limit: Quantity::Time(LIMIT),
        target: Some(1.0),
    })
}
