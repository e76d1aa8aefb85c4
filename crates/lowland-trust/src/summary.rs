//! The report in sentences.

use lowland_core::ReliabilityColumn;

use super::gaps::{Gap, GapVerdict};
use super::report::TrustReport;

impl TrustReport {
    /// Number of points that are flagged.
    pub fn flagged(&self) -> usize {
        let flags = self.reliability.get(ReliabilityColumn::Flagged).unwrap_or_default();
        flags.iter().filter(|&&flag| flag == 1.0).count()
    }

    /// Number of gaps with this verdict. Pairs of islands without links are not counted.
    pub fn gaps_with(&self, verdict: GapVerdict) -> usize {
        self.gaps.iter().filter(|gap| gap.verdict == verdict).count()
    }

    /// Returns the numbers of the islands that are several groups in the data.
    pub fn merged_islands(&self) -> Vec<u32> {
        let parts = self.parts.as_deref().unwrap_or_default();
        (1..).zip(parts).filter(|(_, parts)| parts.sizes.len() > 1).map(|(island, _)| island).collect()
    }

    /// Returns three sentences: how neighbors are kept, whether gaps are real, and how many points are flagged.
    pub fn summary(&self) -> [String; 3] {
        [self.neighbors_sentence(), self.gaps_sentence(), self.flags_sentence()]
    }

    fn neighbors_sentence(&self) -> String {
        let lost = self.reliability.get(ReliabilityColumn::Lost).unwrap_or_default();
        let good = lost.iter().filter(|&&lost| keeps_most(lost)).count();
        format!(
            "{} of the points keep most of their neighbors: of the {} nearest rows, more than half are among the {} nearest \
             points.",
            percent(good, lost.len()),
            self.n_neighbors,
            self.reach
        )
    }

    fn gaps_sentence(&self) -> String {
        let islands = self.islands.sizes.len();
        let bridged: Vec<&Gap> = self.gaps.iter().filter(|gap| gap.verdict == GapVerdict::Bridged).collect();
        let undecided = match self.gaps_with(GapVerdict::Undecided) {
            0 => String::new(),
            1 => "; 1 gap is undecided".into(),
            count => format!("; {count} gaps are undecided"),
        };
        match bridged[..] {
            _ if islands == 0 => "There are no islands on the map, only scattered points.".into(),
            _ if islands == 1 => match self.merged_islands().len() {
                0 => "The map is one island without gaps.".into(),
                _ => format!(
                    "The map is one island without gaps, but its rows are {} separate groups in the data.",
                    self.parts.as_ref().map_or(1, |parts| parts[0].sizes.len())
                ),
            },
            [] => format!("No gap between the {islands} islands is contradicted by the data{undecided}."),
            [one] => format!(
                "Islands {} and {} are connected in the data: {} neighbor links cross the gap{undecided}.",
                one.islands[0], one.islands[1], one.links
            ),
            [first, ..] => format!(
                "{} gaps between the {islands} islands are not in the data, such as the one between islands {} and {}, which \
                 {} neighbor links cross{undecided}.",
                bridged.len(),
                first.islands[0],
                first.islands[1],
                first.links
            ),
        }
    }

    fn flags_sentence(&self) -> String {
        let flags = self.reliability.get(ReliabilityColumn::Flagged).unwrap_or_default();
        match self.flagged() {
            0 => "No point has its nearest rows at several places of the map.".into(),
            1 => "1 point could equally well be placed elsewhere: its nearest rows are at several places.".into(),
            count => format!(
                "{count} points ({}) could equally well be placed elsewhere: their nearest rows are at several places.",
                percent(count, flags.len())
            ),
        }
    }
}

/// Whether a point that lost this share of its neighbors keeps most of them.
pub(crate) fn keeps_most(lost: f64) -> bool {
    lost < 0.5
}

/// A share in percent, with one decimal below ten.
pub(crate) fn percent(count: usize, total: usize) -> String {
    let share = 100.0 * count as f64 / total.max(1) as f64;
    if share >= 10.0 || count == 0 { format!("{share:.0}%") } else { format!("{share:.1}%") }
}
