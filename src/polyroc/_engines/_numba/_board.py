"""Work that threads take from each other without the interpreter: a board of tickets in shared memory.

Between two passes of a fit lies less than a millisecond. To wake 16 threads of Python takes longer, because each needs
the interpreter lock for a moment and wakes the next one when it has it: on 16 cores that was a third of a fit of 100
classes. So helpers stay in compiled code for as long as a fit lasts, and look at the board for tickets.

Tickets are numbered from 0 on and never again. LIMIT of them have been handed out, NEXT is the next one to take, DONE
have been worked on. What a ticket means is written before LIMIT is raised, and not again before DONE has reached it.
"""

import ctypes
import platform
import sys
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polyroc._engines._numba._compile import inner, kernel
from polyroc._lib.typing import IntArray

# Places on the board: 128 bytes apart, so that a thread that writes one does not hold up those that read another.
NEXT, LIMIT, DONE, STOP = 0, 16, 32, 48
_SIZE = 64

# Looks at the board before other threads are let through, times that they are before a nap, and its microseconds. Gaps
# within a fit are bridged awake, for 2 to 5 ms; whoever waits longer than that costs the others nothing.
_LOOKS, _TURNS, _NAP = 16, 4_000, 100


def new_board() -> IntArray:
    """A board without tickets."""
    return np.zeros(_SIZE, dtype=np.int64)


def _symbols() -> tuple[int, int]:
    """Where the system's functions are that let other threads run, and that sleep."""
    if sys.platform == "win32":
        library: Any = ctypes.windll.kernel32
        found = (library.SwitchToThread, library.Sleep)
    else:
        library = ctypes.CDLL(None)
        found = (library.sched_yield, library.usleep)
    give_way, nap = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found)
    return give_way, nap


# By names of our own: kernels that are read from disk find them, whatever their address is in this process.
for _name, _address in zip(("polyroc_give_way", "polyroc_nap"), _symbols(), strict=True):
    binding.add_symbol(_name, _address)
# Windows sleeps by the millisecond.
_NAP_LENGTH = 1 if sys.platform == "win32" else _NAP
# A hint for the core that this is a waiting loop: a sibling on the same core then runs at full speed.
_HINT = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}.get(platform.machine())


# Untyped, as all of numba.
_declared: Any = cgutils.get_or_insert_function
_pointer: Any = cgutils.get_item_pointer


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    return _pointer(context, builder, kind, array, [arguments[1]])


def _load(_context: Any, board: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature, arguments), "seq_cst", 8)

    return types.int64(board, place), generate


def _add(_context: Any, board: Any, place: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[2], signature.args[2], types.int64)
        return builder.atomic_rmw("add", _place(context, builder, signature, arguments), number, "seq_cst")

    return types.int64(board, place, value), generate


def _exchange(_context: Any, board: Any, place: Any, expected: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        then, now = (
            context.cast(builder, given, kind, types.int64)
            for given, kind in zip(arguments[2:], signature.args[2:], strict=True)
        )
        where = _place(context, builder, signature, arguments)
        return builder.extract_value(builder.cmpxchg(where, then, now, "seq_cst", "seq_cst"), 1)

    return types.boolean(board, place, expected, value), generate


def _rest(_context: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if _HINT is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(_declared(builder.module, kind, _HINT), [])
        return context.get_dummy_value()

    return types.void(), generate


def _called(name: str, *values: int) -> Any:
    def call(_context: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)] * len(values))
            builder.call(
                _declared(builder.module, kind, name), [ir.Constant(ir.IntType(32), value) for value in values]
            )
            return context.get_dummy_value()

        return types.void(), generate

    return intrinsic(call)


load: Any = intrinsic(_load)
add: Any = intrinsic(_add)
exchange: Any = intrinsic(_exchange)
rest: Any = intrinsic(_rest)
give_way: Any = _called("polyroc_give_way")
nap: Any = _called("polyroc_nap", _NAP_LENGTH)


@inner
def take(board: Any) -> Any:
    """The next ticket, or -1 where there is none."""
    while True:
        ticket = load(board, NEXT)
        if ticket >= load(board, LIMIT) or load(board, STOP) != 0:
            return np.int64(-1)
        if exchange(board, NEXT, ticket, ticket + 1):
            return ticket


@inner
def finish(board: Any) -> None:
    """Say that a ticket has been worked on."""
    add(board, DONE, 1)


@inner
def wait(turn: int) -> None:
    """Wait a moment: the longer, the more turns have been waited already."""
    for _ in range(_LOOKS):
        rest()
    if turn < _TURNS:
        give_way()
    else:
        nap()


@kernel
def hand_out(board: Any, n: int) -> None:
    """Hand out n tickets more."""
    add(board, LIMIT, n)


def stop(board: IntArray) -> None:
    """Send helpers home, after the ticket that they are at."""
    # Not by a kernel: Ctrl-C while that is compiled would leave them there. They read it by atomic loads.
    board[STOP] = 1


@kernel
def are_done(board: Any, turns: int) -> Any:
    """Wait some turns until all tickets have been worked on; whether they have."""
    turn = 0
    while load(board, DONE) < load(board, LIMIT):
        if turn == turns:
            return False
        wait(turn)
        turn += 1
    return True
