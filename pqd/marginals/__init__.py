"""Distances between whole distributions: the copy's and the private table's."""
