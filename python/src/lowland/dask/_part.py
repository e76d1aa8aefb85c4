"""What one worker does in a fit to all rows: an actor that holds the points of a part."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

from .. import _input, _lowland
from ._neighbors import PartGraph

#: Names of the arrays of a state; MAP IT has no gains.
_STATE = ("positions", "update", "gains")

#: Affinities from the rows of a part to the rows of another: numbers of both, and half of the values.
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]


def edges_by_owner(graph: PartGraph, method: tuple[Any, ...], parts: int) -> list[Edges]:
    """Return the affinities of the rows of a part, divided by the parts where the neighbors live.

    The joint affinity of two rows is the mean of both, divided by the number of rows: here is the half that a row contributes.
    """
    made = _lowland.DividedMethod(*method)
    values = made.row_affinities(_input.aligned(graph.distances)).ravel() * (0.5 / method[2])
    rows, columns = np.repeat(graph.ids, graph.indices.shape[1]), graph.indices.ravel()
    owners = graph.owners.ravel()
    return [(rows[at], columns[at], values[at]) for at in (owners == part for part in range(parts))]


class PartInput:
    """What a part is made of, as arrays that can be written to a file."""

    def __init__(self, index: int, method: tuple[Any, ...], ids: np.ndarray, start: np.ndarray, own: list[Edges], incoming: list[Edges]) -> None:
        self.index, self.method, self.ids, self.start = index, method, ids, start
        foreign: list[np.ndarray] = []
        for part, (outgoing, received) in enumerate(zip(own, incoming)):
            ends = np.concatenate([outgoing[1], received[0]]) if part != index else np.empty(0, dtype=np.int64)
            foreign.append(np.unique(ends))
        #: Numbers of the rows of other parts that have affinities with these, by part.
        self.copies = foreign
        rows, columns, values = [], [], []
        offset = len(ids)
        for part, (outgoing, received) in enumerate(zip(own, incoming)):
            for start_ids, end_ids, halves in (outgoing, (received[1], received[0], received[2])):
                rows.append(np.searchsorted(ids, start_ids))
                if part == index:
                    columns.append(np.searchsorted(ids, end_ids))
                else:
                    columns.append(offset + np.searchsorted(foreign[part], end_ids))
                values.append(halves)
            offset += 0 if part == index else len(foreign[part])
        self.triplets = (
            np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64), np.concatenate(values)
        )  # fmt: skip

    def save(self, folder: str) -> None:
        arrays = {f"copies_{part}": ids for part, ids in enumerate(self.copies)}
        rows, columns, values = self.triplets
        write_arrays(
            os.path.join(folder, f"part-{self.index}.npz"),
            ids=self.ids, start=self.start, rows=rows, columns=columns, values=values, **arrays,
        )  # fmt: skip

    @classmethod
    def load(cls, folder: str, index: int, method: tuple[Any, ...], parts: int) -> PartInput:
        found = cls.__new__(cls)
        with np.load(os.path.join(folder, f"part-{index}.npz")) as arrays:
            found.index, found.method, found.ids, found.start = index, method, arrays["ids"], arrays["start"]
            found.copies = [arrays[f"copies_{part}"] for part in range(parts)]
            found.triplets = (arrays["rows"], arrays["columns"], arrays["values"])
        return found


class PartError(RuntimeError):
    """A computation of a part that is not possible; no worker was lost."""


@contextlib.contextmanager
def computing() -> Iterator[None]:
    """Turn errors of the Rust module into :class:`PartError`."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise PartError(str(error)) from error


