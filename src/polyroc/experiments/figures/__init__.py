"""Figures of the experiments, each drawn from the tables of its outcome and from nothing else."""
