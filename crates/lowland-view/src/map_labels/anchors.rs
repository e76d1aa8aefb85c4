//! Where the points of a class are densest.

use std::collections::HashMap;

use lowland::Labels;

use crate::palette::is_unknown;
use crate::scene::Rect;

use super::coverage::Coverage;

/// The densest place of a class.
pub(super) struct ClassAnchor {
    pub code: u32,
    /// Number of points of the class.
    pub points: usize,
    pub position: [f32; 2],
    /// Share of the class among the points around the place.
    pub purity: f32,
    /// Some points of the class.
    sample: Vec<[f32; 2]>,
}

/// Cells per side of the grid on which points are counted.
const CELLS: usize = 36;
/// Number of points of a class from which the nearest to its name is chosen.
const SAMPLE: usize = 20_000;

impl ClassAnchor {
    /// Returns the cells of the frame with points of the class, as far as they are in the sample.
    pub fn coverage(&self, frame: Rect, radius: f32) -> Coverage {
        Coverage::new(self.sample.iter(), frame, radius)
    }

    /// Returns the point of the class that is closest to a rectangle.
    pub fn nearest_point(&self, rect: Rect) -> [f32; 2] {
        let distance = |point: &&[f32; 2]| super::distance_to(rect, **point);
        let nearest = self.sample.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.copied().unwrap_or(self.position)
    }
}

/// Returns the classes with names by their number of points, the largest first.
pub(super) fn find_anchors(
    labels: &Labels,
    positions: &[Option<[f32; 2]>],
    frame: Rect,
    most: usize,
    min_share: f64,
) -> Vec<ClassAnchor> {
    let cell = |[x, y]: [f32; 2]| {
        let at = |v: f32, low: f32, side: f32| (((v - low) / side * CELLS as f32).max(0.0) as usize).min(CELLS - 1);
        (at(x, frame.left, frame.width()), at(y, frame.top, frame.height()))
    };
    let mut members: HashMap<u32, Vec<[f32; 2]>> = HashMap::new();
    let mut all = vec![0u32; CELLS * CELLS];
    for (&code, position) in labels.codes.iter().zip(positions) {
        let Some(position) = *position else { continue };
        let (column, row) = cell(position);
        all[row * CELLS + column] += 1;
        if labels.names.get(code as usize).is_some_and(|name| !is_unknown(name)) {
            members.entry(code).or_default().push(position);
        }
    }
    let few = members.len() <= most.min(30);
    let fewest = if few { 1.0 } else { min_share * positions.len() as f64 };
    let mut classes: Vec<(u32, Vec<[f32; 2]>)> =
        members.into_iter().filter(|(_, points)| points.len() as f64 >= fewest).collect();
    classes.sort_by_key(|(code, points)| (std::cmp::Reverse(points.len()), *code));
    classes.truncate(most);
    let around = |counts: &[u32], column: usize, row: usize| -> u32 {
        let near = |at: usize| at.saturating_sub(1)..(at + 2).min(CELLS);
        near(row).flat_map(|row| near(column).map(move |column| counts[row * CELLS + column])).sum()
    };
    let anchor = |(code, points): (u32, Vec<[f32; 2]>)| {
        let mut counts = vec![0u32; CELLS * CELLS];
        points.iter().for_each(|&point| {
            let (column, row) = cell(point);
            counts[row * CELLS + column] += 1;
        });
        let cells = (0..CELLS * CELLS).filter(|&at| counts[at] > 0);
        let densest =
            cells.max_by_key(|&at| (around(&counts, at % CELLS, at / CELLS), std::cmp::Reverse(at))).unwrap_or(0);
        let (column, row) = (densest % CELLS, densest / CELLS);
        let (mut sum, mut near) = ([0f64; 2], 0);
        for &point in &points {
            let (c, r) = cell(point);
            if c.abs_diff(column) <= 1 && r.abs_diff(row) <= 1 {
                sum = [sum[0] + f64::from(point[0]), sum[1] + f64::from(point[1])];
                near += 1;
            }
        }
        let purity = near as f32 / around(&all, column, row).max(1) as f32;
        let position = sum.map(|v| (v / f64::from(near.max(1))) as f32);
        let step = points.len().div_ceil(SAMPLE);
        let sample = points.iter().step_by(step).copied().collect();
        ClassAnchor { code, points: points.len(), position, purity, sample }
    };
    classes.into_iter().map(anchor).collect()
}
