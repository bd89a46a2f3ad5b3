"""Figures and reports of experiments."""
