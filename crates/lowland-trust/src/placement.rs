//! `jump` and `fragile`: how firmly the loss holds each point at its place (Liu, Ma & Zhong 2025).

use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingLoss};
use lowland_algorithms::point_loss::{PointLoss, RadialSum, nearest_of};
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Dense, Points, Result};
use lowland_neighbors::NeighborGraph;

use super::directions::{LOCAL_ROWS, LocalDirections};
use super::field::GridField;
use super::loss::MapLoss;
use super::map_scale::fit_scale;
use super::point_search::PlaceSearch;

/// The scores of placement.
pub(crate) struct Placement {
    /// How far the point moves when its row is moved, in units of the map's spacing.
    pub jump: Vec<f64>,
    /// Inverse of the smallest curvature of the point's loss, relative to the median.
    pub fragile: Vec<f64>,
    pub loss: LossUsed,
}

/// The loss that `jump` and `fragile` refer to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossUsed {
    /// Name of the method whose loss it is.
    pub method: &'static str,
    /// Whether it is the loss of the method that made the map.
    pub is_own: bool,
    /// Factor by which the map was multiplied, so that the loss describes it best; one for the method's own loss.
    pub scale: f64,
    /// Perplexity of the affinities, if it has any.
    pub perplexity: Option<f64>,
}

/// Length of the move, in units of the distance to the last of [`LOCAL_ROWS`].
const MOVE: f64 = 1.0;
/// Neighbors at whose places a search begins.
const STARTS: usize = 3;
/// Curvatures below this share of the median, also negative ones, give the largest value of `fragile`.
const MIN_CURVATURE: f64 = 1e-3;
/// Perplexity of the loss of maps of unknown origin.
const PERPLEXITY: f64 = 30.0;

/// The rows of a map with their neighbors.
pub(crate) struct MapRows<'a> {
    pub data: &'a Dense,
    pub map: Points<'a>,
    pub graph: &'a NeighborGraph,
    /// Number of neighbors of each row, at least [`LOCAL_ROWS`].
    pub degree: usize,
    /// Distance between neighboring points of the map.
    pub spacing: f64,
}

/// Computes the scores of a map in two dimensions of dense rows with Euclidean distances, by the loss of the method that made it or
/// else that of t-SNE.
pub(crate) fn place_points(rows: &MapRows, own: Option<&MapLoss>, progress: &mut Progress) -> Result<Placement> {
    let own_loss =
        |method: &'static str, perplexity: Option<f64>| LossUsed { method, is_own: true, scale: 1.0, perplexity };
    match own {
        Some(MapLoss::NeighborEmbedding(loss)) => {
            let method = match loss.energy {
                Energy::Elastic { .. } => "ee",
                Energy::SymmetricSne => "ssne",
                Energy::StudentSne { .. } => "tsne",
            };
            let perplexity = loss.perplexities.iter().copied().fold(1.0, f64::max);
            place_by(loss, rows, own_loss(method, Some(perplexity)), progress)
        }
        Some(MapLoss::Umap(loss)) => place_by(loss, rows, own_loss("umap", None), progress),
        Some(MapLoss::Lvm(loss)) => place_by(loss, rows, own_loss("lvm", None), progress),
        Some(MapLoss::MapIt(loss)) => place_by(loss, rows, own_loss("mapit", Some(loss.perplexity)), progress),
        None => {
            let perplexity = (rows.degree as f64 / 3.0).min(PERPLEXITY);
            let found = fit_scale(rows.map, rows.graph, rows.degree, perplexity, rows.spacing);
            let scaled: Vec<f64> = rows.map.values().iter().map(|v| v * found.factor).collect();
            let loss = NeighborEmbeddingLoss {
                map: Points::new(&scaled, 2)?,
                energy: Energy::StudentSne { dof: 1.0 },
                repulsion: 1.0 / found.kernel_mean,
                perplexities: &[perplexity],
            };
            let (method, perplexity) = ("tsne", Some(perplexity));
            place_by(&loss, rows, LossUsed { method, is_own: false, scale: found.factor, perplexity }, progress)
        }
    }
}