def write_arrays(path: str, **arrays: np.ndarray) -> None:
    """Write arrays to a file that appears when it is complete."""
    write_file(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def write_file(path: str, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file that appears when it is complete."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        if isinstance(error, OSError):
            # An error in the middle of a file does not have its name.
            raise OSError(error.errno, error.strerror, path) from error
        raise


class Part:
    """The points of a part, on the worker where it was created.

    Methods that are coroutines exchange arrays with the other parts, from worker to worker; the others compute.
    """

    def __init__(self, given: PartInput) -> None:
        self.index, self.ids = given.index, given.ids
        self.copies = given.copies
        # Those of the part itself are empty.
        numbers = np.concatenate([given.ids, *given.copies]).astype(np.int64)
        method = _lowland.DividedMethod(*given.method)
        rows, columns, values = (_input.aligned(array) for array in given.triplets)
        self.part = _lowland.EmbeddingPart(method, _input.aligned(given.start), numbers, (rows, columns, values))
        #: Whether forces depend on sums over the neighborhoods of other rows, which change with the map.
        self.shares_marginals = method.shares_marginals
        self.peers: list[Any] = []
        self.wanted: dict[int, np.ndarray] = {}
        self.slabs: list[np.ndarray] = []
        self.slab: np.ndarray | None = None
        self.outgoing: dict[int, np.ndarray] = {}
        self.outgoing_marginals: dict[int, np.ndarray] = {}
        #: Bytes that this part has received from others.
        self.bytes_received = 0

    async def connect(self, peers: list[Any]) -> int:
        """Tell the other parts which of their rows this one has copies of; return the number of copies."""
        self.peers = peers
        marginals = []
        for part, ids in enumerate(self.copies):
            if part != self.index and len(ids):
                marginals.append(await peers[part].want(self.index, ids))
        if self.shares_marginals:
            self.part.set_marginals(np.concatenate(marginals) if marginals else np.empty(0))
        return sum(len(ids) for ids in self.copies)

    async def want(self, by: int, ids: np.ndarray) -> np.ndarray:
        """Take note of the rows that another part has copies of; return their marginals in the data."""
        self.wanted[by] = np.searchsorted(self.ids, ids).astype(np.uint32)
        return self.part.marginals_of(self.wanted[by])

    def size(self) -> int:
        return len(self.ids)

    def sums_and_bounds(self) -> tuple[list[float], list[list[float]]]:
        sums, bounds = self.part.sums_and_bounds()
        return sums, bounds

    def begin(self, mean: list[float], bounds: list[list[float]], accuracy: float) -> int:
        """Spread the points over the grid; return its number of nodes."""
        with computing():
            grid = self.part.begin(mean, bounds, accuracy)
        self.slabs = np.array_split(grid, len(self.peers))
        self.outgoing = {by: self.part.positions_of(rows) for by, rows in self.wanted.items()}
        return len(grid)

    async def slab_for(self, part: int) -> np.ndarray:
        return self.slabs[part]

    async def positions_for(self, part: int) -> np.ndarray:
        return self.outgoing[part]

    async def marginals_for(self, part: int) -> np.ndarray:
        return self.outgoing_marginals[part]

    async def summed_slab(self) -> np.ndarray:
        assert self.slab is not None
        return self.slab

    async def reduce(self) -> None:
        """Add up this part's share of the grids of all, in order, and receive the positions of the copies."""
        others = [part for part in range(len(self.peers)) if part != self.index]
        slabs, positions = await asyncio.gather(
            asyncio.gather(*[self.peers[part].slab_for(self.index) for part in others]),
            asyncio.gather(*[self.peers[part].positions_for(self.index) for part in self._neighbors()]),
        )
        by_part = dict(zip(others, slabs))
        by_part[self.index] = self.slabs[self.index]
        total = by_part[0].copy()
        for part in range(1, len(self.peers)):
            total += by_part[part]
        self.slab = total
        received = np.concatenate(positions) if positions else np.empty(0)
        self.bytes_received += sum(slab.nbytes for slab in slabs) + received.nbytes
        await asyncio.get_running_loop().run_in_executor(None, self._set_copies, received)

    def _neighbors(self) -> list[int]:
        """The parts that this one has copies of rows of."""
        return [part for part, ids in enumerate(self.copies) if part != self.index and len(ids)]

    def _set_copies(self, positions: np.ndarray) -> None:
        self.part.set_copies(positions)
        if self.shares_marginals:
            self.outgoing_marginals = {by: self.part.map_marginals_of(rows) for by, rows in self.wanted.items()}

    async def forces(self, with_value: bool) -> list[float]:
        """Put the grid together, and compute the forces; return their sums."""
        others = [part for part in range(len(self.peers)) if part != self.index]
        sources = self._neighbors() if self.shares_marginals else []
        slabs, shared = await asyncio.gather(
            asyncio.gather(*[self.peers[part].summed_slab() for part in others]),
            asyncio.gather(*[self.peers[part].marginals_for(self.index) for part in sources]),
        )
        by_part = dict(zip(others, slabs))
        assert self.slab is not None
        by_part[self.index] = self.slab
        grid = np.concatenate([by_part[part] for part in range(len(self.peers))])
        marginals = np.concatenate(shared) if shared else np.empty(0)
        self.bytes_received += sum(slab.nbytes for slab in slabs) + marginals.nbytes
        loop = asyncio.get_running_loop()
        with computing():
            return await loop.run_in_executor(None, self.part.forces, grid, marginals, with_value)

    def step(self, iteration: int, total: list[float]) -> tuple[float, list[float], list[list[float]]]:
        """Move the points; return the squared length of the step, and the sums and bounds of the coordinates."""
        with computing():
            moved = self.part.step(iteration, total)
        sums, bounds = self.part.sums_and_bounds()
        return moved, sums, bounds

    def value(self, iteration: int, total: list[float]) -> float:
        return self.part.value(iteration, total)

    def is_changing(self, iteration: int) -> bool:
        return self.part.has_pending_changes(iteration)

    def grid_sums(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return which of some rows live here, their positions in units of the kernel, and the potential and its gradients read off the grid."""
        at = np.searchsorted(self.ids, numbers)
        own = np.flatnonzero(self.ids[np.minimum(at, len(self.ids) - 1)] == numbers) if len(self.ids) else at[:0]
        positions, values, gradients = self.part.grid_sums(at[own].astype(np.uint32))
        return own, positions, values, gradients

    def exact_sums(self, targets: np.ndarray) -> list[float]:
        """Return the potential of the rows of this part at some positions, then its gradients."""
        values, gradients = self.part.exact_sums(_input.aligned(targets))
        return [*values.tolist(), *gradients.tolist()]

    def transferred(self) -> int:
        return self.bytes_received

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the rows and their positions."""
        return self.ids, self.part.state()[0].reshape(len(self.ids), -1)

    def save(self, folder: str, iteration: int) -> None:
        path = os.path.join(folder, f"state-{self.index}-{iteration}.npz")
        write_arrays(path, **dict(zip(_STATE, self.part.state())))

    def restore(self, folder: str, iteration: int) -> None:
        with np.load(os.path.join(folder, f"state-{self.index}-{iteration}.npz")) as arrays:
            self.part.restore([arrays[name] for name in _STATE if name in arrays])
