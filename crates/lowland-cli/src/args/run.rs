//! The flags of every run: seed, threads, output, memory.

use std::sync::OnceLock;

use clap::Args;
use lowland::{MemoryBudget, Seed, available_memory, resident_memory};

#[derive(Args, Clone)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Random seed
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), allow_negative_numbers = true)]
    pub threads: Option<u64>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print events and results as JSON lines on stdout
    #[arg(long)]
    pub json: bool,
    /// Fail if more memory than this is needed, such as 8GiB (default: the memory that is free now)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<u64>,
    #[arg(skip)]
    memory: OnceLock<MemoryBudget>,
}

impl RunArgs {
    pub fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    pub fn threads(&self) -> Option<usize> {
        self.threads.map(|count| count as usize)
    }

    /// The memory of the whole command, from reading to writing; without a limit where the free memory is not known.
    pub fn memory(&self) -> &MemoryBudget {
        self.memory.get_or_init(|| match self.max_memory {
            None => MemoryBudget::new(available_memory()),
            Some(limit) => {
                let memory = MemoryBudget::new(Some(limit));
                // The program itself is part of what it may use.
                memory.reserve(resident_memory());
                memory
            }
        })
    }
}

/// Parses a size such as `8GiB`, `500MB` or `1000000`.
fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => f64::from(1 << 20),
        "mb" => 1e6,
        "g" | "gib" => f64::from(1 << 30),
        "gb" => 1e9,
        "t" | "tib" => (1u64 << 40) as f64,
        _ => return Err(format!("unknown unit '{unit}'; use for example 8GiB or 500MB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor) as u64),
        _ => Err("expected a size such as 8GiB or 500MB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_with_their_units() {
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1.5 MB"), Ok(1_500_000));
        assert_eq!(parse_size("77"), Ok(77));
        assert!(parse_size("lots").is_err());
        assert!(parse_size("3 parsecs").is_err());
    }
}
