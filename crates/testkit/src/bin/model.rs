//! Runs the scripted model by hand: `model [port] [scripts.json]`. Without a file it uses the default scripts. It logs
//! each request to stderr and runs until stdin ends.
#![allow(clippy::disallowed_macros, reason = "a tool for the terminal")]

use std::io::Read;
use std::time::Duration;

use acquit_testkit::model::{Model, usual};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let scripts = match arguments.next() {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => usual(),
    };
    println!("scripts: {}", scripts.names().map(|name| format!("[[{name}]]")).collect::<Vec<_>>().join(" "));
    let model = Model::start_at(scripts, port)?;
    println!("{}", model.url());
    let ended = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let mut shown = 0;
    while !ended.is_finished() {
        model.wait_for_any(shown + 1, Duration::from_millis(200));
        for request in model.requests().iter().skip(shown) {
            shown += 1;
            let step = request.step.as_ref().map(|(name, index)| format!("[[{name}]] {index}"));
            let line = serde_json::json!({
                "method": request.method, "path": request.path, "step": step,
                "headers": request.headers, "body": request.body,
            });
            eprintln!("{line}");
        }
    }
    Ok(())
}
