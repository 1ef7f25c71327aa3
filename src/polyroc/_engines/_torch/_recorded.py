"""Small fits replayed from a recording: a CUDA graph of one step, for fits of the same size again and again.

A step of a small fit is a hundred launches of a microsecond each, and a launch takes the host ten times as long. A
graph launches them all at once. It computes with the memory that it was recorded with, so that rates are copied there
first. A size that comes up for the second time is recorded; a few recordings are kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import torch

from polyroc._engines._descent import FIRST_DAMPING, Course, Tolerance
from polyroc._engines._torch._devices import asked_for, has_kernels, kernels, on_shortage, wait_for
from polyroc._engines._torch._problem import Ended, Problem, State, Tried
from polyroc._engines._torch._sweeps import Cells, Pairs, Swept

# Fits of up to this many rates are recorded: their memory is kept.
_MOST_RATES = 2**21
_MOST_RECORDINGS = 8


def recorded_descent(cells: Cells, tolerance: Tolerance) -> Ended | None:
    """The descent from where all pairs are alike, by a recording; None where there is none."""
    if cells.n_fits > 1 or cells.tpr.numel() > _MOST_RATES or not _is_recorded_on(cells.tpr.device):
        return None
    recording = _recordings.of(cells)
    return None if recording is None else recording.descend(cells, tolerance)


def _is_recorded_on(device: torch.device) -> bool:
    """On a card with kernels; elsewhere a launch costs nothing that a recording could save."""
    return has_kernels(device.type)


class _Room:
    """The memory of fits of one size, and what is done there. All of it is done in place, so that it can be repeated.

    Nothing of a single fit may enter but what stands in this memory: a graph would repeat any other number for ever.
    """

    def __init__(self, example: Cells) -> None:
        device = example.tpr.device
        is_card = device.type == "cuda"
        self.cells = _copied_cells(example)
        self.asked = torch.zeros(2, dtype=torch.float64, device="cpu", pin_memory=is_card)
        """Whether the last step is taken, and the damping of the next one: on the host, where a card reads it."""
        self.told = torch.zeros((1, 7), dtype=torch.float64, device="cpu", pin_memory=is_card)
        """What has to be known to go on: on the host, where a card writes it."""
        self._problem, self._step_into = Problem(self.cells), None
        self._control = torch.zeros(2, dtype=torch.float64, device=device)
        self._known = torch.zeros((1, 7), dtype=torch.float64, device=device)
        self.here = torch.zeros(1, dtype=torch.float64, device=device)
        """The gradient at the beginning, (1,)."""
        if has_kernels(device.type) and kernels("step").can_step(self.cells):
            self._step_into = kernels("step").step_into
        start = self._problem.start()
        (self.state, self._state_row), (self.trial, self._trial_row) = _in_one_row(start), _in_one_row(start)
        # Once, exactly as it is recorded: kernels are compiled and libraries set up meanwhile.
        self.begin()
        self.step()

    def begin(self) -> None:
        """Stand where all pairs are alike."""
        first = self._problem.start()
        _write_state(self.state, first)
        self.here.copy_(self._problem.gradients(first))

    def step(self) -> None:
        """Take the last step, if that is asked, and try the next one."""
        self._control.copy_(self.asked, non_blocking=True)
        damping = self._control[1:]
        torch.where(self._control[:1] > 0.5, self._trial_row, self._state_row, out=self._state_row)
        if self._step_into is not None:
            self._step_into(self.cells, self.state, damping, self.trial, self._known)
        else:
            found, known = self._problem.step(self.state, self._problem.curvature(self.state), damping)
            _write_state(self.trial, found)
            self._known.copy_(known)
        self.told.copy_(self._known, non_blocking=True)


@dataclass(frozen=True, eq=False)
class _Recording:
    """The beginning and a step of fits of one size, to be replayed in their room."""

    room: _Room
    begin: Callable[[], None]
    step: Callable[[], None]
    stream: torch.cuda.Stream | None = None
    """Where it was recorded, on a card."""
    turn: threading.Lock = field(default_factory=threading.Lock)

    def descend(self, cells: Cells, tolerance: Tolerance) -> Ended:
        """As `_fit._descend`, of one fit."""
        with self.turn:
            room = self.room
            _write_cells(room.cells, cells)
            self.begin()
            # Read only if a step is not possible at all: each number that is read waits for the device.
            here: Callable[[], float] = room.here.item
            course, is_taken = Course(0.0, tolerance=tolerance, damping=FIRST_DAMPING), False
            while course.status is None:
                room.asked[0], room.asked[1] = float(is_taken), course.damping
                self.step()
                wait_for(cells.tpr.device)
                tried = Tried.of(room.trial, room.told.tolist())
                there = partial(float, tried.gradients[0])
                is_taken = course.goes_on_from(tried.outcomes[0], here, there)
                here = there if is_taken else here
            end = room.trial if is_taken else room.state
            ended = Ended(end.row.clone(), end.swept.pairs.effect.clone(), [course])
            # Another thread writes over the room next, and on a stream of its own.
            wait_for(cells.tpr.device)
            return ended


class _Recordings:
    """The recordings that are kept, by the sizes of their fits."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Recording | None] = OrderedDict()
        self._lock = threading.Lock()
        self._works = True

    def of(self, cells: Cells) -> _Recording | None:
        """The recording of fits of this size; None where they are met for the first time."""
        key = (cells.tpr.device, cells.tpr.shape, cells.tpr.dtype, cells.precision, cells.fpr is None)
        with self._lock:
            if not self._works:
                return None
            is_known = key in self._kept
            found = self._kept.pop(key, None)
            if found is None and is_known:
                try:
                    found = _recorded(cells, [one.stream for one in self._kept.values() if one is not None])
                except RuntimeError as error:
                    # A library of the device that cannot be recorded: then each step is launched. But a shortage of
                    # memory may pass.
                    self._works = asked_for(error) is not None
                    if cells.tpr.device.type == "cuda":
                        torch.cuda.synchronize(cells.tpr.device)
                    return None
            self._kept[key] = found
            while len(self._kept) > _MOST_RECORDINGS:
                self._kept.popitem(last=False)
            return found

    def forget(self) -> None:
        """Give their memory back."""
        with self._lock:
            self._kept.clear()


