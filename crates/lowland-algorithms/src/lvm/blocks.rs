//! Dissimilar pairs: groups of points within which every ordered pair is to be kept apart.
//!
//! A group is a cell of points, a set of landmarks, or all points. In it the pair (i, j) has the weight `votes_i
//! votes_j` (Saul 2020, eq 25) and the length scale `Delta_ij = A_i + B_j` (what eq 26 comes to, see `coarse`), so that
//! a group of m points is described by 3m numbers: A, B and the votes. Pairs
//! that are adjacent in the graph need not be dissimilar; those are listed.

use rayon::prelude::*;

use super::coarse::Group;
use super::kernel::{Frame, Skips, Wanted, padded, rows};
use super::structure::Adjacent;
use lowland_core::inverse;
use lowland_core::simd::FastFloat;
use lowland_linalg::Csr;

/// Pairs of a strip, as far as that leaves few enough strips.
const PAIRS_A_STRIP: usize = 1 << 16;
/// The most strips a group is cut into: each has its own sums.
const MOST_STRIPS: usize = 32;

/// All groups, laid out for the E-step: points padded to whole vectors.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// The points of all groups, one after another, padded.
    members: Vec<u32>,
    reach: Vec<f64>,
    extent: Vec<f64>,
    /// Votes times the root of the weight of dissimilarities; 0 where there is only padding.
    votes: Vec<f64>,
    /// Of each padded point.
    skips: Skips,
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
    /// Whether all its points have the same votes and no extent.
    even: bool,
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
        let (mut skips, mut masses) = (Skips::default(), vec![0.0; points]);
        for group in groups {
            let (start, len) = (members.len(), group.members.len());
            let padded = padded(len);
            let alike = |values: &[f64], value: f64| values.iter().all(|v| *v == value);
            let even = alike(&group.votes, group.votes[0]) && alike(&group.extent, 0.0);
            blocks.push(Block { start, len, padded, even });
            let pad = padded - len;
            // Padding repeats a point that exists, without votes.
            members.extend(group.members.iter().copied().chain(std::iter::repeat_n(group.members[0], pad)));
            reach.extend(group.reach.iter().copied().chain(std::iter::repeat_n(1.0, pad)));
            extent.extend(group.extent.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            votes.extend(group.votes.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            let total: f64 = group.votes.iter().sum();
            for (&point, votes) in group.members.iter().zip(&group.votes) {
                masses[point as usize] += 2.0 * votes * (total - votes);
            }
            let mut pairs = skipped(group, edges, adjacent).into_iter().peekable();
            for i in 0..padded {
                while let Some((_, code)) = pairs.next_if(|pair| pair.0 as usize == i) {
                    let j = code as usize / 2;
                    for point in [group.members[i], group.members[j]] {
                        masses[point as usize] -= group.votes[i] * group.votes[j];
                    }
                    skips.add(i, j, code as usize % 2);
                }
                skips.end_point();
            }
        }
        let strips: Vec<StripAt> = blocks.iter().enumerate().flat_map(|(at, block)| strips_of(at, *block)).collect();
        let (place_starts, places) = index(points, &blocks, &strips, &members);
        Self { blocks, members, reach, extent, votes, skips, strips, place_starts, places, masses }
    }

    /// Multiplies every weight.
    pub(super) fn scale(&mut self, factor: f64) {
        self.votes.iter_mut().for_each(|v| *v *= factor.sqrt());
        self.masses.iter_mut().for_each(|m| *m *= factor);
    }

    /// Numbers the points anew; `moved` says which each new one was.
    pub(super) fn renumber(&mut self, moved: &[u32]) {
        let place = inverse(moved);
        self.members.iter_mut().for_each(|member| *member = place[*member as usize]);
        (self.place_starts, self.places) = index(moved.len(), &self.blocks, &self.strips, &self.members);
        self.masses = moved.iter().map(|&row| self.masses[row as usize]).collect();
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
            for i in 0..block.len {
                for (j, back) in (i + 1..block.len).flat_map(|j| [(j, 0), (j, 1)]) {
                    if !self.skips.has(block.start + i, i, j, back) {
                        let (from, to) = if back == 0 { (i, j) } else { (j, i) };
                        let (from, to) = (block.start + from, block.start + to);
                        let weight = self.votes[from] * self.votes[to];
                        out.push((self.members[from], self.members[to], weight, self.reach[from] + self.extent[to]));
                    }
                }
            }
        }
        out
    }

    /// The E-step over all dissimilar pairs, in the precision of `T`: fills the room, to be read with
    /// [`Blocks::add_up`]. Returns the pairs' share of the log-likelihood when the push was wanted, 0 otherwise.
    pub(super) fn sums<T: FastFloat>(
        &self,
        wanted: Wanted,
        means: &[f64],
        variances: &[f64],
        dim: usize,
        room: &mut Room<T>,
    ) -> f64 {
        let columns = wanted.columns(dim);
        // The points' numbers, by block and by column, so that pairs are walked along contiguous memory.
        let kinds = dim + 4;
        room.frames.resize(self.members.len() * kinds, T::default());
        let stale = std::mem::replace(&mut room.stale, Stale::Variances);
        let frames: Vec<&mut [T]> =
            split(&mut room.frames, self.blocks.iter().map(|block| block.padded * kinds)).collect();
        let frames: Vec<&[T]> = frames
            .into_par_iter()
            .zip(&self.blocks)
            .with_min_len(16)
            .map(|(frame, block)| {
                self.fill(*block, means, variances, dim, stale, frame);
                &*frame
            })
            .collect();
        let lengths = self.strips.iter().map(|strip| self.blocks[strip.block].padded * columns);
        room.sums.resize(lengths.clone().sum(), T::default());
        let slices: Vec<&mut [T]> = split(&mut room.sums, lengths).collect();
        let parts: Vec<f64> = self
            .strips
            .par_iter()
            .zip(slices)
            .map(|(strip, out)| {
                let block = self.blocks[strip.block];
                let (coordinates, rest) = frames[strip.block].split_at(block.padded * dim);
                let mut kinds = rest.chunks_exact(block.padded);
                let mut next = || kinds.next().expect("one for each kind");
                let frame = Frame {
                    coordinates,
                    widths: next(),
                    reach: next(),
                    extent: next(),
                    votes: next(),
                    skips: &self.skips.starts[block.start..=block.start + block.padded],
                    skipped: &self.skips.tiles,
                    len: block.len,
                    even: block.even,
                    dim,
                };
                out.fill(T::default());
                rows(wanted, &frame, strip.first, strip.last, out)
            })
            .collect();
        parts.iter().sum()
    }

    /// A block's numbers: coordinates (from its first point on, which costs short numbers no precision), variances, A,
    /// B, votes.
    fn fill<T: FastFloat>(
        &self,
        block: Block,
        means: &[f64],
        variances: &[f64],
        dim: usize,
        stale: Stale,
        frame: &mut [T],
    ) {
        let padded = block.padded;
        let members = &self.members[block.start..block.start + padded];
        let (coordinates, rest) = frame.split_at_mut(padded * dim);
        let (widths, constants) = rest.split_at_mut(padded);
        if stale >= Stale::Means {
            let origin = &means[members[0] as usize * dim..][..dim];
            for (local, &point) in members.iter().enumerate() {
                let mean = &means[point as usize * dim..][..dim];
                (0..dim).for_each(|c| coordinates[c * padded + local] = T::from_f64(mean[c] - origin[c]));
            }
        }
        widths.iter_mut().zip(members).for_each(|(width, &point)| *width = T::from_f64(variances[point as usize]));
        if stale >= Stale::All {
            for (out, values) in constants.chunks_exact_mut(padded).zip([&self.reach, &self.extent, &self.votes]) {
                out.iter_mut().zip(&values[block.start..]).for_each(|(out, value)| *out = T::from_f64(*value));
            }
        }
    }

    /// Adds up a point's sums, always in the same order.
    pub(super) fn add_up<T: FastFloat>(&self, point: usize, room: &Room<T>, out: &mut [f64]) {
        let columns = out.len();
        let places = &self.places[self.place_starts[point] as usize..self.place_starts[point + 1] as usize];
        for place in places {
            let start = place.strip as usize * columns + place.local as usize;
            for (c, out) in out.iter_mut().enumerate() {
                *out += room.sums[start + c * place.padded as usize].to_f64();
            }
        }
    }
}

