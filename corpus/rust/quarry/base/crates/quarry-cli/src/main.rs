//! `quarry total 3t 500kg` and `quarry pack 5t 3t 2t`.

use std::process::ExitCode;

use quarry_core::{pack, weight};

fn run(args: &[String]) -> Result<String, String> {
    let (command, rest) = args.split_first().ok_or("usage: quarry total|pack WEIGHT...")?;
    let weights = rest
        .iter()
        .map(|text| weight::parse(text).map_err(|error| error.to_string()))
        .collect::<Result<Vec<u64>, String>>()?;
    match command.as_str() {
        "total" => Ok(weight::format(weights.iter().sum())),
        "pack" => {
            let lines: Vec<String> = pack(&weights[1..], weights[0])
                .iter()
                .enumerate()
                .map(|(n, loads)| {
                    let loads: Vec<String> = loads.iter().map(|&kg| weight::format(kg)).collect();
                    format!("truck {}: {}", n + 1, loads.join(" "))
                })
                .collect();
            Ok(lines.join("\n"))
        }
        other => Err(format!("unknown command {other:?}")),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("quarry: {text}");
            ExitCode::from(2)
        }
    }
}