/// Buffers of a thread.
#[derive(Default)]
struct PlaceScratch<R> {
    row: R,
    directions: LocalDirections,
    lengths: Vec<f64>,
    moved: Vec<f64>,
    nearest: Vec<usize>,
}

/// Rows that a thread places with the same buffers.
const BATCH: usize = 64;

fn place_by<L: PointLoss>(loss: &L, rows: &MapRows, used: LossUsed, progress: &mut Progress) -> Result<Placement> {
    let n = rows.map.rows();
    let field = loss.field().map(|RadialSum(radial)| Ok((radial, GridField::new(loss.map(), radial)?))).transpose()?;
    progress(0.1)?;
    let score = |scratch: &mut PlaceScratch<L::Row>, i: usize| {
        let (neighbors, distances) = rows.graph.row(i);
        let neighbors = &neighbors[..rows.degree];
        scratch.lengths.clear();
        scratch.lengths.extend(distances[..rows.degree].iter().map(|&d| f64::from(d)));
        loss.set_row(&mut scratch.row, i, neighbors, &scratch.lengths);
        let own = [loss.map().row(i)[0], loss.map().row(i)[1]];
        let search = PlaceSearch::new(loss, field.as_ref(), own);
        let curvature = search.at(&scratch.row, own).curvatures().0[1];
        let place_of = |at: usize| {
            let other = loss.map().row(neighbors[at] as usize);
            [other[0], other[1]]
        };
        let home = search.best(&scratch.row, own, (0..STARTS).map(place_of));
        let distance = |place: [f64; 2]| (place[0] - own[0]).hypot(place[1] - own[1]);
        let mut jump = distance(home);
        let step = MOVE * scratch.lengths[LOCAL_ROWS - 1];
        for along in scratch.directions.find(rows.data, i, neighbors) {
            for sign in [step, -step] {
                scratch.moved.clear();
                // |x_j - x - s e|^2 = |x_j - x|^2 - 2 s e.(x_j - x) + s^2.
                let square =
                    |(length, along): (&f64, &f64)| (length * length + sign * (sign - 2.0 * along)).max(0.0).sqrt();
                scratch.moved.extend(scratch.lengths.iter().zip(along).map(square));
                loss.move_row(&mut scratch.row, &scratch.moved);
                nearest_of(&scratch.moved, STARTS, &mut scratch.nearest);
                let place = search.best(&scratch.row, home, scratch.nearest.iter().map(|&at| place_of(at)));
                jump = jump.max(distance(place));
            }
        }
        (jump / (used.scale * rows.spacing), curvature)
    };
    let batches = in_batches(n.div_ceil(BATCH), &mut |done| progress(0.1 + 0.9 * done), |batch| {
        let mut scratch = PlaceScratch::default();
        (batch * BATCH..n.min((batch + 1) * BATCH)).map(|i| score(&mut scratch, i)).collect::<Vec<_>>()
    })?;
    let (jump, curvatures): (Vec<f64>, Vec<f64>) = batches.into_iter().flatten().unzip();
    let mut sorted = curvatures.clone();
    let median = sorted.select_nth_unstable_by(n / 2, f64::total_cmp).1.max(f64::MIN_POSITIVE);
    let fragile = curvatures.iter().map(|curvature| 1.0 / (curvature / median).max(MIN_CURVATURE)).collect();
    Ok(Placement { jump, fragile, loss: used })
}

/// Returns why the scores cannot be computed, if they cannot.
pub(crate) fn unsupported(data: &Data, map: Points, euclidean: bool, degree: usize) -> Option<String> {
    match data {
        _ if map.dim() != 2 => {
            Some(format!("the loss is evaluated on maps of 2 dimensions, and this one has {}", map.dim()))
        }
        Data::Dense(_) if !euclidean => {
            Some("rows are moved along their differences, which needs the Euclidean metric".into())
        }
        Data::Dense(_) if degree < 2 * LOCAL_ROWS => {
            Some(format!("needs {} neighbors of each row, and there are {degree}", 2 * LOCAL_ROWS))
        }
        Data::Dense(_) => None,
        other => {
            Some(format!("rows are moved along their differences, which needs dense rows; these are {}", other.kind()))
        }
    }
}
