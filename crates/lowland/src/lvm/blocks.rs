//! Dissimilar pairs: groups of points within which every ordered pair is to be kept apart.
//!
//! A group is a cell of points, a set of landmarks, or all points. In it the pair (i, j) has the weight `votes_i votes_j`
//! (Saul 2020, eq 25) and the length scale `Delta_ij = A_i + B_j` (what eq 26 comes to, see `coarse`), so that a group of
//! m points is described by 3m numbers, and by one bit for each ordered pair: pairs adjacent in the graph may not count.

use rayon::prelude::*;

use super::coarse::Group;
use super::kernel::{Frame, Strip, Wanted, mask_offset};
use super::lanes::LANES;
use super::structure::Adjacent;
use crate::linalg::Csr;

/// Pairs of a strip, as far as that leaves few enough strips.
const PAIRS_A_STRIP: usize = 1 << 16;
/// The most strips a group is cut into: each has its own sums.
const MOST_STRIPS: usize = 32;

/// All groups, laid out for the E-step: points padded to whole vectors, bits of the pairs by tiles.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// The points of all groups, one after another, padded.
    members: Vec<u32>,
    reach: Vec<f64>,
    extent: Vec<f64>,
    /// Votes times the root of the weight of dissimilarities; 0 where there is only padding.
    votes: Vec<f64>,
    /// Which of the pairs (i, j) and (j, i) count, for each point i and each vector of eight j from the one that holds i.
    masks: Vec<[u8; 2]>,
    strips: Vec<StripAt>,
    /// Where each point's sums lie among all strips' sums: the points' ranges, then the places.
    place_starts: Vec<u32>,
    places: Vec<Place>,
    /// For each point, `sum_j (D_ij + D_ji)`.
    masses: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    start: usize,
    len: usize,
    padded: usize,
    masks: usize,
}

/// Rows of a block.
#[derive(Debug, Clone, Copy)]
struct StripAt {
    block: usize,
    first: usize,
    last: usize,
}

/// One of a point's places: where the strip's sums begin (for one column), the point's number in it, and its length.
#[derive(Debug, Clone, Copy)]
struct Place {
    strip: u32,
    local: u32,
    padded: u32,
}

impl Blocks {
    /// Of groups over the points of the graph `edges`.
    pub(super) fn new(groups: &[Group], edges: &Csr, adjacent: Adjacent) -> Self {
        let points = edges.rows();
        let mut blocks = Vec::new();
        let (mut members, mut reach, mut extent, mut votes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut masks, mut masses) = (Vec::new(), vec![0.0; points]);
        for group in groups {
            let (start, len) = (members.len(), group.members.len());
            let padded = len.next_multiple_of(LANES);
            blocks.push(Block { start, len, padded, masks: masks.len() });
            let pad = padded - len;
            // Padding repeats a point that exists, without votes.
            members.extend(group.members.iter().copied().chain(std::iter::repeat_n(group.members[0], pad)));
            reach.extend(group.reach.iter().copied().chain(std::iter::repeat_n(1.0, pad)));
            extent.extend(group.extent.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            votes.extend(group.votes.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            add_masks(group, edges, adjacent, &mut masks, &mut masses);
        }
        let strips: Vec<StripAt> = blocks.iter().enumerate().flat_map(|(at, block)| strips_of(at, *block)).collect();
        let (place_starts, places) = index(points, &blocks, &strips, &members);
        Self { blocks, members, reach, extent, votes, masks, strips, place_starts, places, masses }
    }

    /// Multiplies every weight.
    pub(super) fn scale(&mut self, factor: f64) {
        self.votes.iter_mut().for_each(|v| *v *= factor.sqrt());
        self.masses.iter_mut().for_each(|m| *m *= factor);
    }

    /// For each point, `sum_j (D_ij + D_ji)`.
    pub(super) fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Number of unordered pairs the E-step looks at.
    pub(super) fn work(&self) -> usize {
        self.blocks.iter().map(|block| block.len * block.len / 2).sum()
    }

    /// Every ordered pair that counts: `(i, j, D_ij, Delta_ij)`.
    pub(super) fn pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let mut out = Vec::new();
        for block in &self.blocks {
            for (i, j) in (0..block.len).flat_map(|i| (i + 1..block.len).map(move |j| (i, j))) {
                let at = block.masks + mask_offset(i, block.padded / LANES) + j / LANES - i / LANES;
                for (mask, (from, to)) in self.masks[at].into_iter().zip([(i, j), (j, i)]) {
                    let (from, to) = (block.start + from, block.start + to);
                    if mask >> (j % LANES) & 1 == 1 {
                        let weight = self.votes[from] * self.votes[to];
                        out.push((self.members[from], self.members[to], weight, self.reach[from] + self.extent[to]));
                    }
                }
            }
        }
        out
    }

    /// The E-step over all dissimilar pairs: fills `sums`, to be read with [`Blocks::add_up`]. Returns the pairs' share of
    /// the log-likelihood when the push was wanted, 0 otherwise.
    pub(super) fn sums(&self, wanted: Wanted, means: &[f64], variances: &[f64], dim: usize, room: &mut Room) -> f64 {
        let columns = wanted.columns(dim);
        // The points' coordinates, by block and by column, so that pairs are walked along contiguous numbers.
        room.frames.resize(self.members.len() * (dim + 1), 0.0);
        let frames: Vec<&mut [f64]> =
            split(&mut room.frames, self.blocks.iter().map(|block| block.padded * (dim + 1))).collect();
        let frames: Vec<&[f64]> = frames
            .into_par_iter()
            .zip(&self.blocks)
            .with_min_len(16)
            .map(|(frame, block)| {
                let (coordinates, widths) = frame.split_at_mut(block.padded * dim);
                for local in 0..block.padded {
                    let point = self.members[block.start + local] as usize;
                    (0..dim).for_each(|c| coordinates[c * block.padded + local] = means[point * dim + c]);
                    widths[local] = variances[point];
                }
                &*frame
            })
            .collect();
        let lengths = self.strips.iter().map(|strip| self.blocks[strip.block].padded * columns);
        room.sums.resize(lengths.clone().sum(), 0.0);
        let slices: Vec<&mut [f64]> = split(&mut room.sums, lengths).collect();
        let strips = self.strips.par_iter().zip(slices);
        let parts: Vec<f64> = strips
            .map(|(strip, out)| {
                let block = self.blocks[strip.block];
                let range = block.start..block.start + block.padded;
                let (coordinates, widths) = frames[strip.block].split_at(block.padded * dim);
                let frame = Frame {
                    coordinates,
                    widths,
                    reach: &self.reach[range.clone()],
                    extent: &self.extent[range.clone()],
                    votes: &self.votes[range],
                    masks: &self.masks[block.masks..],
                };
                out.fill(0.0);
                Strip { first: strip.first, last: strip.last, dim }.run(wanted, &frame, out)
            })
            .collect();
        parts.iter().sum()
    }

    /// Adds up a point's sums, always in the same order.
    pub(super) fn add_up(&self, point: usize, room: &Room, out: &mut [f64]) {
        let columns = out.len();
        let places = &self.places[self.place_starts[point] as usize..self.place_starts[point + 1] as usize];
        for place in places {
            let start = place.strip as usize * columns + place.local as usize;
            for (c, out) in out.iter_mut().enumerate() {
                *out += room.sums[start + c * place.padded as usize];
            }
        }
    }
}

/// Memory for [`Blocks::sums`], kept between calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    frames: Vec<f64>,
    sums: Vec<f64>,
}

