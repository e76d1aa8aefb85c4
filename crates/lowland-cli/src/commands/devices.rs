//! `lowland devices`: lists where computations can run.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::data::format_bytes;
use lowland::device::{DeviceInfo, devices};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::print::print_stdout;

pub fn list_devices(as_json: bool) -> Result<ExitCode, Failure> {
    let found = devices();
    let text = if as_json { format!("{:#}\n", to_json(&found)) } else { to_text(&found) };
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn to_text(found: &Result<Vec<DeviceInfo>, String>) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!("cpu      {cores} {}\n", if cores == 1 { "core" } else { "cores" });
    match found {
        Err(reason) => {
            let _ = writeln!(text, "cuda     none: {reason}");
        }
        Ok(cards) if cards.is_empty() => text.push_str("cuda     none: the driver lists no card\n"),
        Ok(cards) => {
            for card in cards {
                let (major, minor) = card.compute_capability;
                let _ = write!(text, "cuda:{:<3} {}", card.ordinal, card.name);
                let _ = match &card.unusable {
                    Some(reason) => writeln!(text, ", not usable: {reason}"),
                    None => writeln!(
                        text,
                        ", {} of memory ({} free), compute capability {major}.{minor}",
                        format_bytes(card.memory),
                        format_bytes(card.free_memory)
                    ),
                };
            }
        }
    }
    text
}

fn to_json(found: &Result<Vec<DeviceInfo>, String>) -> Value {
    let card = |card: &DeviceInfo| {
        json!({
            "device": format!("cuda:{}", card.ordinal),
            "name": card.name,
            "compute_capability": format!("{}.{}", card.compute_capability.0, card.compute_capability.1),
            "memory": card.memory,
            "free_memory": card.free_memory,
            "unusable": card.unusable,
        })
    };
    match found {
        Ok(cards) => json!({ "cards": cards.iter().map(card).collect::<Vec<_>>(), "reason": null }),
        Err(reason) => json!({ "cards": [], "reason": reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_listed_with_what_prevents_their_use() {
        let card = |unusable: Option<&str>| DeviceInfo {
            ordinal: 1,
            name: "A card".into(),
            compute_capability: (9, 0),
            memory: 8 << 30,
            free_memory: 4 << 30,
            unusable: unusable.map(String::from),
        };
        let text = to_text(&Ok(vec![card(None), card(Some("too old"))]));
        assert!(text.contains("cuda:1   A card, 8.0 GiB of memory (4.0 GiB free), compute capability 9.0"), "{text}");
        assert!(text.contains("cuda:1   A card, not usable: too old"), "{text}");
        assert!(to_text(&Err("no driver".into())).contains("cuda     none: no driver"));
        assert_eq!(to_json(&Err("no driver".into()))["reason"], "no driver");
        assert_eq!(to_json(&Ok(vec![card(None)]))["cards"][0]["device"], "cuda:1");
    }
}
