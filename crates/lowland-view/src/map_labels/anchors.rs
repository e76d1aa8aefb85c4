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
    let mut members: HashMap<u32, Vec<[f32; 2]>> = HashMap::new();
    let mut all = vec![0u32; CELLS * CELLS];
    for (&code, position) in labels.codes.iter().zip(positions) {
        let Some(position) = *position else { continue };
        all[cell(position, frame)] += 1;
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
    let anchor = |(code, points): (u32, Vec<[f32; 2]>)| {
        let Densest { position, cell, near } = densest_place(&points, frame);
        let purity = near as f32 / around(&all, cell).max(1) as f32;
        let step = points.len().div_ceil(SAMPLE);
        let sample = points.iter().step_by(step).copied().collect();
        ClassAnchor { code, points: points.len(), position, purity, sample }
    };
    classes.into_iter().map(anchor).collect()
}

/// Where points are densest.
pub(crate) struct Densest {
    /// Mean of the points there.
    pub position: [f32; 2],
    /// The cell, and the number of points in it and the cells around it.
    cell: usize,
    near: u32,
}

/// Finds the cell that has most points in it and around it.
pub(crate) fn densest_place(points: &[[f32; 2]], frame: Rect) -> Densest {
    let mut counts = vec![0u32; CELLS * CELLS];
    points.iter().for_each(|&point| counts[cell(point, frame)] += 1);
    let occupied = (0..CELLS * CELLS).filter(|&at| counts[at] > 0);
    let densest = occupied.max_by_key(|&at| (around(&counts, at), std::cmp::Reverse(at))).unwrap_or(0);
    let is_near = |&&point: &&[f32; 2]| {
        let at = cell(point, frame);
        (at % CELLS).abs_diff(densest % CELLS) <= 1 && (at / CELLS).abs_diff(densest / CELLS) <= 1
    };
    let (mut sum, mut near) = ([0f64; 2], 0);
    for point in points.iter().filter(is_near) {
        sum = [sum[0] + f64::from(point[0]), sum[1] + f64::from(point[1])];
        near += 1;
    }
    Densest { position: sum.map(|v| (v / f64::from(near.max(1))) as f32), cell: densest, near }
}

/// Returns the index of the cell of a position.
fn cell([x, y]: [f32; 2], frame: Rect) -> usize {
    let at = |v: f32, low: f32, side: f32| (((v - low) / side * CELLS as f32).max(0.0) as usize).min(CELLS - 1);
    at(y, frame.top, frame.height()) * CELLS + at(x, frame.left, frame.width())
}

/// Returns the number of points in a cell and those around it.
fn around(counts: &[u32], cell: usize) -> u32 {
    let near = |at: usize| at.saturating_sub(1)..(at + 2).min(CELLS);
    near(cell / CELLS).flat_map(|row| near(cell % CELLS).map(move |column| counts[row * CELLS + column])).sum()
}
