//! The fitted state of the model: everything that transforming new points requires.

use super::training_pairs::TrainingPairs;
use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_neighbors::NeighborGraph;

/// The state that the transform of new points and its inverse use. Lengths are in units of the graph's median edge.
#[derive(Debug, Clone)]
pub struct LvmState {
    pub(super) dim: usize,
    /// The median edge, in the units of the data.
    pub(super) unit: f64,
    /// `mu_i`, row-major.
    pub(super) means: Vec<f64>,
    /// `sigma_i^2`.
    pub(super) variances: Vec<f64>,
    /// `Delta_i`.
    pub(super) row_scales: Vec<f64>,
    /// The distance from each point to its last neighbor in the graph, in the units of the data: closer points are
    /// its mutual neighbors.
    pub(super) radius: Vec<f64>,
    /// The start of each cell in `cell_members`, and the end of the last.
    cell_starts: Vec<u32>,
    cell_members: Vec<u32>,
    /// The cell of each point, or the number of cells if it has none.
    cell_of: Vec<u32>,
    /// The landmark of each point.
    pub(super) landmarks: Vec<u32>,
    /// The weight of the similarity between a point and its landmark.
    pub(super) link_weight: f64,
    /// The weight of a dissimilar pair of points.
    pub(super) dissimilar_weight: f64,
}

impl LvmState {
    /// Takes over the state that [`super::LvmEm`] has reached. `graph` holds the neighbors that the pairs were built
    /// from.
    pub fn new(pairs: &TrainingPairs, means: &[f64], variances: &[f64], graph: &NeighborGraph) -> Self {
        let n = pairs.points();
        let cells = pairs.cells();
        let radius = (0..n).map(|i| graph.row(i).1.last().map_or(0.0, |&d| f64::from(d))).collect();
        let mut out = Self {
            dim: means.len() / n,
            unit: pairs.unit(),
            means: means.to_vec(),
            variances: variances.to_vec(),
            row_scales: pairs.row_scales(),
            radius,
            cell_starts: cells.starts.clone(),
            cell_members: cells.members.clone(),
            cell_of: Vec::new(),
            landmarks: cells.landmarks.clone(),
            link_weight: cells.link_weight,
            dissimilar_weight: cells.dissimilar_weight,
        };
        out.assign_cells();
        out
    }

    /// Fills `cell_of` from the members of the cells.
    fn assign_cells(&mut self) {
        let count = self.cell_starts.len() - 1;
        self.cell_of = vec![count as u32; self.variances.len()];
        for cell in 0..count {
            let members = &self.cell_members[self.cell_starts[cell] as usize..self.cell_starts[cell + 1] as usize];
            members.iter().for_each(|&i| self.cell_of[i as usize] = cell as u32);
        }
    }

    /// Returns the members of the cell of a point; empty if it has none.
    pub(super) fn cell_members(&self, point: usize) -> &[u32] {
        let cell = self.cell_of[point] as usize;
        match self.cell_starts.get(cell + 1) {
            Some(&end) => &self.cell_members[self.cell_starts[cell] as usize..end as usize],
            None => &[],
        }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.variances.len()
    }

    /// The standard deviation of each point, in the units of the data.
    pub fn std(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt() * self.unit).collect()
    }

    /// Writes the state under `lvm/`.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("lvm/numbers", vec![self.unit, self.link_weight, self.dissimilar_weight]);
        archive.put("lvm/means", self.means.as_slice());
        archive.put("lvm/variances", self.variances.as_slice());
        archive.put("lvm/reach", self.row_scales.as_slice());
        archive.put("lvm/radius", self.radius.as_slice());
        archive.put("lvm/starts", self.cell_starts.as_slice());
        archive.put("lvm/members", self.cell_members.as_slice());
        archive.put("lvm/landmarks", self.landmarks.as_slice());
    }

    /// Reads the state of a model of `dim` dimensions.
    pub fn load(archive: &Archive, dim: usize) -> Result<Self> {
        let bad = |reason: &str| archive.invalid(reason.into());
        let [unit, link_weight, dissimilar_weight] = archive.finite("lvm/numbers")? else {
            return Err(bad("'lvm/numbers' should hold three numbers"));
        };
        let non_negative = |name: &str| -> Result<Vec<f64>> {
            let values = archive.finite(name)?;
            if values.iter().any(|v| *v < 0.0) { Err(bad("it holds a negative length")) } else { Ok(values.to_vec()) }
        };
        let mut out = Self {
            dim,
            unit: *unit,
            means: archive.finite("lvm/means")?.to_vec(),
            variances: non_negative("lvm/variances")?,
            row_scales: non_negative("lvm/reach")?,
            radius: non_negative("lvm/radius")?,
            cell_starts: archive.u32s("lvm/starts")?.to_vec(),
            cell_members: archive.u32s("lvm/members")?.to_vec(),
            cell_of: Vec::new(),
            landmarks: archive.u32s("lvm/landmarks")?.to_vec(),
            link_weight: *link_weight,
            dissimilar_weight: *dissimilar_weight,
        };
        let n = out.variances.len();
        let consistent = n > 0
            && Some(out.means.len()) == n.checked_mul(dim)
            && [out.row_scales.len(), out.radius.len(), out.landmarks.len()] == [n; 3]
            && out.cell_members.iter().chain(&out.landmarks).all(|&i| (i as usize) < n)
            && out.cell_starts.first() == Some(&0)
            && out.cell_starts.last() == Some(&(out.cell_members.len() as u32))
            && out.cell_starts.is_sorted();
        if !(consistent && *unit > 0.0 && *link_weight >= 0.0 && *dissimilar_weight >= 0.0) {
            return Err(bad("the parts of the model differ in size"));
        }
        out.assign_cells();
        Ok(out)
    }
}