/// The bits of a group's pairs, and what the pairs weigh for each point.
fn add_masks(group: &Group, edges: &Csr, adjacent: Adjacent, masks: &mut Vec<[u8; 2]>, masses: &mut [f64]) {
    let len = group.members.len();
    let tiles = len.div_ceil(LANES);
    let start = masks.len();
    for i in 0..tiles * LANES {
        for tile in i / LANES..tiles {
            let counts = |l: usize| i < len && tile * LANES + l > i && tile * LANES + l < len;
            let bits = (0..LANES).fold(0u8, |bits, l| bits | u8::from(counts(l)) << l);
            masks.push([bits; 2]);
        }
    }
    let total: f64 = group.votes.iter().sum();
    for (&point, votes) in group.members.iter().zip(&group.votes) {
        masses[point as usize] += 2.0 * votes * (total - votes);
    }
    let excludes = match adjacent {
        Adjacent::Directed => group.of_points,
        Adjacent::Either => true,
    };
    if !excludes {
        return;
    }
    let mut local: Vec<(u32, usize)> = group.members.iter().copied().zip(0..).collect();
    local.sort_unstable();
    let mut clear = |from: usize, to: usize| {
        let (i, j) = (from.min(to), from.max(to));
        let bits = &mut masks[start + mask_offset(i, tiles) + j / LANES - i / LANES][usize::from(from > to)];
        let bit = 1u8 << (j % LANES);
        if *bits & bit != 0 {
            *bits &= !bit;
            let weight = group.votes[i] * group.votes[j];
            masses[group.members[i] as usize] -= weight;
            masses[group.members[j] as usize] -= weight;
        }
    };
    for (i, &point) in group.members.iter().enumerate() {
        for other in edges.row(point as usize).0 {
            if let Ok(at) = local.binary_search_by_key(other, |entry| entry.0) {
                clear(i, local[at].1);
                if adjacent == Adjacent::Either {
                    clear(local[at].1, i);
                }
            }
        }
    }
}

/// Rows of a block in strips of about equal work: row i has `len - i` pairs.
fn strips_of(at: usize, block: Block) -> impl Iterator<Item = StripAt> {
    let len = block.len;
    let count = (len * len / 2).div_ceil(PAIRS_A_STRIP).clamp(1, MOST_STRIPS);
    let edge = move |strip: usize| {
        let left = 1.0 - strip as f64 / count as f64;
        len - (len as f64 * left.sqrt()).round() as usize
    };
    (0..count).map(move |strip| StripAt { block: at, first: edge(strip), last: edge(strip + 1) })
}

fn index(points: usize, blocks: &[Block], strips: &[StripAt], members: &[u32]) -> (Vec<u32>, Vec<Place>) {
    let mut starts = vec![0u32; points + 1];
    let walk = |visit: &mut dyn FnMut(u32, Place)| {
        let mut begin = 0;
        for strip in strips {
            let block = blocks[strip.block];
            for local in 0..block.len {
                let place = Place { strip: begin as u32, local: local as u32, padded: block.padded as u32 };
                visit(members[block.start + local], place);
            }
            begin += block.padded;
        }
    };
    walk(&mut |point, _| starts[point as usize + 1] += 1);
    (0..points).for_each(|i| starts[i + 1] += starts[i]);
    let mut next = starts.clone();
    let mut places = vec![Place { strip: 0, local: 0, padded: 0 }; starts[points] as usize];
    walk(&mut |point, place| {
        places[next[point as usize] as usize] = place;
        next[point as usize] += 1;
    });
    (starts, places)
}

/// A slice cut into pieces of the given lengths.
fn split<'a>(mut rest: &'a mut [f64], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &'a mut [f64]> {
    lengths.map(move |length| {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(length);
        rest = tail;
        head
    })
}
