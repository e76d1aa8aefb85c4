//! How the groups of dissimilar points are divided among tasks, and where the tasks store their sums.

/// Target number of pairs per strip, unless that would give too many strips.
const PAIRS_PER_STRIP: usize = 1 << 16;
/// Maximum number of strips per group; every strip has sums of its own.
const MAX_STRIPS: usize = 32;

/// A group in the padded arrays of all groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairBlock {
    pub start: usize,
    pub len: usize,
    pub padded_len: usize,
    /// Whether all points have the same weight and a column scale of zero.
    pub uniform: bool,
}

/// A range of rows of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowStrip {
    pub block: usize,
    pub first: usize,
    pub last: usize,
}

/// Where one sum of a point is stored: the start of the strip's sums (for one column), the index of the point in the
/// strip, and the length of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct SumLocation {
    pub strip: u32,
    pub local: u32,
    pub padded_len: u32,
}

/// Splits the rows of a block into strips of about equal work: row i has `len - i` pairs.
pub(super) fn split_into_strips(at: usize, block: PairBlock) -> impl Iterator<Item = RowStrip> {
    let len = block.len;
    let count = (len * len / 2).div_ceil(PAIRS_PER_STRIP).clamp(1, MAX_STRIPS);
    let edge = move |strip: usize| {
        let left = 1.0 - strip as f64 / count as f64;
        len - (len as f64 * left.sqrt()).round() as usize
    };
    (0..count).map(move |strip| RowStrip { block: at, first: edge(strip), last: edge(strip + 1) })
}

/// Returns, for each point, the range of its locations, and the locations of all points.
pub(super) fn index_locations(
    points: usize,
    blocks: &[PairBlock],
    strips: &[RowStrip],
    members: &[u32],
) -> (Vec<u32>, Vec<SumLocation>) {
    let mut starts = vec![0u32; points + 1];
    let walk = |visit: &mut dyn FnMut(u32, SumLocation)| {
        let mut begin = 0;
        for strip in strips {
            let block = blocks[strip.block];
            for local in 0..block.len {
                let location =
                    SumLocation { strip: begin as u32, local: local as u32, padded_len: block.padded_len as u32 };
                visit(members[block.start + local], location);
            }
            begin += block.padded_len;
        }
    };
    walk(&mut |point, _| starts[point as usize + 1] += 1);
    (0..points).for_each(|i| starts[i + 1] += starts[i]);
    let mut next = starts.clone();
    let mut locations = vec![SumLocation { strip: 0, local: 0, padded_len: 0 }; starts[points] as usize];
    walk(&mut |point, location| {
        locations[next[point as usize] as usize] = location;
        next[point as usize] += 1;
    });
    (starts, locations)
}