_recordings = _Recordings()
on_shortage.append(_recordings.forget)


def _recorded(example: Cells, streams: list[torch.cuda.Stream | None]) -> _Recording:
    """Record fits of the size of an example, on another stream than those of other recordings.

    Where there are no graphs, what they would repeat is done again.
    """
    device = example.tpr.device
    # Tensors that are made in inference mode can only be written to there, and these are written to by later fits.
    with torch.inference_mode(False):
        if device.type != "cuda":
            room = _Room(example)
            return _Recording(room, room.begin, room.step)
        # The stream of this thread once more: a recording that fails leaves the thread on its own.
        with torch.cuda.device(device), torch.cuda.stream(torch.cuda.current_stream(device)):
            room, stream = _Room(example), _other_stream(device, streams)
            return _Recording(room, _replay_of(room.begin, stream), _replay_of(room.step, stream), stream)


def _other_stream(device: torch.device, streams: list[torch.cuda.Stream | None]) -> torch.cuda.Stream:
    """A stream that is none of these few.

    cuBLAS has one workspace for each stream, which is freed with the first graph that was recorded there (pytorch issue
    193402): others would go on to use it. PyTorch has 32 streams and hands them out in turn.
    """
    found = torch.cuda.Stream(device)
    while found in streams:
        found = torch.cuda.Stream(device)
    return found


def _replay_of(do: Callable[[], None], stream: torch.cuda.Stream) -> Callable[[], None]:
    graph = torch.cuda.CUDAGraph()
    # Other threads may use the device meanwhile.
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        do()
    replay: Callable[[], None] = graph.replay
    return replay


def _tensors(record: Any) -> dict[str, torch.Tensor]:
    found = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    return {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}


def _copied_cells(cells: Cells) -> Cells:
    # Contiguous: weights that are all alike come as one number, and other fits of the size may have others.
    return replace(cells, **{name: value.contiguous().clone() for name, value in _tensors(cells).items()})


def _write_cells(to: Cells, cells: Cells) -> None:
    given = _tensors(cells)
    for name, value in _tensors(to).items():
        value.copy_(given[name])


def _in_one_row(state: State) -> tuple[State, torch.Tensor]:
    """A copy of a state in one long row of memory, and that row: to take a step is then to copy it."""
    given = [state.row, *_tensors(state.swept.pairs).values(), *_tensors(state.swept).values()]
    size = torch.float64.itemsize
    # Cross terms may be of single precision: whatever it is, each begins at a multiple of eight bytes.
    lengths = [-(-value.numel() * value.element_size() // size) for value in given]
    whole = torch.zeros(sum(lengths), dtype=torch.float64, device=state.row.device)
    parts = [
        part.view(value.dtype)[: value.numel()].view(value.shape)
        for part, value in zip(whole.split(lengths), given, strict=True)
    ]
    row, pairs, rest = parts[0], Pairs(*parts[1:4]), dict(zip(_tensors(state.swept), parts[4:], strict=True))
    copied = State(row, replace(state.swept, pairs=pairs, **rest))
    _write_state(copied, state)
    return copied, whole


def _write_state(to: State, state: State) -> None:
    to.row.copy_(state.row)
    _write_swept(to.swept, state.swept)


def _write_swept(to: Swept, swept: Swept) -> None:
    for target, source in ((to, swept), (to.pairs, swept.pairs)):
        given = _tensors(source)
        for name, value in _tensors(target).items():
            value.copy_(given[name])
