"""The paper's experiments, and some beyond it: each a function from a seed to tables, claims and figures.

reproduce(name) -> Outcome      runs one of EXPERIMENTS
draw(outcome) -> figures        from its tables
write(outcome, folder)          figures as PNG and SVG, tables as CSV, and the claims
"""

from experiments._outcome import Claim, Outcome, Table
from experiments._reproduce import EXPERIMENTS, draw, reproduce
from experiments._write import write

__all__ = ["EXPERIMENTS", "Claim", "Outcome", "Table", "draw", "reproduce", "write"]
