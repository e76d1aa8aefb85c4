//! The division of the points into cells by landmarks, level by level. New points follow it as the fitted points did.

use lowland_core::Result;
use lowland_core::archive::Archive;

/// A part of a [`LandmarkTree`]: a node, which is divided further, or a cell of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branch {
    Node(u32),
    Cell(u32),
}

impl Branch {
    /// As one number: twice the index, plus one for a node.
    fn to_code(self) -> u32 {
        match self {
            Branch::Cell(at) => 2 * at,
            Branch::Node(at) => 2 * at + 1,
        }
    }

    fn from_code(code: u32) -> Self {
        if code.is_multiple_of(2) { Branch::Cell(code / 2) } else { Branch::Node(code / 2) }
    }
}

/// The nodes with their landmarks, and the cells with their points. The branch that was added last is the root.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LandmarkTree {
    /// The start of each node in `landmarks` and `branches`, and the end of the last.
    node_starts: Vec<u32>,
    landmarks: Vec<u32>,
    branches: Vec<u32>,
    /// The start of each cell in `members`, and the end of the last.
    cell_starts: Vec<u32>,
    members: Vec<u32>,
}

impl Default for LandmarkTree {
    fn default() -> Self {
        Self {
            node_starts: vec![0],
            landmarks: Vec::new(),
            branches: Vec::new(),
            cell_starts: vec![0],
            members: Vec::new(),
        }
    }
}

impl LandmarkTree {
    /// Adds a cell of points.
    pub(super) fn add_cell(&mut self, members: &[u32]) -> Branch {
        self.members.extend_from_slice(members);
        self.cell_starts.push(self.members.len() as u32);
        Branch::Cell(self.cell_starts.len() as u32 - 2)
    }

    /// Adds a node with its landmarks and what each of them represents.
    pub(super) fn add_node(&mut self, branches: &[(u32, Branch)]) -> Branch {
        self.landmarks.extend(branches.iter().map(|entry| entry.0));
        self.branches.extend(branches.iter().map(|entry| entry.1.to_code()));
        self.node_starts.push(self.landmarks.len() as u32);
        Branch::Node(self.node_starts.len() as u32 - 2)
    }

    /// The points of all cells.
    #[cfg(test)]
    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Descends to the nearest landmark of each level; ties go to the first. Calls `visit` with each of these
    /// landmarks and its distance, and returns the points of the cell at the end.
    pub(super) fn descend(&self, distance: impl Fn(u32) -> f64, mut visit: impl FnMut(u32, f64)) -> &[u32] {
        let mut branch = match self.node_starts.len() {
            1 => Branch::Cell(0),
            nodes => Branch::Node(nodes as u32 - 2),
        };
        loop {
            match branch {
                Branch::Cell(at) => {
                    let range = self.cell_starts[at as usize] as usize..self.cell_starts[at as usize + 1] as usize;
                    return &self.members[range];
                }
                Branch::Node(at) => {
                    let range = self.node_starts[at as usize] as usize..self.node_starts[at as usize + 1] as usize;
                    let distances = range.map(|at| (at, distance(self.landmarks[at])));
                    let (nearest, length) =
                        distances.min_by(|a, b| a.1.total_cmp(&b.1)).expect("a node has at least one landmark");
                    visit(self.landmarks[nearest], length);
                    branch = Branch::from_code(self.branches[nearest]);
                }
            }
        }
    }

