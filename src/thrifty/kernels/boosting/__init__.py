"""Gradient boosting of outcome probabilities on columns of small whole numbers."""
