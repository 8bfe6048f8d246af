"""Tables of Spark: rows stay in Spark, and only partial counts come back."""