/// Memory for [`Blocks::sums`], kept between calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Room<T> {
    frames: Vec<T>,
    sums: Vec<T>,
    stale: Stale,
}

/// What has changed since the frames were filled; what comes later includes what comes before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stale {
    Variances,
    Means,
    #[default]
    All,
}

impl<T> Room<T> {
    /// The means are no longer those of the last sums.
    pub(super) fn means_moved(&mut self) {
        self.stale = self.stale.max(Stale::Means);
    }
}

/// The ordered pairs of a group that do not count, by their earlier point: twice the number of the later point, plus
/// one for the pair from the later to the earlier. Sorted.
fn skipped(group: &Group, edges: &Csr, adjacent: Adjacent) -> Vec<(u32, u32)> {
    if adjacent == Adjacent::Directed && !group.of_points {
        return Vec::new();
    }
    let mut local: Vec<(u32, u32)> = group.members.iter().copied().zip(0..).collect();
    local.sort_unstable();
    let mut out = Vec::new();
    for (from, &point) in (0..).zip(&group.members) {
        for other in edges.row(point as usize).0 {
            if let Ok(at) = local.binary_search_by_key(other, |entry| entry.0) {
                let to = local[at].1;
                let (i, j) = (from.min(to), from.max(to));
                match adjacent {
                    Adjacent::Directed => out.push((i, 2 * j + u32::from(from > to))),
                    Adjacent::Either => out.extend([(i, 2 * j), (i, 2 * j + 1)]),
                }
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    out
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
fn split<T>(mut rest: &mut [T], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(length);
        rest = tail;
        head
    })
}
