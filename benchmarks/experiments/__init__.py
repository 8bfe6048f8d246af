"""Pages of experiments: pictures and claims, made from the CSV files that the benchmarks write."""
