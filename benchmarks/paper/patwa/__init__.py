"""DP-PQD (Patwa et al. 2023): Figures 1 to 23, Tables 1 to 6, and what sections 4 to 7 claim."""
