//! Columns that say how far each point of a map can be believed.

use std::collections::BTreeMap;

use crate::{Error, Points, Result};

/// A column of reliability. The names are those of columns in tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReliabilityColumn {
    /// Share of the nearest rows in the data that are among the nearest on the map, from 0 to 1.
    Kept,
    /// Share of the nearest rows in the data that are far on the map, from 0 to 1.
    Lost,
    /// Share of the nearest points on the map that are far in the data, from 0 to 1.
    Intruders,
    /// How far the nearest rows are spread over the map: the distance at which or beyond which a fifth of them are, in units of the
    /// distance to as many points on the map.
    Spread,
    /// How far the point moves if its row is changed a little, in units of the distance between neighbors on the map.
    Jump,
    /// Inverse curvature of the point's own loss in the direction in which it is held least.
    Fragile,
    /// How far the point is from its place in other runs, in units of the radius of the map.
    Unstable,
    /// Probability of a score at least as bad if the map showed the point as the data have it.
    PValue,
    /// 1 if the point is misplaced or could be placed elsewhere, with a controlled share of false alarms; otherwise 0.
    Flagged,
    /// Number of the island on the map, from 1 by size; 0 for points in no island.
    Island,
    /// Number of the island to which neighbors of the point in the data belong, where a gap on the map separates what is
    /// connected in the data; 0 elsewhere.
    BridgeTo,
}

impl ReliabilityColumn {
    /// All columns, in the order in which they are written.
    pub const ALL: [Self; 11] = [
        Self::Kept,
        Self::Lost,
        Self::Intruders,
        Self::Spread,
        Self::Jump,
        Self::Fragile,
        Self::Unstable,
        Self::PValue,
        Self::Flagged,
        Self::Island,
        Self::BridgeTo,
    ];

    /// Returns the name of the column in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Lost => "lost",
            Self::Intruders => "intruders",
            Self::Spread => "spread",
            Self::Jump => "jump",
            Self::Fragile => "fragile",
            Self::Unstable => "unstable",
            Self::PValue => "p_value",
            Self::Flagged => "flagged",
            Self::Island => "island",
            Self::BridgeTo => "bridge_to",
        }
    }

    /// Returns the column with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Explains the column in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Kept => "Share of the nearest rows in the data that are also among the nearest on the map.",
            Self::Lost => "Share of the nearest rows in the data that are far away on the map.",
            Self::Intruders => "Share of the nearest points on the map that are far away in the data.",
            Self::Spread => "How far the nearest rows are spread over the map: large where they are at several places.",
            Self::Jump => "How far the point moves on the map if its row is changed a little.",
            Self::Fragile => "How weakly the point is held at its place; in validation no sign of a wrong place.",
            Self::Unstable => "How far the point moves between runs; in validation no sign of a wrong place.",
            Self::PValue => "Probability of neighbors this poorly kept if the point were placed like ordinary points.",
            Self::Flagged => "1 for points that are misplaced or could be placed elsewhere.",
            Self::Island => "Number of the island on the map, by size; 0 for points between islands.",
            Self::BridgeTo => "Island to which neighbors in the data belong although a gap on the map lies between.",
        }
    }
}

/// Reliability of the points of a map: one value per point in each column that is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reliability {
    columns: BTreeMap<ReliabilityColumn, Vec<f64>>,
}

/// Two islands that are connected in the data, although a gap on the map lies between them.
#[derive(Debug, Clone, PartialEq)]
pub struct IslandBridge {
    /// Numbers of the islands, the smaller one first.
    pub islands: [u32; 2],
    /// Number of points of each island with neighbors in the other.
    pub points: [usize; 2],
    /// Mean coordinates of these points: the ends of a line that shows the bridge.
    pub ends: [Vec<f64>; 2],
}

impl Reliability {
    /// Sets the values of a column, one per point. A value that is not known is NaN.
    pub fn set(&mut self, column: ReliabilityColumn, values: Vec<f64>) {
        self.columns.insert(column, values);
    }

