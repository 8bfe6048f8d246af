"""Wu et al. 2019: its mechanisms as published, its experiments, claims and pictures."""
