"""Simulation studies behind claims of the documentation."""