    /// Returns the points of every cell with the landmarks that lead to it.
    pub(super) fn cells(&self) -> Vec<(Vec<u32>, &[u32])> {
        let root = match self.node_starts.len() {
            1 => Branch::Cell(0),
            nodes => Branch::Node(nodes as u32 - 2),
        };
        let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), root)]);
        while let Some((path, branch)) = open.pop() {
            match branch {
                Branch::Cell(at) => {
                    let range = self.cell_starts[at as usize] as usize..self.cell_starts[at as usize + 1] as usize;
                    found.push((path, &self.members[range]));
                }
                Branch::Node(at) => {
                    let range = self.node_starts[at as usize] as usize..self.node_starts[at as usize + 1] as usize;
                    open.extend(range.map(|at| {
                        let path = path.iter().copied().chain([self.landmarks[at]]).collect();
                        (path, Branch::from_code(self.branches[at]))
                    }));
                }
            }
        }
        found
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put("lvm/starts", self.cell_starts.as_slice());
        archive.put("lvm/members", self.members.as_slice());
        archive.put("lvm/node_starts", self.node_starts.as_slice());
        archive.put("lvm/node_landmarks", self.landmarks.as_slice());
        archive.put("lvm/node_branches", self.branches.as_slice());
    }

    /// Reads the tree of a model of `points` points.
    pub(super) fn load(archive: &Archive, points: usize) -> Result<Self> {
        let (cell_starts, members) = (archive.u32s("lvm/starts")?.to_vec(), archive.u32s("lvm/members")?.to_vec());
        let is_partition = |starts: &[u32], len: usize| {
            starts.first() == Some(&0) && starts.last() == Some(&(len as u32)) && starts.is_sorted()
        };
        if !is_partition(&cell_starts, members.len()) || members.iter().any(|&i| i as usize >= points) {
            return Err(archive.invalid("its cells do not fit its points".into()));
        }
        let tree = if archive.has("lvm/node_starts") {
            Self {
                node_starts: archive.u32s("lvm/node_starts")?.to_vec(),
                landmarks: archive.u32s("lvm/node_landmarks")?.to_vec(),
                branches: archive.u32s("lvm/node_branches")?.to_vec(),
                cell_starts,
                members,
            }
        } else {
            let landmarks = archive.u32s("lvm/landmarks")?;
            if landmarks.len() != points {
                return Err(archive.invalid("its landmarks do not fit its points".into()));
            }
            Self::from_cells(&cell_starts, &members, landmarks)
        };
        let nodes = tree.node_starts.len().saturating_sub(1);
        let starts_are_valid = is_partition(&tree.node_starts, tree.landmarks.len())
            && tree.node_starts.windows(2).all(|pair| pair[0] < pair[1])
            && tree.branches.len() == tree.landmarks.len()
            && (nodes > 0 || tree.cell_starts.len() > 1)
            && tree.landmarks.iter().all(|&i| (i as usize) < points);
        // A node leads only to cells and to earlier nodes, so every descent ends.
        let leads_down = |(node, code): (usize, u32)| match Branch::from_code(code) {
            Branch::Cell(at) => (at as usize) + 1 < tree.cell_starts.len(),
            Branch::Node(at) => (at as usize) < node,
        };
        let branches_of = |node: usize| {
            let range = tree.node_starts[node] as usize..tree.node_starts[node + 1] as usize;
            tree.branches[range].iter().map(move |&code| (node, code))
        };
        if starts_are_valid && (0..nodes).flat_map(branches_of).all(leads_down) {
            Ok(tree)
        } else {
            Err(archive.invalid("its landmarks do not fit its cells".into()))
        }
    }

    /// The tree of a model that was saved with one landmark per point: one level, which is exact unless the model has
    /// more.
    fn from_cells(cell_starts: &[u32], members: &[u32], landmarks: &[u32]) -> Self {
        let mut tree = Self::default();
        let mut branches = Vec::new();
        let mut in_cell = vec![false; landmarks.len()];
        for range in cell_starts.windows(2) {
            let cell = &members[range[0] as usize..range[1] as usize];
            cell.iter().for_each(|&i| in_cell[i as usize] = true);
            let branch = tree.add_cell(cell);
            // The landmark of most of the points; a landmark may have one of its own.
            let mut found: Vec<u32> = cell.iter().map(|&i| landmarks[i as usize]).collect();
            found.sort_unstable();
            let runs = found.chunk_by(|a, b| a == b);
            branches.extend(runs.max_by_key(|run| run.len()).map(|run| (run[0], branch)));
        }
        let has_landmarks = landmarks.iter().zip(0..).any(|(&landmark, i)| landmark != i);
        // Landmarks that represent only themselves were not saved as cells.
        for i in (0..landmarks.len() as u32).filter(|&i| !in_cell[i as usize]) {
            let branch = tree.add_cell(&[i]);
            branches.push((i, branch));
        }
        if has_landmarks {
            tree.add_node(&branches);
        }
        tree
    }
}
