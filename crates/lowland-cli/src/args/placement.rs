//! The flags of data sets of several files, whose rows are placed block by block.

use std::str::FromStr;

use clap::Args;

#[derive(Args, Clone)]
#[command(next_help_heading = "Data sets of several files")]
pub struct PlacementArgs {
    /// Number of rows that are read and placed at a time; results do not depend on it (default: by the number of columns)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub block_rows: Option<u64>,
    /// Format of the parts in the folder --out (default: that of each part, parquet if maps are not written in it)
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "tsv", "parquet", "npy"])]
    pub part_format: Option<String>,
}

/// Some of the parts of a data set: every `count`-th, from the `index`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: usize,
    pub count: usize,
}

impl Shard {
    /// Whether the shard contains the part with this number, from 0.
    pub fn contains(self, part: usize) -> bool {
        part % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("expected I/N with I from 1 to N, such as 1/8".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_one_shard() {
        for part in 0..20 {
            let shards = (1..=3).filter(|index| format!("{index}/3").parse::<Shard>().unwrap().contains(part));
            assert_eq!(shards.count(), 1);
        }
        for text in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
