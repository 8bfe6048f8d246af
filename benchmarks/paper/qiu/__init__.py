"""Qiu et al. (KDD 2022): problems, experiments, claims and pictures."""
