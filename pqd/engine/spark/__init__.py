"""Tables of Spark: rows stay where they are, and partial counts of them come back."""
