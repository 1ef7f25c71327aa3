"""Compiled passes."""