    /// Returns the values of a column if they are known.
    pub fn get(&self, column: ReliabilityColumn) -> Option<&[f64]> {
        self.columns.get(&column).map(Vec::as_slice)
    }

    /// Iterates over the known columns in the order in which they are written.
    pub fn iter(&self) -> impl Iterator<Item = (ReliabilityColumn, &[f64])> {
        self.columns.iter().map(|(&column, values)| (column, values.as_slice()))
    }

    /// Returns whether no column is known.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the values of the given points, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let select = |(&column, values): (&ReliabilityColumn, &Vec<f64>)| {
            (column, rows.iter().map(|&i| values[i]).collect::<Vec<f64>>())
        };
        Self { columns: self.columns.iter().map(select).collect() }
    }

    /// Returns an error if a column does not have one value for each of `rows` points.
    pub fn check(&self, rows: usize) -> Result<()> {
        match self.columns.values().find(|values| values.len() != rows) {
            Some(values) => {
                Err(Error::Shape { what: "values of a reliability column", expected: rows, found: values.len() })
            }
            None => Ok(()),
        }
    }

    /// Returns the pairs of islands that are connected in the data, by their numbers. They follow from the columns
    /// `island` and `bridge_to`, so that a map that was read from a table has them too.
    pub fn bridges(&self, map: Points) -> Vec<IslandBridge> {
        let (Some(islands), Some(targets)) =
            (self.get(ReliabilityColumn::Island), self.get(ReliabilityColumn::BridgeTo))
        else {
            return Vec::new();
        };
        let mut sides: BTreeMap<[u32; 2], [(usize, Vec<f64>); 2]> = BTreeMap::new();
        for (i, (&island, &target)) in islands.iter().zip(targets).enumerate() {
            // Comparisons with NaN are false.
            if !(island >= 1.0 && target >= 1.0 && island != target) {
                continue;
            }
            let pair = [island.min(target) as u32, island.max(target) as u32];
            let empty = || (0, vec![0.0; map.dim()]);
            let (count, sum) =
                &mut sides.entry(pair).or_insert_with(|| [empty(), empty()])[usize::from(island > target)];
            *count += 1;
            sum.iter_mut().zip(map.row(i)).for_each(|(sum, v)| *sum += v);
        }
        let bridge = |(islands, sides): ([u32; 2], [(usize, Vec<f64>); 2])| {
            let points = [sides[0].0, sides[1].0];
            // A bridge that was cut off by a selection of points has no end.
            (points[0] > 0 && points[1] > 0).then(|| IslandBridge {
                islands,
                points,
                ends: sides.map(|(count, sum)| sum.into_iter().map(|v| v / count as f64).collect()),
            })
        };
        sides.into_iter().filter_map(bridge).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_columns() {
        for column in ReliabilityColumn::ALL {
            assert_eq!(ReliabilityColumn::from_name(column.name()), Some(column));
            assert!(column.meaning().ends_with('.'));
        }
        assert_eq!(ReliabilityColumn::from_name("std"), None);
    }

    #[test]
    fn bridges_lead_from_the_points_of_one_island_to_those_of_the_other() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let map = Points::new(&values, 2).unwrap();
        let mut reliability = Reliability::default();
        assert!(reliability.bridges(map).is_empty());
        reliability.set(ReliabilityColumn::Island, vec![1.0, 1.0, 2.0, 2.0, 3.0, 0.0]);
        reliability.set(ReliabilityColumn::BridgeTo, vec![2.0, 2.0, 1.0, 0.0, 1.0, f64::NAN]);
        reliability.check(6).unwrap();
        // Points of island 3 lead to island 1, but none of island 1 to 3.
        let bridge = IslandBridge { islands: [1, 2], points: [2, 1], ends: [vec![1.0, 2.0], vec![4.0, 5.0]] };
        assert_eq!(reliability.bridges(map), [bridge]);
        let some = reliability.select(&[2, 0]);
        assert_eq!(some.get(ReliabilityColumn::Island), Some(&[2.0, 1.0][..]));
        assert!(reliability.check(5).is_err());
    }
}
