"""Models: what each report holds; no rendering is imported here."""
